"""Every number of a board made again: scorecards from predictions, and a site compared with its scorecards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from edu_rag.errors import DataError, EduRagError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_json, to_line
from edu_rag.files.manifest import file_sha256
from edu_rag.progress import Stage
from edu_rag.scorecard.card import OUTCOMES, ScoreCard
from edu_rag.scorecard.results_folder import FILE_NAME, PREDICTIONS, place_of, read_scorecard, scorecard_values
from edu_rag.scorecard.results_folder import FILE_NAME as SCORECARD
from harness.judging.grading import Grading
from harness.rescoring.rescore import GONE, why_kept
from harness.rescoring.scoring_jobs import OpenExams, Results, ScoringJob, plans, submissions_in, target_of
from harness.scoring.score import card_of, score_within
from harness.trust.rerun_log import NOBODY, Vouched

Status = Literal["same", "differs", "cannot be made again", "superseded", "not given", "not on the board"]
STATUSES: tuple[Status, ...] = get_args(Status)
BAD: frozenset[Status] = frozenset({"differs", "cannot be made again", "not on the board"})
FORMAT = "edu-rag-verification-v1"
_NOT_COMPARED = ("scored_at", "harness")
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_WIDEST = 80


class Difference(NamedTuple):
    """A number that is another one when it is made again; `field` is its path in the file."""

    field: str
    stored: Any
    remade: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The finding for one file; for a scorecard, `harness` names the version that made it if that is another one."""

    file: str
    status: Status
    why: str = ""
    harness: str = ""
    differences: tuple[Difference, ...] = ()


def differences(stored: Any, remade: Any, field: str = "") -> Iterator[Difference]:
    """The differences of two JSON values, object by object; lists are compared whole."""
    if isinstance(stored, dict) and isinstance(remade, dict):
        for name in sorted(stored.keys() | remade.keys()):
            path = f"{field}.{name}" if field else name
            yield from differences(stored.get(name), remade.get(name), path)
    elif stored != remade or type(stored) is not type(remade):
        yield Difference(field, stored, remade)


def _as_file(card: ScoreCard) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.json.decode(to_line(scorecard_values(card)))
    return {name: value for name, value in values.items() if name not in _NOT_COMPARED}


class _Remaking:
    """The scorecards of a results folder, made again one by one."""

    def __init__(self, stored: Results, exams: OpenExams, grading: Grading | None, vouched: Vouched) -> None:
        self._stored, self._exams, self._grading, self._vouched = stored, exams, grading, vouched

    def finding(self, path: Path, job: ScoringJob) -> Finding:
        """Score a job again and hold the result against the stored one."""
        file = path.relative_to(self._stored.folder).as_posix()
        try:
            remade = self._made(job)
        except EduRagError as error:
            return Finding(file=file, status="cannot be made again", why=str(each_fault(error)[0]))
        if path in self._stored.faults:
            return Finding(file=file, status="differs", why=str(self._stored.faults[path][0]))
        card = self._stored.cards[path]
        found = [*differences(_as_file(card), _as_file(remade)), *_of_copy(path, card)]
        harness = card.harness if card.harness != remade.harness else ""
        return Finding(file=file, status="differs" if found else "same", harness=harness, differences=tuple(found))

    def can_be_made(self, job: ScoringJob) -> bool:
        """Whether a job's predictions can be scored at all."""
        try:
            self._made(job)
        except EduRagError:
            return False
        return True

    def _made(self, job: ScoringJob) -> ScoreCard:
        exam = self._exams.of(job.dataset, job.made.asked.split, job.made.asked.sample)
        target = target_of(job.submission, job.made, job.dataset)
        card: ScoreCard = score_within(
            exam, target, card_of, scored_at=_NO_TIME, grading=self._grading, vouched=self._vouched
        )
        return card


def _of_copy(path: Path, card: ScoreCard) -> Iterator[Difference]:
    """Check that the copy of the predictions next to a scorecard is the scored one; it may be missing."""
    copy = path.with_name(PREDICTIONS)
    if copy.is_file() and (found := file_sha256(copy)) != card.predictions_sha256:
        yield Difference(PREDICTIONS, found, card.predictions_sha256)


