"""A pull request from a stranger: judged, copied as data, checked, run in the sandbox, scored, compared, reported.

Everything here is the base's code; of the head only plain files of one submission are read, and nothing of it runs
outside the sandbox.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import EduRagError, SubmissionError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.processes.budget import one_budget_a_file
from edu_rag.scorecard.card import ScoreCard
from harness.check_submission import check_submission
from harness.pulls.changed_files import Change, judge
from harness.pulls.place_on_board import read_results
from harness.pulls.review_records import Review, ReviewRequest
from harness.pulls.review_warnings import of_claims, of_names, runs_of_team
from harness.pulls.score_pull import Scoring
from harness.pulls.scored_tables import OWN_BASELINES, Asks, PullTable, asks_of, board_of, tables_of
from harness.submission.folder import Submission, open_submission

MAX_BYTES = 512_000_000
"""The limit of one submission. The tree was checked before; checking the limit again costs nothing."""
MAX_FILES = 5_000
MAX_DEPTH = 12
_CHUNK = 1 << 20


def take(head: Path, slug: str, into: Path) -> Path:
    """Copy `submissions/<slug>` of the head into a folder, and return the copy.

    Follows no link, opens nothing but plain files, keeps no owner, no time and no more than one permission (execution):
    only this copy is run or read later, and no other process can change it. Raises SubmissionError.
    """
    source, target = head / "submissions" / slug, into / "submissions" / slug
    n_bytes = 0
    for folder in (source.parent, source):
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise SubmissionError(folder.relative_to(head), "is not a plain folder", "put the folder itself there")
    target.mkdir(parents=True)
    for n_files, path in enumerate(_plain_files(source), 1):
        inside = path.relative_to(source)
        if n_files > MAX_FILES or len(inside.parts) > MAX_DEPTH:
            raise SubmissionError(
                f"submissions/{slug}", "has too many files or folders", "leave out what is not needed"
            )
        copy = target / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        n_bytes += _copy(path, copy, MAX_BYTES - n_bytes)
    return target


def _plain_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in order of name. Raises SubmissionError for a link or a special file."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(parent) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield path
            elif not stat.S_ISDIR(mode):
                raise SubmissionError(
                    path.relative_to(folder.parent), "is not a plain file", "put the file itself there"
                )


def _copy(source: Path, target: Path, left: int) -> int:
    """Copy one file of at most `left` bytes; return its size."""
    # O_NONBLOCK: a pipe that took the file's place since it was looked at must not hang us; O_NOFOLLOW: nor a link.
    handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as reader:
        facts = os.fstat(reader.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > left:
            raise SubmissionError(
                source.name, "is not a plain file, or too large", f"{MAX_BYTES:,} bytes are the limit"
            )
        with target.open("xb") as writer:
            n = 0
            while (chunk := reader.read(_CHUNK)) and n <= left:
                n += writer.write(chunk)
    target.chmod(0o755 if facts.st_mode & stat.S_IXUSR else 0o644)
    return n


class _Base(NamedTuple):
    """The base of a pull request.

    The tables at hand, the board's questions by dataset, the baselines' team, all results, and files that cannot be
    read.
    """

    tables: list[PullTable]
    asks: dict[str, Asks]
    baselines_team: str
    cards: list[ScoreCard]
    unreadable: list[str]


def review(request: ReviewRequest) -> Review:
    """Judge, check, run, score and compare a pull request; faults that a stranger can cause are part of the review.

    Raises EduRagError if the base or a dataset is at fault, such as a dataset that is not the board's.
    """
    board = board_of(request.base)
    team = OWN_BASELINES if board is None else board.baselines_team
    tables = tables_of(request.datasets, board)
    base = _Base(tables, asks_of(tables, board), team, *read_results(request.base))
    try:
        change = judge(request.base, request.head, request.author)
    except EduRagError as error:
        return Review(faults=tuple(each_fault(error)))
    hidden = (*request.terms.hidden, *(dataset.folder for dataset in request.datasets))
    request = replace(request, terms=replace(request.terms.begun(), hidden=hidden))
    with one_budget_a_file(), tempfile.TemporaryDirectory(prefix="edu-rag-pr-") as scratch:
        return _without(_reviewed(request, base, change, Path(scratch)), scratch)


def _without(found: Review, scratch: str) -> Review:
    """The review with the paths that the stranger knows, not those of our copy."""

    def shortened(text: str) -> str:
        return text.replace(f"{scratch}/", "")

    faults = tuple(
        EduRagError(shortened(one.where), shortened(one.what), shortened(one.remedy)) for one in found.faults
    )
    results = tuple(replace(one, warnings=tuple(map(shortened, one.warnings))) for one in found.results)
    return replace(
        found,
        faults=faults,
        results=results,
        warnings=tuple(map(shortened, found.warnings)),
        notes=tuple(map(shortened, found.notes)),
        sandbox=shortened(found.sandbox),
    )


def _reviewed(request: ReviewRequest, base: _Base, change: Change, scratch: Path) -> Review:
    """Take, check and score the submission that a pull request changes."""
    found = Review(change=change)
    try:
        folder = take(request.head, change.slug, scratch)
        if change.kind == "withdrawal":
            return _withdrawn(found, open_submission(folder), base.cards)
        faults, notes, cautions = _checked(folder, request.datasets)
        if faults:
            return replace(found, faults=tuple(faults))
        submission = open_submission(folder)
        facts = submission.facts
        found = replace(
            found,
            system=facts,
            notes=(*notes, *base.unreadable),
            n_runs_of_team=runs_of_team(facts.team, base.cards),
            warnings=(
                *change.warnings,
                *cautions,
                *of_names(facts, request.base, base.cards),
                *of_claims(facts, request.base, request.author, base.baselines_team),
            ),
        )
        work = Scoring(
            request=request,
            submission=submission,
            change=change,
            tables=base.tables,
            asks=base.asks,
            cards=base.cards,
            baselines_team=base.baselines_team,
            scratch=scratch,
        )
        results = work.results()
    except EduRagError as error:
        return replace(found, faults=(*found.faults, *each_fault(error)))
    return replace(
        found,
        faults=tuple(work.faults),
        results=() if work.faults else tuple(results),
        sandbox=work.sandbox,
        warnings=(*found.warnings, *work.warnings),
        kept=() if work.faults else tuple(work.kept),
    )


def _withdrawn(found: Review, submission: Submission, cards: Sequence[ScoreCard]) -> Review:
    """A withdrawal: its files are those that were judged when they came, so nothing of them is checked again."""
    mine = (card for card in cards if card.system.slug == submission.slug)
    rows = {f"{card.dataset}, {card.split}" + (f", {card.sample}" if card.sample else "") for card in mine}
    return replace(found, system=submission.facts, rows=tuple(sorted(rows)))


def _checked(folder: Path, datasets: Sequence[Dataset]) -> tuple[list[EduRagError], list[str], Sequence[str]]:
    """Everything wrong with a submission: its form, and its predictions for each dataset that it has some for.

    With notes on how its answers read, and cautions on how its files were made.
    """
    own = {dataset.manifest.release.folder for dataset in datasets}
    form = check_submission(folder, None, here=False, later=own)
    faults, notes = list(form.faults), []
    for dataset in datasets:
        if any((folder / "predictions").glob(f"{dataset.manifest.release.folder}/*.jsonl")):
            found = check_submission(folder, dataset, here=False)
            faults += found.faults
            notes += [note for note in found.notes if note not in notes]
    return list({str(fault): fault for fault in faults}.values()), notes, form.cautions
