"""Where two systems part: the questions that earned them different points, in four groups, and what they said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import OUTCOME_LETTERS, POINTS, Outcome, Prediction, ScoreCard, Verdict
from edu_rag.scorecard.results_folder import PREDICTIONS
from edu_rag.scorecard.slices import slice_keys
from harness.comparing.compare import Side
from harness.exam import Exam
from harness.explaining.shown_answer import ShownAnswer, read_sources, tell
from harness.judging.outcomes import judge
from harness.submission.predictions_file import predictions_within

Group = Literal["only_first", "only_second", "first_wrong", "second_wrong"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Only one is right; or neither is, and one was wrong where the other gave no answer. Together they are the difference
of the scores: a question in none of them earned both the same.
"""
NAMES: Mapping[str, Outcome] = {letter: outcome for outcome, letter in OUTCOME_LETTERS.items()}
_UNKNOWN_RULES = "scored under other rules or by a judge: score the predictions again to see the reason"


class Flip(NamedTuple):
    """A question on which two systems part; `place` is its place in order of question id, from 0."""

    place: int
    first: Outcome
    second: Outcome

    @property
    def points(self) -> int:
        """Points of the first less those of the second: -2 … 2, never 0."""
        return POINTS[self.first] - POINTS[self.second]


class SliceFlips(NamedTuple):
    """The flips of the n questions of a slice, by group, and their sum of points."""

    attribute: str
    value: str
    n: int
    counts: Mapping[Group, int]
    points: int


class FlipDetail(NamedTuple):
    """A flip with the question and both answers in full."""

    flip: Flip
    question: Question
    gold: Gold
    first: ShownAnswer
    second: ShownAnswer


def group_of(first: str, second: str) -> Group | None:
    """The group of a question from two outcome letters; None if both earn the same."""
    if first == "c" or second == "c":
        return None if first == second else "only_first" if first == "c" else "only_second"
    if (first == "i") == (second == "i"):
        return None
    return "first_wrong" if first == "i" else "second_wrong"


def flips_of(first: str, second: str) -> dict[Group, list[Flip]]:
    """The flips between two strings of outcome letters, by group, in order of question id; every group is named."""
    found: dict[Group, list[Flip]] = {group: [] for group in GROUPS}
    for place, (a, b) in enumerate(zip(first, second, strict=True)):
        group = group_of(a, b)
        if group is not None:
            found[group].append(Flip(place, NAMES[a], NAMES[b]))
    return found


def crossed(first: str, second: str) -> dict[tuple[Outcome, Outcome], int]:
    """How often each pair of outcomes occurred; pairs that never did are absent."""
    pairs = Counter(zip(first, second, strict=True))
    return {(NAMES[a], NAMES[b]): n for (a, b), n in pairs.items()}


def slice_flips(exam: Exam, flips: Mapping[Group, Sequence[Flip]]) -> list[SliceFlips]:
    """The flips by slice, in order of attribute and value; lessons and slices of all questions are left out."""
    sizes: Counter[tuple[str, str]] = Counter()
    members: defaultdict[tuple[str, str], Counter[Group]] = defaultdict(Counter)
    points: Counter[tuple[str, str]] = Counter()
    group_at = {flip.place: (group, flip) for group, found in flips.items() for flip in found}
    for place, question in enumerate(exam.questions):
        for key in slice_keys(question, exam.support):
            sizes[key] += 1
            if place in group_at:
                group, flip = group_at[place]
                members[key][group] += 1
                points[key] += flip.points
    shown = [key for key in sorted(sizes) if key[0] != "lesson" and sizes[key] < len(exam.questions)]
    return [SliceFlips(*key, sizes[key], {g: members[key][g] for g in GROUPS}, points[key]) for key in shown]


def pick(flips: Sequence[Flip], exam: Exam, limit: int | None) -> list[Flip]:
    """At most `limit` flips (None: all), by place; taken in turn from each kind of question with and without evidence,
    so that the many do not crowd out the telling few.
    """
    if limit is None or len(flips) <= limit:
        return list(flips)
    by_kind: defaultdict[tuple[bool, str], list[Flip]] = defaultdict(list)
    for flip in flips:
        question = exam.questions[flip.place]
        by_kind[question.question_id not in exam.support.evidence, question.kind].append(flip)
    in_turn = (flip for turn in zip_longest(*(by_kind[key] for key in sorted(by_kind))) for flip in turn if flip)
    return sorted(islice(in_turn, limit))


def predictions_beside(path: Path, card: ScoreCard, exam: Exam) -> dict[str, Prediction]:
    """The predictions that are next to a scorecard, as `edu-rag score` leaves them; empty if there are none.

    Raises SubmissionError if they are others than the scorecard was made from.
    """
    file = (path if path.is_dir() else path.parent) / PREDICTIONS
    if not file.is_file():
        return {}
    if file_sha256(file) != card.predictions_sha256:
        raise SubmissionError(file, "is not what the scorecard next to it was made from", "score it again")
    return predictions_within(file, exam.known)


def _verdict(question: Question, gold: Gold, prediction: Prediction | None, outcome: Outcome) -> Verdict:
    """The scorecard's outcome with today's reason, where today's rules come to the same."""
    if question.kind != "free_text":
        verdict = judge(question, gold, prediction)
        if verdict.outcome == outcome:
            return verdict
    return Verdict(question_id=question.question_id, outcome=outcome, reason=_UNKNOWN_RULES)


def details_of(dataset: Dataset, exam: Exam, sides: tuple[Side, Side], flips: Sequence[Flip]) -> Iterator[FlipDetail]:
    """Both answers to each flip, with what was cited and missed. Both sides' predictions must be at hand."""
    questions = [exam.questions[flip.place] for flip in flips]
    ids = {question.question_id for question in questions}
    cited = [
        passage for side in sides for i in ids if i in side.predictions for passage in side.predictions[i].passages
    ]
    sources = read_sources(dataset, exam.split, exam.support, ids, cited)
    for flip, question in zip(flips, questions, strict=True):
        gold = exam.gold[question.question_id]
        answers = []
        for side, outcome in zip(sides, (flip.first, flip.second), strict=True):
            prediction = side.predictions.get(question.question_id)
            answers.append(tell(question, prediction, _verdict(question, gold, prediction, outcome), sources))
        yield FlipDetail(flip, question, gold, answers[0], answers[1])
