"""Ask for a question in small steps, and read the replies: each is one line, a form that small models keep.

The answer and its evidence need no reading: rules choose them before a model is asked. A model writes the question
that asks for the answer, and for some types a second line (a remark, a situation, a shorter question). Replies are
hostile input: bounded, and read strictly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from builder.evidence.telling_words import english_stems
from builder.generating.chat_prompts import ChatRequest, fenced, filled
from builder.generating.drawn_passages import WritingTask
from builder.generating.fact_answers import glossary_of
from builder.generating.fact_sentences import glossary_line
from builder.generating.question_types import QuestionType
from builder.generating.span_words import off_span_faults
from builder.question_sets.question_files import tidy
from builder.question_sets.question_flags import is_context_bound
from edu_rag.errors import RecordError
from edu_rag.prompt_text import untagged

MAX_REPLY_CHARACTERS = 20_000
MAX_QUESTION_CHARACTERS = 400
"""Of one line of a reply."""
MIN_QUESTION_WORDS = 4
MAX_ADDED_WORDS = 20
"""Of a remark or a situation."""
LINE_TOKENS = 96
WHOLE_LINE = r"(?!<think>).+\n"
"""The beginning of a reply whose first line is whole."""
_POINTS_OUTSIDE = re.compile(
    r"\b(?:the|this|given|above|that) (?:text|passages?|excerpts?|paragraphs?|article|sentences?|context|figures?"
    r"|tables?|images?|author|example|study|statement|gap|blank|missing|following)\b|passage_\d|according to|mentioned"
    r"|described|discussed|earlier|\bstated\b|_{2,}",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:what|which|who|whose|whom|where|when|why|how)\b", re.IGNORECASE)
_OPEN_PRONOUN = re.compile(
    r"\b(?:this|these|those)\b|\b(?:what|which|who|where|when|why|how)(?: \w+)?"
    r" (?:do|does|did|is|are|was|were|has|have|can) (?:it|they|he|she|its|their)\b",
    re.IGNORECASE,
)
"""What a question that comes first must not have: nothing before it is meant."""
_LABEL = re.compile(r"^[\W_]*(?:question|remark|person|short)[\W_]*:\s*", re.IGNORECASE)
_BEFORE_OBJECT = re.compile(r"\b(?:of|in|on|by|for|with|from|to|into|through|between|than|about|at|around|within)\s$")
_BEFORE_SUBJECT = re.compile(
    r"\b(?:do|does|did|is|are|was|were|has|have|had|can|could|may|will|when|if|while|after|before|because|that)\s$",
    re.IGNORECASE,
)
_AFTER_NAME = re.compile(
    r"[?,]| (?:is|are|was|were|has|have|had|can|could|may|will|do|does|did|at|on|by|for|from|to|into|through|during"
    r"|when|if|while|after|before|and|or|as|than|\w+ed|need|use|make|contain|produce|have|become|occur|take)\b",
    re.IGNORECASE,
)
"""What follows the whole name of a thing, where another word may be a noun: "the ray aspect"."""
_UNCLEAR_NUMBER = ("s", "ia", "ae", "i")
"""Ends of terms that may be one or many: "photosynthesis", "fatty acids", "bacteria". No pronoun is put for them."""

Ask = Callable[[ChatRequest], str]


class OffSpanError(RecordError):
    """A question asks something else than its sentence states (`span_words.py`)."""


class QuestionPart(NamedTuple):
    """A question about one sentence, and its answer; tidied. `answer` is blank where it is out of scope.

    `before` is a message that comes before it. `plain` is the question as it was before its type added a remark, a
    situation or a message; blank if it added none.
    """

    question: str
    answer: str = ""
    before: str = ""
    plain: str = ""


class QuestionDraft(NamedTuple):
    """A question as systems get it, its answer, and the parts that it was put together from."""

    text: str
    answer: str
    parts: tuple[QuestionPart, ...]

    def plain(self, kind: QuestionType) -> str:
        """The question without remarks, situations and messages."""
        parts = [part._replace(question=part.plain or part.question, before="", plain="") for part in self.parts]
        return joined(kind, parts).text


def without_thinking(reply: str) -> str:
    """A reply without the thoughts that some models put before it."""
    return reply.rpartition("</think>")[2].strip()


def bounded(reply: str) -> str:
    """A reply without thoughts. Raises RecordError if it is too long."""
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise RecordError("reply", f"has over {MAX_REPLY_CHARACTERS:,} characters")
    return without_thinking(reply)


def read_line(reply: str) -> str:
    """The first line of a reply, tidied, without its label. Raises RecordError with the fault."""
    line = tidy(_LABEL.sub("", bounded(reply).partition("\n")[0])).strip('*"“” ')
    if not line:
        raise RecordError("reply", "is blank")
    if len(line) > MAX_QUESTION_CHARACTERS:
        raise RecordError("reply", f"has over {MAX_QUESTION_CHARACTERS} characters")
    if not line.isprintable():
        raise RecordError("reply", "holds characters that cannot be printed")
    return line


def first_requests(task: WritingTask) -> list[ChatRequest]:
    """The requests for the plain question of each part. One that is out of scope gets the whole passage."""
    if not task.type.answerable:
        return [filled("write-out-of-scope-v2", {"passages": fenced(task.texts())}, LINE_TOKENS, WHOLE_LINE)]
    if task.type.join == "differ":
        return []
    return [
        filled(
            "write-v2",
            {"passages": fenced([text]), "answer": untagged(answer), "begins": kind.begins},
            LINE_TOKENS,
            WHOLE_LINE,
        )
        for kind, text, answer in zip(task.type.part_types(), task.fact_texts(), task.answers(), strict=True)
    ]


def write_draft(task: WritingTask, ask: Ask) -> QuestionDraft:
    """The question of a task. Raises RecordError for a faulty reply, OffSpanError if the sentence is no answer."""
    if task.type.join == "differ":
        lines = [glossary_line(text) for text in task.fact_texts()]
        return joined(task.type, [QuestionPart(line.term, line.meaning) for line in lines if line is not None])
    parts: list[QuestionPart] = []
    requests = zip(task.type.part_types(), first_requests(task), task.answers(), strict=True)
    for kind, request, answer in requests:
        plain = QuestionPart(read_line(ask(request)), tidy(answer) if kind.answerable else "")
        place = len(parts)
        _check(plain)
        _check_on_span(plain, task, place)
        parts.append(_changed(plain, kind, task, ask))
        if kind.change == "short":
            _check_on_span(parts[-1], task, place)
    for one, other in permutations(parts, 2):
        if holds_answer(f"{one.question} {one.answer}", other.answer):
            raise RecordError("question", "one part holds the answer to the other")
    return joined(task.type, parts)


def _check(part: QuestionPart) -> None:
    for is_fault, what in _faults(part):
        if is_fault:
            raise RecordError("question", what)


def _check_on_span(part: QuestionPart, task: WritingTask, place: int) -> None:
    """Compare a question with the words of its sentence; one that is out of scope has none."""
    if task.type.answerable:
        fact, text = task.facts[place], task.fact_texts()[place]
        for is_fault, what in off_span_faults(part.question, part.answer, text, fact.kind):
            if is_fault:
                raise OffSpanError("question", what)


def _faults(part: QuestionPart) -> Iterator[tuple[bool, str]]:
    text = part.question
    yield is_context_bound(text) or _POINTS_OUTSIDE.search(text) is not None, "refers to something outside of it"
    yield len(text.split()) < MIN_QUESTION_WORDS, f"has under {MIN_QUESTION_WORDS} words"
    yield not text.endswith("?") or text.count("?") > 1 or not _ASKS.search(text), "does not ask for one thing"
    yield _OPEN_PRONOUN.search(text) is not None, "has a pronoun for something outside of it"
    yield holds_answer(text, part.answer), "holds the answer"


def holds_answer(text: str, answer: str) -> bool:
    """Whether a text has all telling words of an answer; the numbers of one without words."""
    stems = set(english_stems(answer))
    return bool(stems) and stems <= set(english_stems(text))


def _changed(part: QuestionPart, kind: QuestionType, task: WritingTask, ask: Ask) -> QuestionPart:
    """The plain question in the form of its type."""
    if kind.change == "before":
        return _after_message(part, task)
    if not kind.change:
        return part
    given = task.distraction if kind.change == "remark" else part.question
    request = filled("write-change-v1", {"passages": fenced([given]), "ask": kind.ask}, LINE_TOKENS, WHOLE_LINE)
    line = read_line(ask(request))
    if kind.change == "short":
        return _shortened(part, line)
    is_added = "?" not in line and len(line.split()) <= MAX_ADDED_WORDS and not holds_answer(line, part.answer)
    if not is_added or _POINTS_OUTSIDE.search(line):
        raise RecordError("question", f"the {kind.change} asks something, is too long, or gives the answer away")
    added = line.rstrip(".!, ")
    if kind.change == "remark":
        return part._replace(question=f"{added}, but {_within(part.question)}", plain=part.question)
    if not re.match(r"(?:I am|I have|I work|I want|I need|I'm|My|As an?) ", added):
        raise RecordError("question", "the situation is not a person's")
    return part._replace(question=f"{added}. {part.question}", plain=part.question)


def _shortened(part: QuestionPart, line: str) -> QuestionPart:
    """A shorter question has at most one word that the longer one does not have."""
    short = part._replace(question=line)
    n_new = len(set(english_stems(line)) - set(english_stems(part.question)))
    if len(line) >= len(part.question) or n_new > 1:
        raise RecordError("question", "is not a shorter form of the plain question")
    _check(short)
    return short


def _after_message(part: QuestionPart, task: WritingTask) -> QuestionPart:
    """A message that names a term of the question, and the question with a pronoun for it."""
    known = (term for term in glossary_of(task.page) if not term.endswith(_UNCLEAR_NUMBER))
    terms = [term for term in known if not holds_answer(term, part.answer)]
    for term in sorted(terms, key=len, reverse=True):
        spelled = rf"\b(?:(?:an?|the) )?({re.escape(term)}(?:e?s)?)\b(?! (?:\w*ing|with|that|which|of|in)\b)"
        found = re.search(spelled, part.question, re.IGNORECASE)
        if found is None or not _is_alone(part.question[: found.start()], part.question[found.end() :]):
            continue
        is_object = _BEFORE_OBJECT.search(part.question[: found.start()]) is not None
        many = len(found[1]) > len(term)
        pronoun = ("them" if is_object else "they") if many else "it"
        question = part.question[: found.start()] + pronoun + part.question[found.end() :]
        before = f"I would like to know about {found[0].removeprefix('The ')}."
        return part._replace(question=question, before=before, plain=part.question)
    raise RecordError("question", "names no term that a message before it could name")


def _is_alone(before: str, after: str) -> bool:
    """Whether what is between is all of a thing's name: no noun follows, and no adjective comes before."""
    is_begun = _BEFORE_OBJECT.search(before) is not None or _BEFORE_SUBJECT.search(before) is not None
    return is_begun and _AFTER_NAME.match(after) is not None


