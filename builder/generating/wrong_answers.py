"""Wrong answers to a question: asked for in a request that does nothing else, and only fit ones are used.

A wrong answer that repeats the right one, or that the sentence states as well, would be right. One of another form
would give the right one away.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from builder.evidence.telling_words import content_stems, english_stems, generic_stems
from builder.generating.chat_prompts import ChatRequest, fenced, filled
from builder.generating.drawn_passages import WritingTask
from builder.generating.fact_answers import glossary_of, is_short
from builder.generating.number_choices import wrong_numbers
from builder.generating.question_draft import (
    MAX_QUESTION_CHARACTERS,
    WHOLE_LINE,
    QuestionPart,
    bounded,
    combined,
    holds_answer,
)
from builder.generating.question_types import QuestionType
from builder.question_sets.question_files import tidy
from builder.question_sets.question_flags import is_meta_choice, plain
from edu_rag.prompt_text import untagged
from edu_rag.records import WebPage

N_WRONG = 3
WRONG_TOKENS = 192
RULED_KINDS = ("number", "term", "thing", "meaning")
"""Kinds of answers whose wrong ones are found by rules, and not asked for."""
MAX_LINES = 12
LEAST_ALIKE = 80.0
"""Two answers are near to each other from this share of equal letters (rapidfuzz, 0 to 100)."""
LEAST_STATED = 0.5
"""Of a question's telling words, in a sentence that has a wrong answer: it may be right, too."""
_LINE = re.compile(r"\s*(?:\d{1,2}[.)]|[-*•])\s*(.+)$")


def wrong_request(part: QuestionPart) -> ChatRequest:
    """The request for wrong answers to one part."""
    question = f"{part.before} {part.question}".strip()
    values = {"passages": fenced([question]), "answer": untagged(part.answer)}
    return filled("write-wrong-v1", values, WRONG_TOKENS, WHOLE_LINE)


def read_wrong(reply: str) -> list[str]:
    """The first numbered lines of a reply, tidied, without those that are too long. Raises RecordError if it is."""
    lines = (line for line in bounded(reply).split("\n") if len(line) <= MAX_QUESTION_CHARACTERS)
    found = (_LINE.match(line) for line in lines)
    return [tidy(one[1].rstrip(" .\t\r")) for one in islice(filter(None, found), MAX_LINES)]


def fit_wrong(texts: Iterable[str], part: QuestionPart, fact: str) -> Iterator[str]:
    """Those that are surely no right answer, and have its form; none is near to one before it."""
    kept: list[str] = []
    for text in texts:
        if not any(_unfit(text, part, fact)) and not any(is_near(text, other) for other in kept):
            kept.append(text)
            yield text


def _unfit(text: str, part: QuestionPart, fact: str) -> Iterator[bool]:
    stems, right = set(english_stems(text)), set(english_stems(part.answer))
    yield not text.isprintable() or is_meta_choice(text) or not plain(text)
    yield is_near(text, part.answer)
    yield bool(stems) and stems <= set(english_stems(fact))  # the sentence may state it as well
    yield holds_answer(part.question, text)
    yield bool(stems and right) and (stems <= right or right <= stems)
    yield any(map(str.isdigit, text)) is not any(map(str.isdigit, part.answer))
    yield not _as_long(len(text.split()), len(part.answer.split()))


def _as_long(n: int, n_right: int) -> bool:
    return n <= 2 * n_right + 1 and n_right <= 2 * n + 1


def is_near(one: str, other: str) -> bool:
    """Whether two answers have nearly the same letters, or one is the other's initials."""
    from rapidfuzz import fuzz

    left, right = plain(one), plain(other)
    if any(map(str.isdigit, left + right)):
        return left == right
    return fuzz.ratio(left, right) >= LEAST_ALIKE or _initials(left) == right or _initials(right) == left


def _initials(text: str) -> str:
    words = text.split()
    return "".join(word[0] for word in words) if len(words) > 1 else ""


def rule_candidates(task: WritingTask, place: int) -> Iterable[str] | None:
    """Wrong answers that rules find, the best first; None where only a model can write them.

    For a number they are other numbers, for a term or a meaning those of the page's glossary whose meanings have most
    words in common with the right one: they are of the same kind.
    """
    fact, right = task.facts[place], task.answers()[place]
    if fact.kind not in RULED_KINDS:
        return None
    if fact.kind == "number":
        return in_order_of(task.task_id, wrong_numbers(right))
    glossary = glossary_of(task.page)
    meanings = {term.casefold(): meaning for term, meaning in reversed(glossary.items())}
    meaning = meanings.get(right.casefold()) or task.fact_texts()[place]
    alike = content_stems(right if fact.kind == "meaning" else meaning)
    drawn = in_order_of(task.task_id, glossary)
    ordered = sorted(drawn, key=lambda term: -len(content_stems(glossary[term]) & alike))
    if fact.kind == "meaning":
        return [glossary[term] for term in ordered if is_short(glossary[term])]
    others = (term for term in ordered if term.casefold() != right.casefold())
    return (term for term in others if not _is_a(term, right, meanings))


def _is_a(one: str, other: str, meanings: Mapping[str, str]) -> bool:
    """Whether one of two terms is in the other's meaning: a cycad is a gymnosperm, so both may be right."""
    pairs = ((one, other), (other, one))
    return any(holds_answer(meanings.get(left.casefold(), ""), right) for left, right in pairs)


def is_stated_of(text: str, question: str, page: WebPage) -> bool:
    """Whether the page states of a wrong answer what a question asks: some sentence has it and the question's words."""
    asked = content_stems(question) - generic_stems() - content_stems(text)
    n_least = max(min(2, len(asked)), math.ceil(LEAST_STATED * len(asked)))
    sentences = (page.text[start:end] for start, end in page.sentences)
    folded = text.casefold()
    having = (one for one in sentences if folded in one.casefold() and holds_answer(one, text))
    return bool(asked) and any(len(asked & content_stems(sentence)) >= n_least for sentence in having)


def in_order_of(seed: str, texts: Iterable[str]) -> list[str]:
    """The texts in an order that only the seed and the texts decide."""
    return sorted(texts, key=lambda text: hashlib.sha256(f"{seed}:{text}".encode()).digest())


def wrong_choices(kind: QuestionType, parts: Sequence[QuestionPart], wrong: Sequence[Sequence[str]]) -> list[str]:
    """Three wrong answers to the whole question; fewer if there are too few for a part.

    The answer of a question of two parts is wrong in one part or in both, and never has the same text for both.
    """
    if len(parts) == 1:
        return list(wrong[0][:N_WRONG])
    right = [part.answer for part in parts]
    first = [text for text in wrong[0] if not is_near(text, right[1])]
    last = [text for text in wrong[1] if not is_near(text, right[0])]
    if kind.join == "differ":
        if not first or not last or is_near(*right):
            return []
        pairs = [(right[0], last[0]), (first[0], right[1]), (right[1], right[0])]
        return [combined(kind, parts, pair) for pair in pairs]
    last.sort(key=lambda text: any(is_near(text, other) for other in first[:2]))  # those apart come first
    both = [text for text in (*last[1:], *last[:1]) if not is_near(text, first[1])] if len(first) > 1 else []
    if len(last) < 2 or not both:
        return []
    pairs = [(right[0], last[0]), (first[0], right[1]), (first[1], both[0])]
    return [combined(kind, parts, pair) for pair in pairs]
