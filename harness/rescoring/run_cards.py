"""The results of retrieval runs, made again from the runs: written by `score --all`, compared by `verify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from edu_rag.errors import EduRagError, each_fault
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import to_line
from edu_rag.names import DatasetId
from edu_rag.scorecard.retrieval_card import (
    RetrievalCard,
    read_retrieval_card,
    retrieval_cards,
    retrieval_place,
    write_retrieval_card,
)
from harness.rescoring.rescore import why_not_given
from harness.rescoring.score_run import PlacedRun, runs_on, score_run
from harness.rescoring.verify import Difference, Finding, Status, differences

RUN_GONE = "its run is gone"
RunStatus = Literal["new", "changed", "unchanged", "kept"]
_NOT_COMPARED = ("scored_at", "harness")
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class RunJob(NamedTuple):
    """One run to score on a dataset, and the sample of its split, if any."""

    dataset: Dataset
    run: PlacedRun
    split: str
    sample: str | None

    def card(self, scored_at: datetime) -> RetrievalCard:
        """Score the run. Raises EduRagError."""
        return score_run(self.dataset, self.split, self.sample, self.run.file, scored_at=scored_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoredRun:
    """What became of one retrieval.json; `why` says why one was kept."""

    card: str
    dataset: str
    status: RunStatus
    why: str = ""


class _Stored:
    """The cards of a results folder, the runs that they can be made from, and the faults of both."""

    def __init__(self, results: Path, submissions: Path, datasets: Sequence[Dataset]) -> None:
        self.folder, self._datasets = results, datasets
        self.cards: dict[Path, RetrievalCard] = {}
        self.unreadable: dict[Path, EduRagError] = {}
        self.jobs: dict[Path, RunJob] = {}
        self.faults: list[EduRagError] = []
        self._broken: dict[str, EduRagError] = {}
        self._read()
        self._find_runs(submissions)

    def _read(self) -> None:
        for path in retrieval_cards(self.folder):
            try:
                self.cards[path] = read_retrieval_card(path)
            except EduRagError as error:
                self.unreadable[path] = each_fault(error)[0]

    def _find_runs(self, submissions: Path) -> None:
        for slug, found in runs_on(submissions, self._datasets):
            if isinstance(found, EduRagError):
                self.faults.append(found)
                self._broken.setdefault(slug, found)
            else:
                dataset, run = found
                path = self.folder / retrieval_place(run.asked, run.system.slug)
                self.jobs[path] = RunJob(dataset, run, run.asked.split, run.asked.sample)
        for path, card in self.cards.items():  # a run of the whole split can be scored on its samples
            whole = self.jobs.get(self.folder / retrieval_place(card.asked._replace(sample=None), card.system.slug))
            if whole is not None and self.is_in_place(path):
                self.jobs.setdefault(path, whole._replace(sample=card.sample))

    def name(self, path: Path) -> str:
        """A card's path below the results."""
        return path.relative_to(self.folder).as_posix()

    def is_in_place(self, path: Path) -> bool:
        """Whether a card is where a card of its system and table belongs."""
        card = self.cards[path]
        return path == self.folder / retrieval_place(card.asked, card.system.slug)

    def why_left(self, path: Path) -> str:
        """The reason why no run was found for a card whose dataset was given, or that is not in its place; else ''."""
        card = self.cards[path]
        if not self.is_in_place(path):
            return f"is not the place of a result of {card.system.slug}"
        if self.why_not_given(card):
            return ""
        fault = self._broken.get(card.system.slug)
        return RUN_GONE if fault is None else str(fault)

    def why_not_given(self, card: RetrievalCard) -> str:
        """The reason why a card cannot be made from the given datasets; empty if its version was given."""
        return why_not_given(card.asked.release, self._datasets)

    def newer_than(self, card: RetrievalCard) -> bool:
        """Whether the board shows a newer version's card instead of this one."""
        own = DatasetId.parse(card.dataset)
        for other in self.cards.values():
            release = DatasetId.parse(other.dataset)
            same = (other.system.slug, other.split, other.sample) == (card.system.slug, card.split, card.sample)
            if same and (release.name, release.major) == (own.name, own.major) and release.version > own.version:
                return True
        return False


