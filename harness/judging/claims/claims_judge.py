"""Ask a judge one step about one answer: the claims of a text, which of them a text supports, a score.

Each step is a prompt, a reply and its reading. A step without a value gives `Unanswered` with the reason: it is
counted, and never taken for a verdict. Replies that were read are kept in a file, so that a broken run goes on.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from edu_rag.processes.worker_threads import KeyLocks
from harness.judging.appended_lines import append_row, kept_rows
from harness.judging.claims import judge_replies
from harness.judging.claims.claim_prompts import STEPS, prompt_facts, step_prompt
from harness.judging.claims.claim_values import Assignment, Nugget
from harness.judging.claims.judge_replies import UnreadableReplyError
from harness.judging.judge_model import JudgePrompt, JudgeReply, JudgeSettings, ModelJudge

FILE_NAME = "claim-replies.jsonl"
MAX_TOKENS = 1_024
"""Tokens of one reply where the environment names no number: a list of claims is longer than a verdict."""
T = TypeVar("T")


class Unanswered(NamedTuple):
    """A step without a value: the judge failed, or gave what cannot be read."""

    reason: str


class Chat(Protocol):
    """A model that answers prompts. `n` is how many verdicts the step asks for."""

    def reply(self, step: str, prompt: JudgePrompt, n: int) -> JudgeReply:
        """The reply to a step's prompt."""
        ...

    def vectors(self, texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
        """The embeddings of texts, or None and why there are none."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """The facts needed to ask the same way again, without addresses or keys."""
        ...


class ModelChat:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, model: ModelJudge) -> None:
        self._model = model

    def reply(self, step: str, prompt: JudgePrompt, n: int) -> JudgeReply:
        """Ask the model."""
        return self._model.reply(prompt)

    def vectors(self, texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
        """Ask the server's embedding model."""
        return self._model.vectors(texts)

    @property
    def given_up(self) -> str:
        """Why the server is not asked again in this run; empty while it is asked."""
        return self._model.given_up

    def facts(self) -> Mapping[str, Any]:
        """The model and how it is asked; the prompts are the judge's."""
        return _facts_of(self._model.settings)


def _facts_of(s: JudgeSettings) -> dict[str, Any]:
    asked = {"model": s.model, "temperature": 0, "seed": s.seed, "max_tokens": s.max_tokens}
    return asked | ({"embeddings": s.embeddings} if s.embeddings else {})


def model_chat() -> ModelChat:
    """The judge that the environment names. Raises ConfigError."""
    return ModelChat(ModelJudge(JudgeSettings.from_environment(max_tokens=MAX_TOKENS)))


def facts_of_environment(environment: Mapping[str, str] = os.environ, *, required: bool = True) -> Mapping[str, Any]:
    """The facts of the judge that the environment names; without one, ConfigError, or facts of none in particular."""
    if not required and not environment.get("EDU_RAG_JUDGE_MODEL"):
        environment = {**environment, "EDU_RAG_JUDGE_MODEL": "any model"}
    return _facts_of(JudgeSettings.from_environment(environment, max_tokens=MAX_TOKENS))


class _Row(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    key: str
    step: str
    reply: str = ""
    vectors: list[list[float]] | None = None


class KeptReplies:
    """The replies that could be read, in a file, by the SHA-256 of the request and the judge's facts."""

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        """Without a path, or read only, they are kept in memory. Raises DataError for a file that holds other lines."""
        self._path = None if read_only else path
        what = (_Row, "judged step", "--judge-cache")
        found = kept_rows(path, *what, read_only=read_only) if path is not None else ()
        self._rows = {row.key: row for _, row in found}

    @staticmethod
    def key_of(request: object, facts: Mapping[str, Any]) -> str:
        """The key of a request."""
        return hashlib.sha256(msgspec.json.encode([request, facts], order="deterministic")).hexdigest()

    def get(self, key: str) -> _Row | None:
        """The kept reply of a request."""
        return self._rows.get(key)

    def keep(self, row: _Row) -> None:
        """Keep a reply; it is on the disk before this returns."""
        self._rows[row.key] = row
        if self._path is not None:
            append_row(self._path, row)


class ClaimsJudge:
    """The steps of the claim metrics, asked of one judge."""

    def __init__(self, chat: Chat, kept: KeptReplies | None = None) -> None:
        self._chat, self._kept, self._locks = chat, kept or KeptReplies(None), KeyLocks()

    def facts(self, steps: Sequence[str] = tuple(STEPS)) -> Mapping[str, Any]:
        """The judge's facts, with the prompts of these steps and a name for tables."""
        facts, prompts = self._chat.facts(), prompt_facts(steps)
        name = f"{facts['model']} (claims#{prompts['prompts_sha256'][:8]})"
        return {"judge": "claims", "name": name} | dict(facts) | dict(prompts)

    def _step(self, step: str, read: Callable[[str], T], wanted: int = 0, **values: Any) -> T | Unanswered:
        prompt = step_prompt(step, **values)
        facts = {name: fact for name, fact in self._chat.facts().items() if name != "embeddings"}
        key = KeptReplies.key_of(list(prompt), facts)
        with self._locks.of(key):
            return self._asked(key, step, prompt, read, wanted)

    def _asked(self, key: str, step: str, prompt: JudgePrompt, read: Callable[[str], T], wanted: int) -> T | Unanswered:
        kept = self._kept.get(key)
        if kept is not None and not isinstance(again := _read(kept.reply, read), Unanswered):
            return again
        reply = self._chat.reply(step, prompt, wanted)
        if reply.text is None:
            return Unanswered(f"the judge {reply.fault}")
        found = _read(reply.text, read)
        if not isinstance(found, Unanswered):
            self._kept.keep(_Row(key, step, reply.text))
        return found

    def claims(self, question: str, answer: str) -> list[str] | Unanswered:
        """The claims of an answer."""
        return self._step("claims", judge_replies.read_claims, question=question, answer=answer)

    def supported(self, claims: Sequence[str], text: str | Sequence[str]) -> list[bool] | Unanswered:
        """Whether a text (or several, numbered) supports each claim; nothing is asked about no claims."""
        n = len(claims)
        if not n:
            return []
        return self._step(
            "support", lambda reply: judge_replies.read_verdicts(reply, n), n, claims=claims, text=text, n=n
        )

    def relevant(self, question: str, reference: str, passage: str) -> bool | Unanswered:
        """Whether a passage helps to reach the reference answer."""
        values = {"question": question, "reference": reference, "passage": passage}
        return self._step("relevant", judge_replies.read_relevant, 1, **values)

    def asked(self, answer: str) -> tuple[list[str], bool] | Unanswered:
        """Questions that the answer seems to reply to, and whether it is noncommittal."""
        return self._step("asked", judge_replies.read_questions, answer=answer)

    def nuggets(self, question: str, reference: str) -> list[Nugget] | Unanswered:
        """The nuggets of a reference answer."""
        return self._step("nuggets", judge_replies.read_nuggets, question=question, reference=reference)

    def assigned(self, question: str, nuggets: Sequence[str], answer: str) -> list[Assignment] | Unanswered:
        """How far an answer holds each nugget; nothing is asked about no nuggets."""
        n = len(nuggets)
        if not n:
            return []
        values = {"question": question, "answer": answer, "nuggets": nuggets, "n": n}
        return self._step("assigned", lambda reply: judge_replies.read_assignments(reply, n), n, **values)

    def score(self, step: str, question: str, references: Sequence[str], answer: str) -> float | Unanswered:
        """The score of an answer from 1 to 5 by one of the three `correctness` steps."""
        values = {"question": question, "reference": references, "answer": answer}
        return self._step(step, judge_replies.read_score, 1, **values)

    def cosines(self, question: str, others: Sequence[str]) -> list[float] | Unanswered:
        """The cosines of a question with others, by the embedding model."""
        texts = [question, *others]
        key = KeptReplies.key_of(["embeddings", texts], {"embeddings": self._chat.facts().get("embeddings", "")})
        with self._locks.of(key):
            return self._cosines(key, texts)

    def _cosines(self, key: str, texts: Sequence[str]) -> list[float] | Unanswered:
        kept = self._kept.get(key)
        vectors, fault = (kept.vectors, "") if kept is not None else self._chat.vectors(texts)
        if vectors is None:
            return Unanswered(f"the judge {fault}")
        found = [cosine(vectors[0], other) for other in vectors[1:]]
        if any(value is None for value in found):
            return Unanswered("the judge gave an embedding without a length")
        if kept is None:
            self._kept.keep(_Row(key, "embeddings", vectors=vectors))
        return [value for value in found if value is not None]


def _read(reply: str, read: Callable[[str], T]) -> T | Unanswered:
    try:
        return read(reply)
    except UnreadableReplyError as error:
        return Unanswered(f"the judge gave {error}")


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The cosine of two vectors; None if the length of one is 0 or too large to be a number."""
    lengths = math.hypot(*one) * math.hypot(*other)
    product = sum(x * y for x, y in zip(one, other, strict=True))
    return product / lengths if 0 < lengths < math.inf and math.isfinite(product) else None