def verify(
    results: Path,
    submissions: Path,
    datasets: Sequence[Dataset],
    *,
    grading: Grading | None = None,
    vouched: Vouched = NOBODY,
) -> tuple[list[Finding], list[EduRagError]]:
    """Make every scorecard of a results folder again from the submissions' predictions; nothing is written.

    Returns a finding for each, in order of their files, and the faults of submissions that cannot be opened. Raises
    ConfigError if there is no folder of submissions, or if two of the datasets have the same name and version.
    """
    faults: list[EduRagError] = []
    stored = Results(results)
    exams = OpenExams(datasets, stored)
    planned = plans(submissions_in(submissions, faults), datasets, exams, stored)
    jobs = {job.scorecard: job for plan in planned for job in plan.jobs}
    broken = {plan.submission.slug: plan.faults[0] for plan in planned if plan.faults}
    remaking = _Remaking(stored, exams, grading, vouched)
    there = sorted(stored.cards.keys() | stored.faults.keys())
    found: list[Finding] = []
    with Stage("verify", total=len(there), bad="not verified") as stage:
        for path in there:
            one = remaking.finding(path, jobs[path]) if path in jobs else _left(path, stored, datasets, broken)
            stage.add("done" if one.status == "same" else one.status)
            found.append(one)
    return sorted([*found, *_not_there(remaking, jobs, stored)], key=lambda one: one.file), faults


def _left(path: Path, stored: Results, datasets: Sequence[Dataset], broken: Mapping[str, EduRagError]) -> Finding:
    """A scorecard that no predictions were found for."""
    file = path.relative_to(stored.folder).as_posix()
    if path in stored.faults:
        return Finding(file=file, status="cannot be made again", why=str(stored.faults[path][0]))
    card = stored.cards[path]
    if path != stored.folder / place_of(card) / SCORECARD:
        return Finding(
            file=file, status="cannot be made again", why=f"is not the place of a result of {card.system.slug}"
        )
    why = why_kept(card, datasets)
    if why != GONE:
        status: Status = "superseded" if stored.newer_than(card) else "not given"
        return Finding(file=file, status=status, why=f"{card.dataset}: {why}")
    fault = broken.get(card.system.slug)
    return Finding(file=file, status="cannot be made again", why=why if fault is None else str(fault))


def _not_there(remaking: _Remaking, jobs: Mapping[Path, ScoringJob], stored: Results) -> Iterator[Finding]:
    """Predictions that can be scored and have no scorecard; faulty ones have none by right."""
    for path in sorted(jobs.keys() - stored.cards.keys() - stored.faults.keys()):
        if remaking.can_be_made(jobs[path]):
            file = path.relative_to(stored.folder).as_posix()
            why = f"{jobs[path].made.path.name} of {jobs[path].submission.slug} has no scorecard"
            yield Finding(file=file, status="not on the board", why=why)


def verification_values(found: Iterable[Finding], faults: Iterable[EduRagError] = ()) -> dict[str, Any]:
    """The output of `edu-rag verify --json`."""
    listed = list(found)
    return {
        "format": FORMAT,
        "n": {status: sum(one.status == status for one in listed) for status in STATUSES},
        "findings": [_plain(one) for one in listed],
        "faults": [str(fault) for fault in faults],
    }


def _plain(one: Finding) -> dict[str, Any]:
    shown = {"why": one.why, "harness": one.harness, "differences": [each._asdict() for each in one.differences]}
    return {"file": one.file, "status": one.status, **{name: value for name, value in shown.items() if value}}


def verification_lines(found: Iterable[Finding], limit: int = 5) -> Iterator[str]:
    """The findings, for a terminal: each file that differs, then the totals."""
    listed = list(found)
    for one in listed:
        if one.status in BAD:
            yield f"{one.file}: {one.status}{': ' if one.why else ''}{one.why}"
            for field, stored, remade in one.differences[:limit]:
                yield f"  {field}: {_shown(stored)} is {_shown(remade)} when made again"
            if len(one.differences) > limit:
                yield f"  … and {len(one.differences) - limit:,} more fields"
    yield from _sums(listed, "not given", "could not be verified")
    yield from _sums(listed, "superseded", "superseded by a newer version's result, which is the one that is ranked")
    older = sorted({one.harness for one in listed if one.harness})
    if older:
        n = sum(bool(one.harness) for one in listed)
        yield f"{n:,} scorecard(s) were written by another version of the harness: {', '.join(older)}"
    n_same = sum(one.status == "same" for one in listed)
    yield f"{n_same:,} of {len(listed):,} are the same when made again" + "".join(
        f", {n:,} {status}" for status in STATUSES[1:] if (n := sum(one.status == status for one in listed))
    )


def _sums(listed: Iterable[Finding], status: Status, what: str) -> Iterator[str]:
    """The reasons of one status, each with how often."""
    reasons = Counter(one.why for one in listed if one.status == status)
    for why, n in sorted(reasons.items()):
        yield f"{n:,} {what}: {why}"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


SITE_FILE, BOARD_FILE = "site.json", "board.json"


