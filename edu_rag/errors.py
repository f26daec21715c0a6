"""The error tree: every error that a user can cause says where, what, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAX_SHOWN = 1_000
"""Characters of each part of an error that are printed: a hostile file may put four million into one name."""


def _shown(part: str) -> str:
    """One part as one line that gives no orders to a terminal."""
    cut = part if len(part) <= MAX_SHOWN else f"{part[:MAX_SHOWN]}…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(cut.split()))


class EduRagError(Exception):
    """Something a user can fix. Printed as `where: what: remedy`, without a traceback, exit code 1."""

    def __init__(self, where: object, what: str, remedy: str = "") -> None:
        super().__init__(where, what, remedy)
        self.where = str(where)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        # One fault is one line, even with text from a hostile file or name.
        return ": ".join(_shown(part) for part in (self.where, self.what, self.remedy) if part)


class RecordError(EduRagError):
    """A value that breaks an invariant of its record; `where` is the field's name."""


class RecordFaultsError(RecordError):
    """A record that breaks several invariants; `faults` names each, the error itself the first."""

    def __init__(self, faults: Sequence[RecordError]) -> None:
        if not faults:
            raise ValueError("RecordFaultsError needs at least one fault")
        super().__init__(faults[0].where, faults[0].what, faults[0].remedy)
        self.faults = tuple(faults)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults,)


class BudgetError(EduRagError):
    """A stranger's file that costs more processor time or memory to read than `edu_rag.processes.budget` allows."""


class DataError(EduRagError):
    """A data file (JSONL, Parquet, manifest, question file) that cannot be read as what it claims to be."""


class ConfigError(EduRagError):
    """A TOML file or a command-line value that says something we cannot do."""


class EngineError(EduRagError):
    """A search engine that could not be asked at all (as opposed to one that answered with a refusal)."""


class OutageError(EduRagError):
    """A network that stayed away for longer than a crawl waits; what was not fetched has cost no attempt."""


class SubmissionError(EduRagError):
    """A submission that cannot be checked, run or scored."""


class NoReplyError(SubmissionError):
    """One request that gets no usable reply: the server refuses it, say for its length, or the reply is empty or cut.

    Another request may get one.
    """


class SandboxError(EduRagError):
    """A protection against a stranger's system that this machine lacks; nothing of the system was run."""


class MissingExtraError(EduRagError):
    """An optional package is needed; the remedy names the extra that brings it."""


class FaultsError(EduRagError):
    """Several faults of one user-written file, reported together, one line each."""

    def __init__(self, faults: Sequence[EduRagError]) -> None:
        if not faults:
            raise ValueError("FaultsError needs at least one fault")
        super().__init__(faults[0].where, faults[0].what, faults[0].remedy)
        self.faults = tuple(faults)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults,)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


def each_fault(error: EduRagError) -> list[EduRagError]:
    """The faults that an error reports: several, or itself."""
    return list(error.faults) if isinstance(error, FaultsError | RecordFaultsError) else [error]