def rescore_runs(
    submissions: Path, datasets: Sequence[Dataset], results: Path, *, scored_at: datetime
) -> tuple[list[RescoredRun], list[EduRagError]]:
    """Score all runs of a folder of submissions again, and write the cards that are new or differ.

    Returns what became of each card, in order of path, and the faults of runs and cards. A card without a run is kept.
    """
    stored = _Stored(results, submissions, datasets)
    found: dict[Path, RescoredRun] = {}
    faults = list(stored.faults)
    for path, job in stored.jobs.items():
        try:
            card = job.card(scored_at)
        except EduRagError as error:
            faults += each_fault(error)
            continue
        before = path.read_bytes() if path.is_file() else None
        write_retrieval_card(results, card)
        status: RunStatus = "new" if before is None else "unchanged" if path.read_bytes() == before else "changed"
        found[path] = RescoredRun(card=stored.name(path), dataset=card.dataset, status=status)
    faults += [fault for path, fault in stored.unreadable.items() if path not in found]
    for path in sorted(stored.cards.keys() - found.keys()):
        card = stored.cards[path]
        failed = "its run could not be scored" if path in stored.jobs else ""
        why = failed or stored.why_left(path) or stored.why_not_given(card)
        found[path] = RescoredRun(card=stored.name(path), dataset=card.dataset, status="kept", why=why)
    return [found[path] for path in sorted(found)], faults


def rescored_run_lines(runs: Sequence[RescoredRun]) -> Iterator[str]:
    """The runs that were scored again, for a terminal; nothing without one."""
    counts: Counter[str] = Counter(run.status for run in runs)
    if runs:
        shown = ", ".join(
            f"{n:,} {status}" for status in ("new", "changed", "unchanged", "kept") if (n := counts[status])
        )
        yield f"retrieval runs: {shown}"
    for run in runs:
        if run.status != "unchanged":
            yield f"  {run.status} {run.card} ({run.dataset}){': ' if run.why else ''}{run.why}"


def verify_runs(
    results: Path, submissions: Path, datasets: Sequence[Dataset]
) -> tuple[list[Finding], list[EduRagError]]:
    """Make every retrieval.json of a results folder again from the submissions' runs; nothing is written.

    Returns a finding for each, in order of path, and the faults of runs that belong to no dataset or system.
    """
    stored = _Stored(results, submissions, datasets)
    paths = sorted(stored.cards.keys() | stored.unreadable.keys() | stored.jobs.keys())
    found = [_made_again(stored, path) if path in stored.jobs else _left(stored, path) for path in paths]
    return [one for one in found if one is not None], stored.faults


def _made_again(stored: _Stored, path: Path) -> Finding | None:
    file, there = stored.name(path), path in stored.cards or path in stored.unreadable
    try:
        remade = stored.jobs[path].card(_NO_TIME)
    except EduRagError as error:  # a faulty run has no card by right
        return Finding(file=file, status="cannot be made again", why=str(each_fault(error)[0])) if there else None
    if not there:
        run = stored.jobs[path].run
        why = f"the run {run.path.name} of {run.system.slug} has no {path.name}"
        return Finding(file=file, status="not on the board", why=why)
    if path in stored.unreadable:
        return Finding(file=file, status="differs", why=str(stored.unreadable[path]))
    card = stored.cards[path]
    harness = card.harness if card.harness != remade.harness else ""
    different: tuple[Difference, ...] = tuple(differences(_as_file(card), _as_file(remade)))
    return Finding(file=file, status="differs" if different else "same", harness=harness, differences=different)


def _left(stored: _Stored, path: Path) -> Finding:
    """A card that no run was found for."""
    file = stored.name(path)
    if path in stored.unreadable:
        return Finding(file=file, status="cannot be made again", why=str(stored.unreadable[path]))
    card, why = stored.cards[path], stored.why_left(path)
    if why:
        return Finding(file=file, status="cannot be made again", why=why)
    status: Status = "superseded" if stored.newer_than(card) else "not given"
    return Finding(file=file, status=status, why=f"{card.dataset}: {stored.why_not_given(card)}")


def _as_file(card: RetrievalCard) -> Mapping[str, Any]:
    values: dict[str, Any] = msgspec.json.decode(to_line(card))
    return {name: value for name, value in values.items() if name not in _NOT_COMPARED}
