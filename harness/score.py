"""Scoring: predictions + dataset -> a verdict for every question of the split, and the scorecard."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag import __version__
from edu_rag.dataset import Dataset
from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold, match_gold
from edu_rag.manifest import file_sha256
from edu_rag.records import Question
from edu_rag.results import OUTCOME_LETTERS, Counts, Outcome, Prediction, ScoreCard, Slice, SystemFacts, Verdict
from edu_rag.statistics import rate_intervals
from harness.answers import RULE
from harness.cost import cost_of
from harness.outcomes import judge
from harness.predictions import read_predictions
from harness.sample import choose, sample_of
from harness.support import Support, read_support, retrieval_of
from harness.target import Target


class Exam(NamedTuple):
    """What a split asks and what is right: questions in order of id, gold by id, and what the pages support."""

    dataset: str
    split: str
    sample: str | None
    questions: Sequence[Question]
    gold: Mapping[str, Gold]
    support: Support
    known: frozenset[str]


class Scored(NamedTuple):
    """A scorecard with the verdicts and predictions behind it."""

    card: ScoreCard
    verdicts: Sequence[Verdict]
    predictions: Mapping[str, Prediction]


def open_exam(dataset: Dataset, split: str, sample: str | None) -> Exam:
    """Read questions, gold and support of a split (or a sample of it). Raises DataError or SubmissionError."""
    everything = dataset.questions(split)
    gold = match_gold(everything, dataset.records("gold", split, Gold), dataset.folder / "gold")
    questions = choose(everything, sample_of(sample)) if sample else everything
    free = [question.question_id for question in questions if question.kind == "free_text"]
    if free:
        what = f"split {split!r} has {len(free)} free_text questions, which rules alone cannot score"
        raise SubmissionError(dataset.folder, what, "score a split of choice questions")
    known = frozenset(question.question_id for question in everything)
    return Exam(dataset.id, split, sample, questions, gold, read_support(dataset, split), known)


def verdicts_of(exam: Exam, predictions: Mapping[str, Prediction]) -> list[Verdict]:
    """One verdict for every question, in order of question id."""
    return [judge(q, exam.gold[q.question_id], predictions.get(q.question_id)) for q in exam.questions]


def _counts(found: Mapping[Outcome, int]) -> Counts:
    return Counts(**{str(outcome): n for outcome, n in found.items()})


def counts_of(verdicts: Iterable[Verdict]) -> Counts:
    """The five counts of verdicts."""
    return _counts(Counter(verdict.outcome for verdict in verdicts))


def _values(question: Question, support: Support) -> Iterable[tuple[str, str]]:
    """The slices a question belongs to, as (attribute, value)."""
    question_id = question.question_id
    yield "kind", question.kind
    yield "n_choices", str(len(question.choices))
    if question.lesson is not None:
        yield "lesson", question.lesson
    for flag in question.flags:
        yield "flag", flag
    if support.has_pages:
        yield "pages", "has pages" if question_id in support.with_pages else "no pages"
        yield "evidence", "supported" if question_id in support.evidence else "unsupported"
        if support.leaked is not None:
            yield "leak", "leaked" if question_id in support.leaked else "clean"


def slices_of(exam: Exam, verdicts: Sequence[Verdict]) -> tuple[Slice, ...]:
    """Counts by kind, number of choices, lesson, flag, pages, evidence and leak, ordered by attribute and value."""
    groups: defaultdict[tuple[str, str], Counter[Outcome]] = defaultdict(Counter)
    for question, verdict in zip(exam.questions, verdicts, strict=True):
        for key in _values(question, exam.support):
            groups[key][verdict.outcome] += 1
    return tuple(Slice(attribute=a, value=v, counts=_counts(groups[a, v])) for a, v in sorted(groups))


def now_utc(environment: Mapping[str, str] = os.environ) -> datetime:
    """The present second, or SOURCE_DATE_EPOCH where that is set. Raises SubmissionError where it is no number."""
    fixed = environment.get("SOURCE_DATE_EPOCH")
    if fixed is None:
        return datetime.now(UTC).replace(microsecond=0)
    if not fixed.isascii() or not fixed.isdigit() or len(fixed) > 11:
        raise SubmissionError("SOURCE_DATE_EPOCH", f"{fixed[:40]!r} is no number of seconds", "unset or mend it")
    return datetime.fromtimestamp(int(fixed), UTC)


def score(
    exam: Exam, predictions: Mapping[str, Prediction], system: SystemFacts, *, sha256: str, scored_at: datetime
) -> Scored:
    """Score predictions on an exam. Every rate is over all questions of the exam, answered or not."""
    asked = {q.question_id: predictions[q.question_id] for q in exam.questions if q.question_id in predictions}
    verdicts = verdicts_of(exam, asked)
    outcomes = "".join(OUTCOME_LETTERS[verdict.outcome] for verdict in verdicts)
    intervals, method = rate_intervals(outcomes, [question.lesson for question in exam.questions])
    card = ScoreCard(
        system=system, dataset=exam.dataset, split=exam.split, sample=exam.sample,
        harness=f"edu-rag-bench {__version__}", answers_rule=RULE, counts=counts_of(verdicts), outcomes=outcomes,
        slices=slices_of(exam, verdicts), intervals=intervals, interval_method=method,
        retrieval=retrieval_of(asked, verdicts, exam.support),
        cost=cost_of(asked.values(), measured=system.runnable), predictions_sha256=sha256,
        scored_at=scored_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    return Scored(card, verdicts, asked)


def score_target(dataset: Dataset, split: str, sample: str | None, target: Target, *, scored_at: datetime) -> Scored:
    """Read, check and score a predictions file. Raises DataError for the first fault in it."""
    exam = open_exam(dataset, split, sample)
    predictions = read_predictions(target.path, exam.known)
    return score(exam, predictions, target.system, sha256=file_sha256(target.path), scored_at=scored_at)


def summary(card: ScoreCard) -> dict[str, Any]:
    """The numbers of a scorecard that scripts ask for: n, counts, rates and intervals."""
    from edu_rag.typed import to_plain

    return {"n": card.counts.n, **card.counts.rates(), "counts": to_plain(card.counts), "intervals": card.intervals}


def write_results(results: Path, dataset: Dataset, scored: Scored, predictions: Path) -> Path:
    """Write scorecard.json and a copy of the predictions where the board looks; return the scorecard's path."""
    from edu_rag.jsonl import write_file
    from edu_rag.scorecards import FILE_NAME, write_scorecard

    card = scored.card
    table = f"{card.split}-{card.sample}" if card.sample else card.split
    folder = results / f"{dataset.manifest.name}-{dataset.manifest.version}" / table / card.system.slug
    data = predictions.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "predictions.jsonl", data)
    write_scorecard(folder / FILE_NAME, card)
    return folder / FILE_NAME
