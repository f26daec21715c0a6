"""Do two systems differ? The paired tests on the same questions, the slices and the questions on which they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edu_rag.budget import SMALL_BYTES, within_budget
from edu_rag.comparing.caveats import about_answers, about_lessons
from edu_rag.comparing.tested_pair import TestedPair
from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.scorecard.card import Prediction, ScoreCard
from edu_rag.scorecard.card_file import FILE_NAME
from edu_rag.scorecard.results_folder import PREDICTIONS, read_card
from edu_rag.statistics import (
    Paired,
    mcnemar,
    paired,
    shared_lessons,
    smallest_detectable_difference,
    spread_of,
    strict_points_of,
)
from harness.comparing.citation_overlap import overlap_of
from harness.comparing.same import require_same
from harness.comparing.slice_tests import SliceDifference, slice_differences
from harness.exam.exam import Exam, open_exam
from harness.scoring.score import now_utc, scored_within
from harness.submission.predictions_file import predictions_within
from harness.submission.target import find_target
from harness.trust.rerun_log import OWN_MACHINE

if TYPE_CHECKING:
    from edu_rag.records import Question


class Choice(NamedTuple):
    """Which questions to compare on: the dataset, its split and the sample; all None if scorecards say it."""

    dataset: Dataset | None
    split: str | None
    sample: str | None


class Side(NamedTuple):
    """One of the systems compared: its scorecard, and its predictions where they are at hand (else empty)."""

    card: ScoreCard
    predictions: Mapping[str, Prediction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(TestedPair):
    """Two systems, tested, and where they differ.

    `only_first` and `only_second` are the flips: ids of the questions that only one has right, in order of id.
    With a dataset at hand: ids are question ids (else `#17`, the position), `questions` holds the flipped questions
    by id, `slices` the slices that were tested, in order of attribute and value. With predictions at hand:
    `predictions` holds both systems' by id, `overlap` how their citations differ (see citation_overlap).
    `caveats` are sentences that a reader must know before believing the rest.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    questions: Mapping[str, Question] = field(default_factory=dict)
    predictions: tuple[Mapping[str, Prediction], Mapping[str, Prediction]] = ({}, {})
    slices: tuple[SliceDifference, ...] = ()
    overlap: Mapping[str, Any] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()


def _card_file(path: Path) -> Path | None:
    if path.is_dir() and (path / FILE_NAME).is_file():
        return path / FILE_NAME
    return path if path.suffix == ".json" and path.is_file() else None


def _exam_of(choice: Choice, cards: Sequence[ScoreCard]) -> Exam | None:
    """The exam that scorecards name, or that the options choose if there is none; None without a dataset."""
    dataset = choice.dataset
    if dataset is None:
        return None
    if not cards:
        return open_exam(dataset, dataset.only_split(choice.split), choice.sample)
    if dataset.id not in {card.dataset for card in cards}:
        raise SubmissionError(dataset.folder, f"is {dataset.id}, the scorecards are on {cards[0].dataset}", "give that")
    return open_exam(dataset, choice.split or cards[0].split, choice.sample or cards[0].sample)


def _scored(path: Path, dataset: Dataset | None, exam: Exam | None) -> Side:
    if not path.exists():
        raise SubmissionError(path, "no such file or folder", "give a scorecard, a predictions file or a submission")
    if dataset is None or exam is None:
        raise SubmissionError(path, "is not a scorecard", "give --dataset, so that its predictions can be scored")
    target = find_target(path, dataset.manifest, exam.split, exam.sample)
    return Side(*scored_within(exam, target, scored_at=now_utc(), vouched=OWN_MACHINE))


def _card(file: Path) -> ScoreCard:
    """A scorecard, which may be a stranger's."""
    small = file.stat().st_size <= SMALL_BYTES
    return read_card(file) if small else within_budget(read_card, file, what=file)


def _answered(file: Path, card: ScoreCard, exam: Exam | None) -> Mapping[str, Prediction]:
    """The predictions that are next to a scorecard, where they are the ones it was made from and a dataset is given."""
    path = file.parent / PREDICTIONS
    if exam is None or not path.is_file() or file_sha256(path) != card.predictions_sha256:
        return {}
    asked = {question.question_id for question in exam.questions}
    return {i: prediction for i, prediction in predictions_within(path, exam.known).items() if i in asked}