def verify_site(site: Path, results: Path) -> list[Finding]:
    """Verify a site's files: those that site.json lists, its scorecards, and each row of its board.

    The scorecards themselves are verified by `harness.rescoring.verify`. Raises DataError if there is no site.
    """
    listed = _listed(site)
    faulty = [*_files(site, listed), *_cards(site, results), *_rows(site)]
    name = f"{site.name}/{SITE_FILE}"
    return faulty or [Finding(file=name, status="same", why=f"{len(listed):,} files")]


def _listed(site: Path) -> Mapping[str, str]:
    values = read_json(site / SITE_FILE)
    files = values.get("files") if isinstance(values, dict) else None
    if not isinstance(files, dict) or not all(isinstance(sha256, str) for sha256 in files.values()):
        raise DataError(site / SITE_FILE, "does not list the files of a site", "build the site with `edu-rag board`")
    return files


def _finding(site: Path, file: str, why: str, found: tuple[Difference, ...] = ()) -> Finding:
    return Finding(file=f"{site.name}/{file}", status="differs", why=why, differences=found)


def _files(site: Path, listed: Mapping[str, str]) -> Iterator[Finding]:
    there = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file() or path.is_symlink()}
    for file in sorted(there - listed.keys() - {SITE_FILE}):
        yield _finding(site, file, f"is not in {SITE_FILE}")
    for file, sha256 in sorted(listed.items()):
        if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts or file not in there:
            yield _finding(site, file, f"{SITE_FILE} names it, but it is not there")
        elif (site / file).is_symlink() or file_sha256(site / file) != sha256:
            yield _finding(site, file, f"is not what {SITE_FILE} says")


def _cards(site: Path, results: Path) -> Iterator[Finding]:
    """Each scorecard of the site must be the very file among the results; the predictions next to it that one, too, or,
    where `edu-rag board --submissions` found them elsewhere, the file whose hash the scorecard holds.
    """
    for path in sorted((site / "data").rglob(FILE_NAME)):
        file = path.relative_to(site).as_posix()
        try:
            card = read_scorecard(path)
            own = results / place_of(card)
        except EduRagError as error:
            yield _finding(site, file, str(each_fault(error)[0]))
            continue
        for name, sha256 in ((FILE_NAME, ""), (PREDICTIONS, card.predictions_sha256)):
            shown, scored = path.with_name(name), own / name
            if shown.is_file() and file_sha256(shown) not in (sha256, file_sha256(scored) if scored.is_file() else ""):
                yield _finding(site, f"{PurePosixPath(file).parent}/{name}", "is not the file among the results")


def _rows(site: Path) -> Iterator[Finding]:
    """Each row of the board against the scorecard that it names."""
    board = read_json(site / BOARD_FILE)
    tables = board.get("tables") if isinstance(board, dict) else None
    listed_tables = tables if isinstance(tables, list) else [None]
    rows = [table.get("rows") if isinstance(table, dict) else None for table in listed_tables]
    for listed in rows:
        if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
            raise DataError(site / BOARD_FILE, "holds no tables with rows", "build the site with `edu-rag board`")
        for row in listed:
            yield from _row(site, row)


def _row(site: Path, row: Mapping[str, Any]) -> Iterator[Finding]:
    named = str(row.get("scorecard"))
    where = f"{BOARD_FILE}: {named}"
    path = site / named
    if ".." in PurePosixPath(named).parts or PurePosixPath(named).is_absolute() or not path.is_file():
        yield _finding(site, where, "there is no such scorecard")
        return
    try:
        known = _row_of(read_scorecard(path))
    except EduRagError:  # reported with the scorecard
        return
    found = tuple(differences({name: row.get(name) for name in known}, known))
    if found:
        yield _finding(site, where, "is not what the scorecard says", found)


def _row_of(card: ScoreCard) -> dict[str, Any]:
    """The part of a board's row that a scorecard determines; ranks depend on the whole table."""
    low, high = card.intervals.get("score", (None, None))
    rerun = card.rerun
    return {
        "dataset": card.dataset,
        "split": card.split,
        "sample": card.sample,
        "slug": card.system.slug,
        "name": card.system.name,
        "team": card.system.team,
        "n": card.counts.n,
        **{outcome: getattr(card.counts, outcome) for outcome in OUTCOMES},
        **card.counts.rates(),
        "score_low": low,
        "score_high": high,
        "interval_method": card.interval_method,
        "answers_rule": card.answers_rule,
        "harness": card.harness,
        "scored_at": card.scored_at,
        "blind": card.system.blind,
        "runnable": card.system.runnable,
        "withdrawn": card.system.withdrawn,
        "reported": card.reported,
        "rerun_own": rerun.get("own") is True,
        "rerun_n": rerun.get("n"),
        "rerun_same": rerun.get("n_same"),
        "overlap_declared": card.overlap.count("1"),
        "system_sha256": card.system_sha256,
        "predictions_sha256": card.predictions_sha256,
    }
