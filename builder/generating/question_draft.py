"""Read a writer's reply into a question, or report its fault. Replies are hostile input: bounded, and read strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from builder.generating.chat_prompts import ChatRequest, fenced, filled
from builder.generating.drawn_passages import WritingTask
from builder.generating.question_types import QuestionType
from builder.question_sets.question_files import tidy
from builder.question_sets.question_flags import is_context_bound, is_meta_choice
from edu_rag.errors import RecordError
from edu_rag.files.jsonl import parse_json
from edu_rag.prompt_text import harmless

MAX_REPLY_CHARACTERS = 20_000
MAX_QUESTION_CHARACTERS = 800
MAX_ANSWER_CHARACTERS = 300
N_WRONG = 3
MAX_QUOTES = 4
WRITE_TOKENS = 512
_POINTS_OUTSIDE = re.compile(
    r"\b(?:the|this|given|above) (?:text|passages?|excerpts?|paragraphs?|article|sentence|context)\b|passage_\d",
    re.IGNORECASE,
)


class QuestionDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the form in the prompt, tidied; the other fields of a reply are left out."""

    question: str
    answer: str = ""
    evidence: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    before: str = ""

    def text(self) -> str:
        """The question as a system gets it; a message before it is numbered, as in the paper's example."""
        return f"(1) {self.before} (2) {self.question}" if self.before else self.question


def without_thinking(reply: str) -> str:
    """A reply without the thoughts that some models put before it."""
    return reply.rpartition("</think>")[2].strip()


def _reply_form(kind: QuestionType) -> str:
    form: dict[str, object] = {"before": "..."} if kind.before else {}
    form["question"] = "..."
    if kind.answerable:
        form |= {"answer": "...", "evidence": ["..."] * kind.passages, "wrong": ["..."] * N_WRONG}
    return json.dumps(form)


def _other_subject(task: WritingTask) -> str:
    """The title of another page between tags: it is outside text as well."""
    return f"\n<other_subject>\n{harmless(task.distraction)}\n</other_subject>"


def write_request(task: WritingTask) -> ChatRequest:
    """The request for one question."""
    kind = task.type
    values = {
        "passages": fenced(task.texts()) + (_other_subject(task) if kind.distraction else ""),
        "type": kind.name,
        "description": kind.description,
        "ask": kind.ask,
        "form": _reply_form(kind),
    }
    return filled("write-v1" if kind.answerable else "write-out-of-scope-v1", values, WRITE_TOKENS)


def read_draft(reply: str, kind: QuestionType) -> QuestionDraft:
    """The question of a reply. Raises RecordError with the fault; the reply's other fields are left out."""
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise RecordError("reply", f"has over {MAX_REPLY_CHARACTERS:,} characters")
    text = without_thinking(reply)
    begin, end = text.find("{"), text.rfind("}")
    if not 0 <= begin < end:
        raise RecordError("reply", "holds no JSON object")
    try:
        values = parse_json(text[begin : end + 1].encode("utf-8", "surrogatepass"))
        said = msgspec.convert(_with_list(values), QuestionDraft)
    except (ValueError, msgspec.ValidationError) as error:
        raise RecordError("reply", str(error)[:200]) from None
    return _checked(_tidied(said, kind), kind)


def _with_list(value: object) -> object:
    """A single quote of evidence as a list: models write both."""
    if isinstance(value, dict) and isinstance(value.get("evidence"), str):
        return value | {"evidence": [value["evidence"]]}
    return value


def _tidied(said: QuestionDraft, kind: QuestionType) -> QuestionDraft:
    before = tidy(said.before) if kind.before else ""
    if not kind.answerable:
        return QuestionDraft(question=tidy(said.question), before=before)
    return QuestionDraft(
        question=tidy(said.question),
        answer=tidy(said.answer),
        evidence=tuple(tidy(quote) for quote in said.evidence),
        wrong=tuple(tidy(text) for text in said.wrong),
        before=before,
    )


def _faults(said: QuestionDraft, kind: QuestionType) -> Iterator[tuple[bool, str, str]]:
    yield not said.question, "question", "is blank"
    yield kind.before and not said.before, "before", "is blank"
    yield len(said.text()) > MAX_QUESTION_CHARACTERS, "question", f"has over {MAX_QUESTION_CHARACTERS} characters"
    outside = is_context_bound(said.text()) or _POINTS_OUTSIDE.search(said.text()) is not None
    yield outside, "question", "refers to something outside of it"
    yield not said.text().isprintable(), "question", "holds characters that cannot be printed"
    if kind.answerable:
        answers = (said.answer, *said.wrong)
        yield not all(answers), "answer", "an answer is blank"
        yield len(said.wrong) != N_WRONG, "wrong", f"has {len(said.wrong)} answers, not {N_WRONG}"
        yield any(len(text) > MAX_ANSWER_CHARACTERS for text in answers), "answer", "is too long"
        yield not all(text.isprintable() for text in answers), "answer", "holds characters that cannot be printed"
        yield any(is_meta_choice(text) for text in answers), "wrong", "an answer refers to the other answers"
        yield not 1 <= len(said.evidence) <= MAX_QUOTES, "evidence", f"has {len(said.evidence)} quotes"


def _checked(said: QuestionDraft, kind: QuestionType) -> QuestionDraft:
    for is_fault, where, what in _faults(said, kind):
        if is_fault:
            raise RecordError(where, what)
    return said