def sides_of(paths: Sequence[Path], choice: Choice) -> tuple[list[Side], Exam | None]:
    """What paths stand for: scorecard.json (or its folder), predictions files or submissions; the latter are scored."""
    files = [_card_file(path) for path in paths]
    cards = {file: _card(file) for file in files if file is not None}
    exam = _exam_of(choice, list(cards.values()))
    sides = [
        Side(cards[file], _answered(file, cards[file], exam)) if file else _scored(path, choice.dataset, exam)
        for path, file in zip(paths, files, strict=True)
    ]
    require_same([side.card for side in sides], exam)
    return sides, exam


def detectable(first: ScoreCard, second: ScoreCard, lessons: Sequence[int]) -> float | None:
    """The smallest score difference that a paired test of these two systems finds with 80 % power; None for equals."""
    sd = spread_of(first.outcomes, second.outcomes, lessons).effective_sd
    return smallest_detectable_difference(first.counts.n, sd) if sd else None


def _ids(card: ScoreCard, exam: Exam | None) -> list[str]:
    if exam is None:
        return [f"#{place}" for place in range(1, card.counts.n + 1)]
    return [question.question_id for question in exam.questions]


def _right_only(mine: ScoreCard, other: ScoreCard, ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(i for i, a, b in zip(ids, mine.outcomes, other.outcomes, strict=True) if a == "c" != b)


def caveats(cards: Sequence[ScoreCard], difference: Paired) -> tuple[str, ...]:
    """What a reader must know before believing a comparison of these scorecards."""
    return (*about_answers(cards), *about_lessons(cards, difference))


def compare_sides(first: Side, second: Side, exam: Exam | None) -> Comparison:
    """Compare two systems whose scorecards are on the same questions (see `require_same`)."""
    a, b = first.card, second.card
    lessons = shared_lessons([a.lessons, b.lessons])
    ids = _ids(a, exam)
    only_first, only_second = _right_only(a, b, ids), _right_only(b, a, ids)
    flipped = {*only_first, *only_second}
    difference = paired(a.outcomes, b.outcomes, lessons)
    both_at_hand = exam is not None and first.predictions and second.predictions
    return Comparison(
        first=a,
        second=b,
        difference=difference,
        strict=paired(strict_points_of(a.outcomes), strict_points_of(b.outcomes), lessons),
        correctness=mcnemar(a.outcomes, b.outcomes, lessons),
        detectable=detectable(a, b, lessons),
        only_first=only_first,
        only_second=only_second,
        questions={q.question_id: q for q in exam.questions if q.question_id in flipped} if exam else {},
        predictions=(first.predictions, second.predictions),
        slices=slice_differences(exam, a.outcomes, b.outcomes, lessons) if exam else (),
        overlap=overlap_of(first.predictions, second.predictions, exam.support) if exam and both_at_hand else {},
        caveats=caveats([a, b], difference),
    )


def compare(first: Path, second: Path, choice: Choice) -> Comparison:
    """Compare what two paths stand for: scorecards, predictions or submissions. Raises SubmissionError, DataError."""
    (a, b), exam = sides_of([first, second], choice)
    return compare_sides(a, b, exam)


def paired_values(difference: Paired) -> dict[str, Any]:
    """A paired difference as JSON-ready values."""
    return {
        "score_difference": difference.difference,
        "interval": [difference.low, difference.high],
        "sign_flip_p": difference.p,
    }


def comparison_values(comparison: Comparison) -> dict[str, Any]:
    """A comparison as JSON-ready values."""
    d, m = comparison.difference, comparison.correctness
    return {
        "first": comparison.first.system.slug,
        "second": comparison.second.system.slug,
        "n": d.n,
        "n_units": d.n_units,
        "interval_method": d.method,
        "score": [comparison.first.counts.score, comparison.second.counts.score],
        **paired_values(d),
        "strict": paired_values(comparison.strict),
        "mcnemar_p": m.p,
        "smallest_detectable_difference": comparison.detectable,
        "only_first": list(comparison.only_first),
        "only_second": list(comparison.only_second),
        "slices": [part._asdict() for part in comparison.slices],
        "overlap": dict(comparison.overlap),
        "caveats": list(comparison.caveats),
    }
