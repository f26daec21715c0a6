"""Why points are lost: each question that is not correct has exactly one cause, named by the first rule that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from edu_rag.records import Question
from edu_rag.scorecard.card import CAUSES, Prediction, Verdict
from edu_rag.scorecard.support import Support, holds_evidence

REMEDIES: Mapping[str, str] = {
    "failed": "an answer within the limits; even `null` is not a failure, though it gains nothing",
    "flagged_broken": "nothing that a system should do: only a guess can be right here",
    "unparseable": "an answer that names one choice, by its label or its text",
    "evidence_not_found": "more reading, or knowledge from elsewhere; else abstaining, which costs nothing",
    "over_abstained": "an answer: the evidence was there",
    "not_retrieved": "a passage that holds evidence (they are listed under `not cited`)",
    "not_used": "reading: the evidence was among the passages, and another answer was given",
}
"""Changes that would have gained the point, by cause."""

BROKEN_FLAGS = frozenset({"context_bound", "duplicate_choices"})
"""Flags of questions that cannot be answered from their words alone: something they refer to is missing, or two
choices are the same text. `truncated` questions are answerable nearly always, `meta_choice` and
`duplicate_question` always.
"""


def attribute(question: Question, prediction: Prediction | None, verdict: Verdict, support: Support) -> str | None:
    """The cause of a question's lost point, one of CAUSES; None if it is correct.

    A function of this question alone: the system's other answers do not change it.
    """
    if verdict.outcome == "correct":
        return None
    if verdict.outcome == "failed":
        return "failed"
    if not BROKEN_FLAGS.isdisjoint(question.flags):
        return "flagged_broken"
    if verdict.outcome == "unparseable":
        return "unparseable"
    return _cause_in_pages(question.question_id, prediction, verdict, support)


def _cause_in_pages(question_id: str, prediction: Prediction | None, verdict: Verdict, support: Support) -> str:
    """The cause of a wrong answer or an abstention, from where the evidence is."""
    evidence = support.evidence.get(question_id)
    passages = prediction.passages if prediction else ()
    if not evidence:
        return "evidence_not_found"
    if verdict.outcome == "abstained" and not passages:
        # An abstaining system has nothing to cite: the pages it was given count, and they hold evidence.
        return "over_abstained"
    if not holds_evidence(passages, evidence):
        return "not_retrieved"
    return "over_abstained" if verdict.outcome == "abstained" else "not_used"


def causes_of(
    questions: Sequence[Question], predictions: Mapping[str, Prediction], verdicts: Sequence[Verdict], support: Support
) -> list[str | None]:
    """The cause of each question, in the order of the verdicts; None if it is correct."""
    return [
        attribute(question, predictions.get(question.question_id), verdict, support)
        for question, verdict in zip(questions, verdicts, strict=True)
    ]


def attribution_of(
    questions: Sequence[Question], predictions: Mapping[str, Prediction], verdicts: Sequence[Verdict], support: Support
) -> dict[str, int]:
    """How many questions were lost to each cause; every cause is named, in order of precedence. Sum: n - correct."""
    found = Counter(causes_of(questions, predictions, verdicts, support))
    return {cause: found[cause] for cause in CAUSES}


def points_lost(causes: Sequence[str | None], verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Points lost to each cause, against an answer that is right: 2 for an incorrect one, 1 for any other that is not.

    Their sum is n - the sum of all points, so points lost / n = 1 - score.
    """
    lost = dict.fromkeys(CAUSES, 0)
    for cause, verdict in zip(causes, verdicts, strict=True):
        if cause is not None:
            lost[cause] += 1 - verdict.points
    return lost


def attribution_lines(values: Mapping[str, int]) -> Iterator[str]:
    """The field as lines for a terminal, largest first."""
    total = sum(values.values())
    yield f"{total:,} question(s) without a right answer, by cause (`edu-rag explain SYSTEM --lost CAUSE` lists them)"
    order = list(CAUSES)
    for cause, n in sorted(values.items(), key=lambda item: (-item[1], order.index(item[0]))):
        if n:
            yield f"  {cause:18} {n:6,} {100 * n / total:8.2f} %   {CAUSES[cause]}"
