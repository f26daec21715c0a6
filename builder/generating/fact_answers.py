"""The answer that a question about a sentence gets: words of the sentence, chosen by rules and not by a model.

| kind | what it is |
|---|---|
| term | what a line of a glossary defines |
| meaning | how a line of a glossary defines it |
| thing | a term of the page's glossary in a sentence about it: its subject, or what is "called" so |
| number | the only number of a sentence, with its unit (`lone_numbers.py`) |
| reason | what follows "because", "so that", "in order to" |
| result | what follows from an "if" or "when" that begins the sentence |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from builder.generating.fact_sentences import glossary_line, has_open_subject, is_fact
from builder.generating.lone_numbers import lone_number
from edu_rag.records import Span, WebPage

MAX_ANSWER_WORDS = 12
LEAST_TERMS = 8
"""Of a page's glossary, so that three of them are fit to be wrong answers to a question for another one."""
_REASON = re.compile(r"\b(?<!not )(?:because(?! of\b)|so that|in order to) ([^,;.()—]+)(?=[,;]|\.$)")
_RESULT = re.compile(r"^(?:If|When|Whenever) [^,]+, (?:then )?([^,;()]+)\.$")
_BEFORE_SUBJECT = re.compile(r"(?:An?|The)? ?$")
_AFTER_SUBJECT = re.compile(
    r" (?:is|are|was|were|has|have|can|may|occurs?|refers?|means?|happens?|causes?|allows?|contains?|consists?|makes?"
    r"|produces?|measures?|describes?|states?|uses?|helps?|forms?|acts?|controls?|depends?|increases?|prevents?"
    r"|connects?|carr(?:y|ies)|provides?|involves?)\b"
)
"""A verb: what comes before it is the whole subject of the sentence."""
_CALLED = re.compile(r"\b(?:called|known as|termed|named|referred to as|defined as) (?:the |an? )?$")
_AFTER_CALLED = re.compile(r"[.,;)]| (?:and|is|are|was|were|that|which|in|at|on|by|to|from|during|because|when|if)\b")


OF_GLOSSARY = ("term", "thing")
"""Kinds of answers whose wrong ones are other terms of the page's glossary."""


class Fact(NamedTuple):
    """A sentence of a page and the answer in it, both as places on the page, and the answer's kind."""

    span: Span
    answer: Span
    kind: str


def is_short(meaning: str) -> bool:
    """Whether a meaning is fit to be a choice."""
    return len(meaning.split()) <= MAX_ANSWER_WORDS and ";" not in meaning


def glossary_of(page: WebPage) -> dict[str, str]:
    """The terms that the page's glossary defines, with their meanings."""
    lines = (glossary_line(page.text[start:end]) for start, end in page.sentences)
    return {line.term: line.meaning for line in lines if line is not None}


def facts_of(page: WebPage, passage: Span) -> list[Fact]:
    """The sentences of a passage that state a fact, each with every answer that it offers."""
    glossary = glossary_of(page)
    known, found = _pattern(tuple(glossary)), []
    for start, end in page.sentences:
        if passage.start <= start and end <= passage.end and is_fact(page.text[start:end]):
            for kind, one, other in _answers(page.text[start:end], known):
                if kind not in OF_GLOSSARY or len(glossary) >= LEAST_TERMS:
                    found.append(Fact(Span(start, end), Span(start + one, start + other), kind))
    return found


@lru_cache(maxsize=2_048)
def _pattern(terms: Sequence[str]) -> re.Pattern[str] | None:
    ordered = sorted(terms, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, ordered))})\b", re.IGNORECASE) if ordered else None


def _answers(sentence: str, known: re.Pattern[str] | None) -> Iterator[tuple[str, int, int]]:
    """Kind and place of each answer in a sentence."""
    line = glossary_line(sentence)
    if line is not None:
        yield "term", 0, len(line.term)
        if is_short(line.meaning):
            yield "meaning", len(sentence) - len(line.meaning), len(sentence)
        return
    if has_open_subject(sentence, known):
        return
    number = lone_number(sentence)
    places = [("number", number)] if number else []
    places += [("reason", found.span(1)) for found in _REASON.finditer(sentence)]
    places += [("result", found.span(1)) for found in _RESULT.finditer(sentence)]
    places += (
        [("thing", found.span()) for found in known.finditer(sentence) if _is_about(sentence, found)] if known else []
    )
    for kind, (start, end) in places:
        words = sentence[start:end].rstrip(".,").split()
        n_least = 3 if kind in ("reason", "result") else 1
        is_once = sentence.casefold().count(sentence[start:end].casefold()) == 1
        if is_once and n_least <= len(words) <= MAX_ANSWER_WORDS:
            yield kind, start, start + len(sentence[start:end].rstrip(".,"))


def _is_about(sentence: str, term: re.Match[str]) -> bool:
    """Whether a sentence is about a term: it is the whole subject, or something is called so."""
    before, after = sentence[: term.start()], sentence[term.end() :]
    if _BEFORE_SUBJECT.fullmatch(before):
        return _AFTER_SUBJECT.match(after) is not None
    return _CALLED.search(before) is not None and _AFTER_CALLED.match(after) is not None
