"""CRAG's published rules for free text (`crag-compat-v1`), kept to where its code would crash or guess."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, Verdict
from harness.judging.free_text import FreeTextJudge, Grade, Rules, Unjudged, UnjudgedError
from harness.judging.outcomes import said

RULE = "crag-compat-v1"
MAX_TOKENS = 75
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MISSING = "i don't know"
_INVALID = "invalid"


def cut(answer: str) -> str:
    """The first 75 tokens of an answer, where a token is a run of word characters or one other visible character.

    CRAG's evaluator counts tokens of Llama 2's tokeniser, which needs a download and makes more of them; so for plain
    English this cut is never the shorter one.
    """
    ends = [match.end() for match, _ in zip(_TOKEN.finditer(answer), range(MAX_TOKENS), strict=False)]
    return answer[: ends[-1]].strip() if ends else ""


def grade(question: str, gold: Sequence[str], answer: str, judge: FreeTextJudge) -> Grade:
    """CRAG's steps in CRAG's order: cut, missing, exact, "invalid", judge; all else is a hallucination.

    A judge's own failure stays `unjudged`. An answer that the judge takes for no attempt is a hallucination, since
    only the words "i don't know" are missing.
    """
    text = cut(answer)
    said_lower = text.lower()
    if _MISSING in said_lower:
        return Grade("abstained", 'crag-compat: holds "i don\'t know"', "crag-compat")
    accepted = [accepted.strip().lower() for accepted in gold]
    if said_lower in accepted:
        return Grade("correct", "crag-compat: exact match", "crag-compat")
    says_invalid = _INVALID in said_lower
    if says_invalid and any(_INVALID in text for text in accepted):
        return Grade("correct", "crag-compat: the question is invalid, and the answer says so", "crag-compat")
    left = [text for text, lower in zip(gold, accepted, strict=True) if (_INVALID in lower) == says_invalid]
    if says_invalid or not left:
        return Grade("incorrect", 'crag-compat: only one of answer and gold says "invalid"', "crag-compat")
    if not text:
        return Grade("incorrect", 'crag-compat: says nothing, but not "i don\'t know"', "crag-compat")
    given = judge.grade(question, left, text)
    if given.outcome in ("correct", "unjudged"):
        return given
    return Grade("incorrect", f"crag-compat: not judged correct ({given.reason})", given.judge)


def judge(
    question: Question, gold: Gold, prediction: Prediction | None, free_text: FreeTextJudge | None = None
) -> Verdict:
    """The verdict on one free_text question under CRAG's rules. Raises SubmissionError for a question with choices."""
    question_id = question.question_id
    if question.kind != "free_text":
        what = f"crag-compat is for free text, and {question_id} has choices"
        raise SubmissionError("--rules", what, "score questions with choices without --rules")
    answer = said(question_id, prediction)
    if isinstance(answer, Verdict):
        return answer
    found = grade(question.text, gold.texts, answer, free_text or Rules())
    if found.outcome == "unjudged":
        raise UnjudgedError([Unjudged(question_id, found.reason)], [], 1)
    return Verdict(question_id=question_id, outcome=found.outcome, reason=found.reason)
