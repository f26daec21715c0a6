"""Do two systems differ? The paired tests on the same questions, and the questions on which they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import SubmissionError
from edu_rag.records import Question
from edu_rag.results import ScoreCard
from edu_rag.scorecards import FILE_NAME, read_scorecard
from edu_rag.statistics import McNemar, Paired, mcnemar, paired
from harness.sample import choose, sample_of
from harness.score import now_utc, score_target
from harness.target import find_target


class Choice(NamedTuple):
    """Which questions to compare on: the dataset, its split and the sample; all None where scorecards say it."""

    dataset: Dataset | None
    split: str | None
    sample: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on the same questions. The flips are question ids (or `#17`, the position, without a dataset)."""

    first: ScoreCard
    second: ScoreCard
    difference: Paired
    correctness: McNemar
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    texts: Mapping[str, str]


def _card_file(path: Path) -> Path | None:
    if path.is_dir() and (path / FILE_NAME).is_file():
        return path / FILE_NAME
    return path if path.suffix == ".json" and path.is_file() else None


def card_of(path: Path, choice: Choice) -> ScoreCard:
    """The scorecard of a scorecard.json (or its folder), a predictions file or a submission; the latter are scored."""
    file = _card_file(path)
    if file is not None:
        return read_scorecard(file)
    if not path.exists():
        raise SubmissionError(path, "no such file or folder", "give a scorecard, a predictions file or a submission")
    if choice.dataset is None:
        raise SubmissionError(path, "is no scorecard", "give --dataset, so that its predictions can be scored")
    split = choice.dataset.only_split(choice.split)
    target = find_target(path, choice.dataset.manifest, split, choice.sample)
    return score_target(choice.dataset, split, choice.sample, target, scored_at=now_utc()).card


def _questions(dataset: Dataset | None, card: ScoreCard) -> Sequence[Question]:
    if dataset is None:
        return ()
    if dataset.id != card.dataset:
        raise SubmissionError(dataset.folder, f"is {dataset.id}, the scorecards are on {card.dataset}", "give that one")
    questions = dataset.questions(card.split)
    return choose(questions, sample_of(card.sample)) if card.sample else questions


def compare_cards(first: ScoreCard, second: ScoreCard, questions: Sequence[Question]) -> Comparison:
    """Compare two scorecards on the same questions. Raises SubmissionError where they are not on the same."""
    for name in ("dataset", "split", "sample"):
        mine, other = getattr(first, name), getattr(second, name)
        if mine != other:
            what = f"{name} differs: {mine} and {other}"
            raise SubmissionError("compare", what, "score both on the same questions")
    lengths = sorted({len(first.outcomes), len(second.outcomes), len(questions) or len(first.outcomes)})
    if len(lengths) > 1:
        what = f"number of questions differs: {' and '.join(map(str, lengths))}"
        raise SubmissionError("compare", what, "score both again")
    ids = [question.question_id for question in questions] or [f"#{i + 1}" for i in range(len(first.outcomes))]
    both = list(zip(ids, first.outcomes, second.outcomes, strict=True))
    only_first = tuple(i for i, a, b in both if a == "c" != b)
    only_second = tuple(i for i, a, b in both if b == "c" != a)
    flipped = {*only_first, *only_second}
    return Comparison(
        first=first, second=second, difference=paired(first.outcomes, second.outcomes),
        correctness=mcnemar(first.outcomes, second.outcomes), only_first=only_first, only_second=only_second,
        texts={q.question_id: q.text for q in questions if q.question_id in flipped},
    )  # fmt: skip


def compare(first: Path, second: Path, choice: Choice) -> Comparison:
    """Compare what two paths stand for: scorecards, predictions or submissions."""
    a, b = card_of(first, choice), card_of(second, choice)
    return compare_cards(a, b, _questions(choice.dataset, a))


def comparison_values(comparison: Comparison) -> dict[str, Any]:
    """A comparison as JSON-ready values."""
    d, m = comparison.difference, comparison.correctness
    return {
        "first": comparison.first.system.slug,
        "second": comparison.second.system.slug,
        "n": d.n,
        "score": [comparison.first.counts.score, comparison.second.counts.score],
        "score_difference": d.difference,
        "interval": [d.low, d.high],
        "sign_flip_p": d.p,
        "mcnemar_p": m.p,
        "only_first": list(comparison.only_first),
        "only_second": list(comparison.only_second),
    }
