"""May scorecards be compared? What must be the same, and what a reader has to know if it is not quite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from edu_rag.errors import SubmissionError
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import Paired

if TYPE_CHECKING:
    from harness.exam.exam import Exam

_FEW_UNITS = 40
"""Below this many lessons the interval is too narrow; docs/scoring.md has the simulation."""
_FEW_QUESTIONS = 20
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


def _listed(values: Sequence[str]) -> str:
    return " and ".join(sorted(set(values)))


def _about_rules(cards: Sequence[ScoreCard]) -> Iterator[str]:
    rules, versions = [card.answers_rule for card in cards], [card.dataset for card in cards]
    if len(set(rules)) > 1:
        yield f"answers were read by different rules ({_listed(rules)}): score the older again"
    if len(set(versions)) > 1:
        yield f"the dataset's versions differ ({_listed(versions)}): same questions, but other pages or evidence"
    if any(dict(card.judges) != dict(cards[0].judges) for card in cards):
        yield "free text was graded by different judges"


def _about_lessons(cards: Sequence[ScoreCard], difference: Paired) -> Iterator[str]:
    if len({card.lessons for card in cards if card.lessons}) > 1:
        yield (
            "the scorecards state different lessons, so questions are taken as independent and the difference "
            "looks surer than it is: score the older again"
        )
    if difference.n_units < min(_FEW_UNITS, difference.n):
        yield f"only {difference.n_units} lessons: the interval of a difference is too narrow (see docs/scoring.md)"
    elif difference.n < _FEW_QUESTIONS:
        yield f"only {difference.n} question(s): the interval of a difference is too narrow (see docs/scoring.md)"


def caveats(cards: Sequence[ScoreCard], difference: Paired) -> Iterator[str]:
    """What a reader must know before believing a comparison: other rules, versions, judges, pages; few lessons."""
    yield from _about_rules(cards)
    for card in cards:
        if card.made_on:
            yield f"{card.system.slug} answered on {card.made_on}, not on {card.dataset}"
    yield from _about_lessons(cards, difference)
