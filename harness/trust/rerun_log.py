"""Maintainers' own runs: the lines of reruns.jsonl, and the trust in a submission that follows from them."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import DataError, RecordError
from edu_rag.files.jsonl import read_records, write_records
from edu_rag.files.typed import to_plain
from edu_rag.names import DatasetId, Sample, require_slug, require_split
from harness.submission.run_record import ProbeRun, RunRecord, read_run_record, record_path

FILE_NAME = "reruns.jsonl"
"""The maintainers' file; no submission's pull request may touch it."""
MAX_NOTE = 300
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_PROBE = re.compile(r"[a-z]+(?:-[a-z0-9]+)*\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """One line of reruns.jsonl: what maintainers know of one predictions file of one system.

    `own`: the file itself is of a maintainers' run, so its latencies are the harness's and `caps` were in force.
    Otherwise a stranger submitted it, and maintainers asked its system `n` questions (all of the file's, or `sample`)
    again, of which `n_same` were answered alike; `caps` were in force then. `system_sha256` is over the system's own
    files at that time. `latency_s` is what the run took, in seconds by the names of `cost`, where it was not own.
    `probes` are those that the maintainers made of the same system, next to an own run.

    Invariants: hashes are SHA-256 in hex; 0 <= n_same <= n, n_same == n for own runs; `made_at` is UTC.
    """

    slug: str
    dataset: str
    split: str
    sample: str | None
    system_sha256: str
    predictions_sha256: str
    n: int
    n_same: int
    caps: Mapping[str, Any]
    harness: str
    made_at: str
    own: bool
    latency_s: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    probes: tuple[ProbeRun, ...] = ()

    def __post_init__(self) -> None:
        require_slug(self.slug)
        DatasetId.parse(self.dataset)
        require_split(self.split)
        if self.sample is not None:
            Sample.parse(self.sample)
        for name in ("system_sha256", "predictions_sha256"):
            _require(bool(_SHA256.match(getattr(self, name))), name, "is not a SHA-256 in hex")
        _require(self.n > 0 and 0 <= self.n_same <= self.n, "n_same", f"{self.n_same} of {self.n} is impossible")
        _require(not self.own or self.n_same == self.n, "n_same", "an own run agrees with itself on every answer")
        _require(self.own or not self.probes, "probes", "a re-run vouches for no probes")
        for probe in self.probes:
            _require(bool(_SHA256.match(probe.predictions_sha256)), "probes", "a hash is not a SHA-256 in hex")
            _require(bool(_PROBE.match(probe.probe)), "probes", f"{probe.probe[:40]!r} is no name of a probe")
            if probe.sample is not None:
                Sample.parse(probe.sample)
        _require(bool(_TIME.match(self.made_at)), "made_at", f"{self.made_at[:40]!r} is not YYYY-MM-DDTHH:MM:SSZ")
        _require(len(self.note) <= MAX_NOTE and self.note.isprintable(), "note", "is too long or cannot be printed")

    @property
    def key(self) -> Key:
        """The key of a line: a file has one line for each."""
        return self.slug, self.dataset, self.split, self.predictions_sha256


def _require(holds: bool, name: str, fault: str) -> None:
    if not holds:
        raise RecordError(name, fault)


class Trust(NamedTuple):
    """The trust in one predictions file: whether its latencies are measured, the caps it was made under, whether the
    probes next to it count, and the result of a re-run.

    `own_probes` are the probes that the maintainers vouch for; others count only on a private machine (`probes`).
    `doubts` say what was found to be wrong; `unvouched` is whether there are a record or probes without a voucher.
    """

    measured: bool = False
    caps: Mapping[str, Any] = {}
    probes: bool = False
    rerun: Mapping[str, Any] = {}
    doubts: tuple[str, ...] = ()
    unvouched: bool = False
    own_probes: tuple[ProbeRun, ...] = ()


class Vouched:
    """The source of trust in predictions: nothing, the local machine, or the lines of reruns.jsonl."""

    def __init__(self, lines: Iterable[Rerun] = (), *, own_machine: bool = False) -> None:
        self.own_machine = own_machine
        self._lines: dict[tuple[str, str], list[Rerun]] = {}
        for line in lines:
            self._lines.setdefault((line.slug, line.predictions_sha256), []).append(line)

    def trust(self, predictions: Path, slug: str, system_sha256: str, predictions_sha256: str) -> Trust:
        """The trust in a predictions file with these hashes. Raises DataError for an unreadable run record."""
        line = self._line(slug, predictions_sha256)
        if line is not None and line.own:
            facts = rerun_facts(line)
            return Trust(measured=True, caps=line.caps, probes=self.own_machine, rerun=facts, own_probes=line.probes)
        rerun, doubts = _of_rerun(line, system_sha256)
        if self.own_machine:
            record = read_run_record(predictions)
            if record is not None and record.predictions_sha256 == predictions_sha256:
                return Trust(True, record.caps, True, rerun, doubts)
            return Trust(probes=True, rerun=rerun, doubts=doubts + _misfit(predictions, record))
        return Trust(rerun=rerun, doubts=doubts, unvouched=_has_claims(predictions))

    def _line(self, slug: str, predictions_sha256: str) -> Rerun | None:
        """The line for a file: an own run's before any other, else the one over most questions."""
        found = self._lines.get((slug, predictions_sha256), [])
        return max(found, key=lambda line: (line.own, line.n, line.made_at, line.dataset), default=None)


NOBODY = Vouched()
"""No trust: files next to predictions may be forged, so only the predictions count."""
OWN_MACHINE = Vouched(own_machine=True)
"""A local machine, where the local run record and probes are trusted."""


def rerun_facts(line: Rerun) -> dict[str, Any]:
    """The facts about a re-run on a scorecard."""
    facts = {"n": line.n, "n_same": line.n_same, "made_at": line.made_at, "caps": to_plain(line.caps), "own": line.own}
    return facts | ({"latency_s": to_plain(line.latency_s)} if line.latency_s else {})


def _of_rerun(line: Rerun | None, system_sha256: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    if line is None:
        return {}, ()
    if line.system_sha256 != system_sha256:
        return {}, (f"{line.slug}: its files have changed since it was run again on {line.made_at[:10]}",)
    return rerun_facts(line), ()


def _misfit(predictions: Path, record: RunRecord | None) -> tuple[str, ...]:
    """A doubt if the record belongs to other predictions; old records do not name theirs."""
    if record is None or not (record.predictions_sha256 or record.caps):
        return ()
    claims = "its latencies count as declared" + (", its caps as none" if record.caps else "")
    return (f"{record_path(predictions)}: belongs to other predictions than those next to it: {claims}",)


def _has_claims(predictions: Path) -> bool:
    return any(path.exists() for path in (record_path(predictions), predictions.parent / "probes"))


def read_reruns(path: Path) -> list[Rerun]:
    """The lines of a reruns.jsonl. Raises DataError `FILE:LINE: field: fault`, also for a second line on one file."""
    lines: dict[Key, int] = {}
    found = []
    for number, line in read_records(path, Rerun):
        if line.key in lines:
            what = f"{line.slug}: a second line for one predictions file, first on line {lines[line.key]}"
            raise DataError(f"{path}:{number}", what, "keep one of them")
        lines[line.key] = number
        found.append(line)
    return found


def vouched_by(path: Path | None) -> Vouched:
    """The source of trust that a reruns.jsonl gives; nothing if there is none. Raises DataError."""
    return NOBODY if path is None else Vouched(read_reruns(path))


def reruns_beside(results: Path) -> Path | None:
    """The file that is next to a results folder (`leaderboard/reruns.jsonl`, `leaderboard/results`), if there is one.

    It is never looked for in a submission.
    """
    path = results.absolute().parent / FILE_NAME
    return path if path.is_file() else None


def write_rerun(path: Path, line: Rerun) -> None:
    """Put a line in the place of the one it stands for, or add it; sorted: the order of runs leaves no trace.

    Runs that end at once wait for one another, so that none of their lines is lost. Raises DataError for faulty lines.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: then the last of two that end at once is kept
            fcntl.flock(folder, fcntl.LOCK_EX)
        known = {old.key: old for old in read_reruns(path)} if path.is_file() else {}
        known[line.key] = line
        write_records(path, (known[key] for key in sorted(known)))
    finally:
        os.close(folder)


def own_run(record: RunRecord, slug: str, made_at: str, probes: Iterable[ProbeRun] = ()) -> Rerun:
    """The line that vouches for the predictions that a run record is of, and for probes next to them."""
    return Rerun(
        slug=slug,
        dataset=record.dataset,
        split=record.split,
        sample=record.sample,
        system_sha256=record.system_sha256,
        predictions_sha256=record.predictions_sha256,
        n=record.n_questions,
        n_same=record.n_questions,
        caps=record.caps,
        harness=record.harness,
        made_at=made_at,
        own=True,
        probes=tuple(probes),
    )
