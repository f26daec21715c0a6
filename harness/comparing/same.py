"""May scorecards be compared? What must be the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from edu_rag.errors import SubmissionError
from edu_rag.scorecard.card import ScoreCard

if TYPE_CHECKING:
    from harness.exam.exam import Exam

_ASKED = ("ids", "questions", "gold")
"""Fingerprints of a scorecard's exam that say whether two were asked the same; `support` moves slices only."""


def _refuse(what: str) -> SubmissionError:
    return SubmissionError("compare", what, "score both on the same questions")


def _require_same_dataset(first: ScoreCard, second: ScoreCard) -> None:
    """The same name and major version: only a new major version may change questions or gold."""
    a, b = first.dataset_id, second.dataset_id
    same_content = a.hash8 == b.hash8 or a.version != b.version
    if (a.name, a.major) != (b.name, b.major) or not same_content:
        raise _refuse(f"dataset differs: {first.dataset} and {second.dataset}")


def _require_same_pair(first: ScoreCard, second: ScoreCard) -> None:
    _require_same_dataset(first, second)
    for name in ("split", "sample"):
        mine, other = getattr(first, name), getattr(second, name)
        if mine != other:
            raise _refuse(f"{name} differs: {mine} and {other}")
    _require_prints(first.exam, second.exam)


def _require_prints(first: Mapping[str, str], second: Mapping[str, str]) -> None:
    for part in _ASKED:
        if part in first and part in second and first[part] != second[part]:
            raise _refuse(f"what was asked differs: another fingerprint of {part}")


def require_same(cards: Sequence[ScoreCard], exam: Exam | None) -> None:
    """Refuse scorecards that are not on the same questions, or not on those of the exam at hand (None: none is).

    Raises SubmissionError.
    """
    for other in cards[1:]:
        _require_same_pair(cards[0], other)
    lengths = sorted({*(card.counts.n for card in cards), *([] if exam is None else [len(exam.questions)])})
    if len(lengths) > 1:
        what = f"number of questions differs: {' and '.join(map(str, lengths))}"
        raise SubmissionError("compare", what, "score both again")
    if lengths[0] == 0:
        raise SubmissionError("compare", "there is no question in these scorecards", "score a split that has some")
    for card in cards:  # another sample of the same size would give questions wrong names
        _require_prints(card.exam, {} if exam is None else exam.prints)
