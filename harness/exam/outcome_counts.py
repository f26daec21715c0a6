"""Outcomes counted: over all questions, and by the slices that each question belongs to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from edu_rag.scorecard.card import Counts, Outcome, Slice, Verdict
from edu_rag.scorecard.slices import slice_keys
from harness.exam.exam import Exam


def _counts(found: Mapping[Outcome, int]) -> Counts:
    return Counts(**{str(outcome): n for outcome, n in found.items()})


def counts_of(verdicts: Iterable[Verdict]) -> Counts:
    """The five counts of verdicts."""
    return _counts(Counter(verdict.outcome for verdict in verdicts))


def slices_of(exam: Exam, verdicts: Sequence[Verdict]) -> tuple[Slice, ...]:
    """Counts by kind, number of choices, lesson, flag, pages, evidence and leak, ordered by attribute and value."""
    both = zip(exam.questions, verdicts, strict=True)
    # Counted in one go: a counter of outcomes for each slice, one by one, takes twice the time.
    found = Counter((key, verdict.outcome) for question, verdict in both for key in slice_keys(question, exam.support))
    groups: defaultdict[tuple[str, str], dict[Outcome, int]] = defaultdict(dict)
    for (key, outcome), n in found.items():
        groups[key][outcome] = n
    return tuple(Slice(attribute=a, value=v, counts=_counts(groups[a, v])) for a, v in sorted(groups))
