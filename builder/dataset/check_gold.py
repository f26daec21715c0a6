"""Checking the gold labels of a split: their distribution, and whether anything that a system gets reveals them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt

from builder.dataset.check_files import Tables
from builder.dataset.check_tables import Seen
from builder.dataset.label_tests import ALPHA, Case, cases_of, label_tests

MIN_CASES = 20
"""Below this no test says anything."""
MIN_EXPECTED = 5.0
"""The usual bound of the chi-square approximation (Cochran 1954)."""


def chi_square_p(statistic: float, df: int) -> float:
    """P(chi-square with df degrees of freedom >= statistic), by its finite sum (Abramowitz and Stegun 26.4.4-5)."""
    if statistic <= 0:
        return 1.0
    half = statistic / 2
    if df % 2 == 0:
        return min(1.0, sum(exp(i * log(half) - half - lgamma(i + 1)) for i in range(df // 2)))
    tail = erfc(sqrt(half))
    return min(1.0, tail + sum(exp((i + 0.5) * log(half) - half - lgamma(i + 1.5)) for i in range(df // 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """How often each label is the gold among the questions of one kind and number of choices."""

    kind: str
    n_choices: int
    counts: dict[str, int]
    p: float

    def __str__(self) -> str:
        n = sum(self.counts.values())
        shares = ", ".join(f"{label} {count:,} ({count / n:.0%})" for label, count in self.counts.items())
        return f"{self.kind} with {self.n_choices} choices, n = {n:,}: {shares}; p = {self.p:.1g} against uniform"


def label_counts(cases: Sequence[Case]) -> Iterator[LabelCounts]:
    """The distribution of gold labels by kind and number of choices, with the chi-square test against uniform."""
    groups: dict[tuple[str, int], Counter[str]] = {}
    for case in cases:
        groups.setdefault((case.question.kind, len(case.question.choices)), Counter())[case.gold] += 1
    for (kind, n_choices), found in sorted(groups.items()):
        expected = found.total() / n_choices
        if expected < MIN_EXPECTED:
            continue
        counts = {label: found[label] for label in "abcdefghijklmnopqrstuvwxyz"[:n_choices]}
        statistic = sum((count - expected) ** 2 / expected for count in counts.values())
        yield LabelCounts(kind=kind, n_choices=n_choices, counts=counts, p=chi_square_p(statistic, n_choices - 1))


def check_labels(tables: Tables, split: str, seen: Seen) -> None:
    """Tell uneven labels (a warning) and predictors above chance (a fault; a warning where the source is to blame)."""
    cases = cases_of(list(seen.questions.values()), seen.gold, seen.hits)
    if len(cases) < MIN_CASES:
        return
    where = f"{tables.folder}: split {split}"
    for found in label_counts(cases):
        if found.p <= ALPHA:
            tables.warnings.add("label distribution", where, f"gold labels are uneven: {found}")
    for test in label_tests(cases):
        if test.is_above_chance:
            target = tables.faults if test.is_fault else tables.warnings
            target.add(test.name, where, f"the gold can be guessed without reading by {test}")
