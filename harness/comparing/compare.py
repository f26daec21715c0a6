"""Do systems differ? The paired tests of two on the same questions, their slices, and the table of three and more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edu_rag.comparing.pair_sentences import about_answers, about_lessons
from edu_rag.comparing.tested_pairs import AllPairs, TestedPair, all_pairs_of
from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.processes.budget import SMALL_BYTES, within_budget
from edu_rag.scorecard.card import Prediction, ScoreCard
from edu_rag.scorecard.results_folder import FILE_NAME, PREDICTIONS, read_card
from edu_rag.statistics import (
    Paired,
    holm,
    mcnemar,
    paired,
    points_of,
    rank_groups,
    shared_lessons,
    sign_flip_p,
    smallest_detectable_difference,
    spread_of,
    strict_points_of,
    typical_sd,
    units_of,
)
from harness.comparing.citation_overlap import overlap_of
from harness.exam import Exam, open_exam
from harness.scoring.score import now_utc, scored_within
from harness.submission.predictions_file import predictions_within
from harness.submission.target import find_target
from harness.trust.rerun_log import OWN_MACHINE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edu_rag.records import Question


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


MIN_DIFFERING = 6
"""A sign-flip test on fewer units that differ cannot reach p <= 0.05: 2 / 2**5 is 0.0625."""
_UNTESTED = "lesson"
"""A lesson is one unit of the test, so that it cannot be tested alone."""


class SliceDifference(NamedTuple):
    """The difference of two scores on the n questions of a slice, its exact sign-flip p, and p after Holm."""

    attribute: str
    value: str
    n: int
    difference: float
    p: float
    p_holm: float


def _members(exam: Exam) -> dict[tuple[str, str], list[int]]:
    """The places of the questions of each slice, in order of attribute and value; lessons and the whole left out."""
    from edu_rag.scorecard.slices import slice_keys

    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, question in enumerate(exam.questions):
        for key in slice_keys(question, exam.support):
            found[key].append(place)
    return {key: found[key] for key in sorted(found) if key[0] != _UNTESTED and len(found[key]) < len(exam.questions)}


def _n_differing(d: NDArray[np.int64], lessons: Sequence[int], n_lessons: int) -> int:
    """How many units of a slice differ; where the exam has several lessons, a slice inside one is a single unit."""
    from edu_rag.statistics.points import unit_sums

    if n_lessons > 1 and len(set(lessons)) == 1 and lessons[0] != -1:
        return int(d.sum() != 0)
    return int((unit_sums(d, units_of(lessons, len(d))) != 0).sum())


def slice_differences(exam: Exam, first: str, second: str, lessons: Sequence[int]) -> tuple[SliceDifference, ...]:
    """The slices of an exam on which two systems (outcome letters) were tested.

    Slices in which fewer than six units differ are not: no outcome of theirs could be significant, and they would make
    Holm's correction stricter for the rest (Tarone 1990). Which those are does not depend on who is ahead.
    """
    d = points_of(first) - points_of(second)
    n_lessons = len(set(lessons))
    tested = []
    for key, places in _members(exam).items():
        own = d[places]
        own_lessons = [lessons[place] for place in places] if lessons else ()
        if _n_differing(own, own_lessons, n_lessons) >= MIN_DIFFERING:
            tested.append((key, own, sign_flip_p(own, own_lessons)))
    adjusted = holm([p for _, _, p in tested])
    return tuple(
        SliceDifference(attribute, value, len(own), float(own.mean()), p, p_holm)
        for ((attribute, value), own, p), p_holm in zip(tested, adjusted, strict=True)
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTable:
    """Systems in the order given, the rank of each (shared without an established difference), and all their pairs.

    `detectable` is the smallest score difference that one test finds with 80 % power for a typical pair; None if
    no two systems differ.
    """

    cards: tuple[ScoreCard, ...]
    ranks: tuple[int, ...]
    pairs: AllPairs
    detectable: float | None
    caveats: tuple[str, ...]

    @property
    def any_difference(self) -> Paired:
        """A difference, for what all pairs share: questions, lessons, method."""
        return self.pairs.tested[0, 1].difference


def table_of(cards: Sequence[ScoreCard]) -> ComparisonTable:
    """Compare scorecards that are on the same questions (see `require_same`); two at least."""
    outcomes = [card.outcomes for card in cards]
    lessons = shared_lessons([card.lessons for card in cards])
    pairs, sd = all_pairs_of(cards), typical_sd(outcomes, lessons)
    return ComparisonTable(
        cards=tuple(cards),
        ranks=tuple(rank_groups(outcomes, lessons=lessons)),
        pairs=pairs,
        detectable=smallest_detectable_difference(cards[0].counts.n, sd) if sd else None,
        caveats=caveats(cards, pairs.tested[0, 1].difference),
    )


def compare_many(paths: Sequence[Path], choice: Choice) -> ComparisonTable:
    """Compare what paths stand for: scorecards, predictions or submissions. Raises SubmissionError, DataError."""
    sides, _ = sides_of(paths, choice)
    return table_of([side.card for side in sides])


def _pair_values(at: tuple[int, int], pair: TestedPair) -> dict[str, Any]:
    return {
        "first": at[0],
        "second": at[1],
        **paired_values(pair.difference),
        "sign_flip_p_holm": pair.p_holm,
        "mcnemar_p": pair.correctness.p,
        "mcnemar_p_holm": pair.mcnemar_p_holm,
    }


def table_values(table: ComparisonTable) -> dict[str, Any]:
    """A table as JSON-ready values."""
    shared = table.any_difference
    return {
        "n": shared.n,
        "n_units": shared.n_units,
        "interval_method": shared.method,
        "systems": [
            {"system": card.system.slug, "rank": rank, "score": card.counts.score, "strict": card.counts.strict_score}
            for card, rank in zip(table.cards, table.ranks, strict=True)
        ],
        "pairs": [_pair_values(at, pair) for at, pair in table.pairs.tested.items()],
        "smallest_detectable_difference": table.detectable,
        "caveats": list(table.caveats),
    }