def asked_text(kind: QuestionType, part: QuestionPart) -> str:
    """What one part asks, alone."""
    return f"What is {part.question}?" if kind.join == "differ" else f"{part.before} {part.question}".strip()


def joined(kind: QuestionType, parts: Sequence[QuestionPart]) -> QuestionDraft:
    """One question of all parts. A message before it is numbered, as in the paper's example."""
    first, last = parts[0], parts[-1]
    text = f"(1) {first.before} (2) {first.question}" if first.before else first.question
    if kind.join == "differ":
        text = f"How do {first.question} and {last.question} differ?"
    elif kind.join == "and":
        text = f"{first.question.rstrip('? ')}, and {_within(last.question)}"
    elif kind.join == "also":
        text = f"{first.question} Also, {_within(last.question)}"
    return QuestionDraft(text, combined(kind, parts, [part.answer for part in parts]), tuple(parts))


def combined(kind: QuestionType, parts: Sequence[QuestionPart], answers: Sequence[str]) -> str:
    """The answer to all parts, from an answer to each."""
    if kind.join == "differ":
        return "; ".join(f"{part.question}: {answer}" for part, answer in zip(parts, answers, strict=True))
    return "; ".join(answers)


def _within(question: str) -> str:
    """A question as a later part of a sentence: its first word in lower case if it is a question word or the like."""
    word, _, rest = question.partition(" ")
    begins = _ASKS.fullmatch(word) or word in ("In", "At", "By", "On", "From", "During", "After", "For")
    return f"{word.lower()} {rest}" if begins else question
