"""A judge that is asked nothing: it counts the requests of a run and their length, for `--dry-run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.judging.claims.judge_replies import N_QUESTIONS
from harness.judging.judge_model import JudgePrompt, JudgeReply

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English; a model's own tokens differ by a third."""

N_CLAIMS = 5
"""The claims, or nuggets, of a text that no judge has split yet."""


class JudgePrice(NamedTuple):
    """US dollars for a million tokens in, and for a million tokens out."""

    input_usd: float
    output_usd: float


class JudgeRehearsal:
    """Replaces the judge. Each reply is of usual length and keeps a run going, so that no step is left out.

    A real answer may have no claims: the run then asks less. So the number of requests is the most, if none is tried
    again. The tokens in and the price are estimates: they grow with the claims of the answers.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self.n_requests: Counter[str] = Counter()
        self.n_characters = 0

    def reply(self, step: str, prompt: JudgePrompt, n: int) -> JudgeReply:
        """Count the request."""
        self.n_requests[step] += 1
        self.n_characters += len(prompt.system) + len(prompt.user)
        return JudgeReply(msgspec.json.encode(_usual(step, n)).decode())

    def vectors(self, texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
        """Count the request for embeddings."""
        self.n_requests["embeddings"] += 1
        return [[1.0] for _ in texts], ""

    def facts(self) -> Mapping[str, Any]:
        """Those of the judge that would be asked: its kept replies count as kept."""
        return self._facts

    def estimate(self, price: JudgePrice | None) -> dict[str, Any]:
        """Requests by step, tokens in (about) and out (at most), and the price (about) where one is given."""
        n_chats = self.n_requests.total() - self.n_requests["embeddings"]
        tokens_in = self.n_characters // CHARACTERS_A_TOKEN
        tokens_out = n_chats * int(self.facts()["max_tokens"])
        found: dict[str, Any] = {
            "n_requests": self.n_requests.total(),
            "by_step": dict(sorted(self.n_requests.items())),
            "input_tokens_about": tokens_in,
            "output_tokens_at_most": tokens_out,
        }
        if price is not None:
            cost = (tokens_in * price.input_usd + tokens_out * price.output_usd) / 1e6
            found["usd_about"] = round(cost, 4)
        return found


def _usual(step: str, n: int) -> dict[str, Any]:
    if step == "claims":
        return {"claims": [f"{i}{'x' * 100}" for i in range(N_CLAIMS)]}
    if step == "nuggets":
        return {"nuggets": [{"text": "x" * 60, "importance": "vital"}] * N_CLAIMS}
    replies: dict[str, dict[str, Any]] = {
        "support": {"verdicts": [0] * n},
        "relevant": {"verdict": 0},
        "asked": {"questions": ["x" * 60] * N_QUESTIONS, "noncommittal": 0},
        "assigned": {"assignments": ["not_support"] * n},
    }
    return replies.get(step, {"score": 1})


def estimate_lines(found: Mapping[str, Any], n_questions: int) -> Iterator[str]:
    """An estimate as a readable text."""
    steps = ", ".join(f"{step} {n:,}" for step, n in found["by_step"].items())
    kept = steps or "all are kept"
    yield f"requests   at most {found['n_requests']:,} for {n_questions:,} questions, failed ones aside ({kept})"
    yield f"tokens     about {found['input_tokens_about']:,} in, at most {found['output_tokens_at_most']:,} out"
    yield (
        f"price      about {found['usd_about']:,.2f} US dollars, if each reply has the most tokens"
        if "usd_about" in found
        else ("price      give --price IN OUT (US dollars for a million tokens)")
    )
