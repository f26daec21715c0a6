"""The findings of a check, faults or warnings: counted by kind, the first few of each kept to be printed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from edu_rag.errors import DataError

EXAMPLES = 5
"""Findings of one kind that are reported in full; the report of a damaged dataset of any size has a bounded number of
lines.
"""


@dataclass(slots=True)
class Findings:
    """Findings by kind, in the order in which each kind was first found."""

    examples: dict[str, list[DataError]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, where: object, what: str, remedy: str = "") -> None:
        """Note one finding. Its `kind` groups it with others, of which only the first few are reported."""
        self.counts[kind] += 1
        errors = self.examples.setdefault(kind, [])
        if len(errors) < EXAMPLES:
            errors.append(DataError(where, what, remedy))

    def __len__(self) -> int:
        return self.counts.total()

    def to_print(self) -> list[DataError]:
        """The findings to print, each one line; a kind with more than EXAMPLES ends in a line that counts the rest."""
        lines: list[DataError] = []
        for kind, errors in self.examples.items():
            lines += errors
            rest = self.counts[kind] - len(errors)
            if rest:
                lines.append(DataError(errors[0].where, f"{rest:,} more of this kind: {kind}"))
        return lines
