"""The claim metrics as judges of whole answers, for `judge audit`: a score from 1 to 5, or all claims supported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.judging.claims.claim_values import LEAST_CORRECT, share
from harness.judging.claims.claims_judge import ClaimsJudge, Unanswered, model_chat
from harness.judging.free_text import FreeTextJudge, Grade
from harness.reading.wrappers import without_thought


class CorrectnessGrader:
    """HyPA-RAG's correctness (section 5.3) by one of its three prompts; a score of 4 or more is correct."""

    def __init__(self, judge: ClaimsJudge, number: int) -> None:
        self._judge, self.name = judge, f"correctness-{number}"

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """The score of an answer, against all accepted texts."""
        score = self._judge.score(self.name, question, gold, without_thought(answer) or answer)
        if isinstance(score, Unanswered):
            return Grade("unjudged", score.reason, self.name)
        return Grade("correct" if score >= LEAST_CORRECT else "incorrect", f"score {score:g}", self.name, score)

    def facts(self) -> Mapping[str, Any]:
        """The judge's facts, with this prompt alone."""
        return dict(self._judge.facts([self.name])) | {"judge": self.name}


class FaithfulnessGrader:
    """Faithfulness: correct if the texts (the passages) support every claim of the answer; the score is their share."""

    name = "faithfulness"

    def __init__(self, judge: ClaimsJudge) -> None:
        self._judge = judge

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """Split the answer into claims and check them; an answer without claims is an abstention."""
        claims = self._judge.claims(question, without_thought(answer) or answer)
        found = claims if isinstance(claims, Unanswered) else self._judge.supported(claims, gold)
        if isinstance(found, Unanswered):
            return Grade("unjudged", found.reason, self.name)
        value = share(found).value
        if value is None:
            return Grade("abstained", "no claims", self.name)
        reason = f"{sum(found)} of {len(found)} claims supported"
        return Grade("correct" if all(found) else "incorrect", reason, self.name, value)

    def facts(self) -> Mapping[str, Any]:
        """The judge's facts, with the prompts of these two steps."""
        return dict(self._judge.facts(["claims", "support"])) | {"judge": self.name}


def _correctness(number: int) -> Callable[[], FreeTextJudge]:
    return lambda: CorrectnessGrader(ClaimsJudge(model_chat()), number)


CLAIM_GRADERS: Mapping[str, Callable[[], FreeTextJudge]] = {
    "correctness-1": _correctness(1),
    "correctness-2": _correctness(2),
    "correctness-3": _correctness(3),
    "faithfulness": lambda: FaithfulnessGrader(ClaimsJudge(model_chat())),
}
"""More judges for `judge audit --judge`, in addition to those of `edu-rag score`."""
