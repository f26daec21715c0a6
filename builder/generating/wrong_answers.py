"""Wrong answers to a question: asked for in a request that does nothing else, and only fit ones are used.

A wrong answer that repeats the right one, or that the sentence states as well, would be right. One of another form
would give the right one away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from builder.evidence.telling_words import english_stems
from builder.generating.chat_prompts import ChatRequest, fenced, filled
from builder.generating.drawn_passages import WritingTask
from builder.generating.fact_answers import glossary_of, is_short
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

N_WRONG = 3
WRONG_TOKENS = 192
MAX_LINES = 12
LEAST_ALIKE = 80.0
"""Two answers are near to each other from this share of equal letters (rapidfuzz, 0 to 100)."""
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


def fit_wrong(texts: Iterable[str], part: QuestionPart, fact: str) -> list[str]:
    """Those that are surely no right answer, and have its form; none is near to one before it."""
    kept: list[str] = []
    for text in texts:
        if not any(_unfit(text, part, fact)) and not any(is_near(text, other) for other in kept):
            kept.append(text)
    return kept


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


def page_candidates(task: WritingTask, place: int) -> list[str]:
    """Answers of the same kind on the page: other terms of its glossary, or their meanings."""
    glossary = glossary_of(task.page)
    kind = task.facts[place].kind
    if kind == "meaning":
        return [meaning for meaning in glossary.values() if is_short(meaning)]
    return list(glossary) if kind in ("term", "thing") else []


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
