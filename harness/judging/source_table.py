"""Mala et al.'s table: accuracy, hallucination, rejection and adjusted accuracy of labelled answers by source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edu_rag.scorecard.card import Counts
from harness.judging.labelled_answers import LabelledAnswer

_LETTERS = {"correct": "c", "hallucinated": "i", "insufficient": "a"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """The labels of one source and system (source None: of every source). `intervals` as a scorecard's."""

    source: str | None
    system: str
    counts: Counts
    intervals: dict[str, tuple[float, float]]


def source_rows(answers: Iterable[LabelledAnswer]) -> list[SourceRow]:
    """By system: a row over all sources, then one for each source that is named."""
    groups: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        letter = _LETTERS[answer.label]
        for source in dict.fromkeys(("", answer.source)):
            groups.setdefault((answer.system, source), []).append(letter)
    return [_row(source or None, system, letters) for (system, source), letters in sorted(groups.items())]


def _row(source: str | None, system: str, letters: Sequence[str]) -> SourceRow:
    from edu_rag.statistics import rate_intervals

    found = Counter(letters)
    intervals, _ = rate_intervals("".join(letters))
    counts = Counts(correct=found["c"], incorrect=found["i"], abstained=found["a"])
    return SourceRow(source=source, system=system, counts=counts, intervals=intervals)


_RATES = {"accuracy": "accuracy", "hallucination": "hallucination", "rejection": "missing"}


def source_values(row: SourceRow) -> dict[str, Any]:
    """A row as JSON-ready values: counts, Mala et al.'s four rates (section 4.2) and the intervals of three."""
    rates = row.counts.rates()
    values = {name: {"value": rates[ours], "interval": row.intervals[ours]} for name, ours in _RATES.items()}
    counts = {"correct": row.counts.correct, "hallucinated": row.counts.incorrect, "insufficient": row.counts.abstained}
    names = {"system": row.system, "source": row.source, "n": row.counts.n}
    return names | counts | values | {"adjusted_accuracy": row.counts.accuracy_given_attempted}


def source_lines(rows: Iterable[SourceRow]) -> Iterator[str]:
    """The rows as a readable table, in per cent."""
    head = " ".join(f"{name:>13} {'95 %':>13}" for name in _RATES)
    yield f"{'system':20} {'source':20} {'n':>6} {head} {'adjusted acc.':>13}"
    for row in rows:
        rates = row.counts.rates()
        cells = " ".join(f"{100 * (rates[ours] or 0):13.2f} {_ends(row.intervals[ours])}" for ours in _RATES.values())
        adjusted = row.counts.accuracy_given_attempted
        last = "-" if adjusted is None else f"{100 * adjusted:.2f}"
        yield f"{row.system[:20]:20} {(row.source or '(all sources)')[:20]:20} {row.counts.n:6,} {cells} {last:>13}"


def _ends(interval: tuple[float, float]) -> str:
    return f"{f'{100 * interval[0]:.1f}–{100 * interval[1]:.1f}':>13}"
