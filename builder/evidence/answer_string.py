"""Method answer-string-v1: a sentence holds the gold answer and half of the question.

A sentence supports the gold answer when
* it holds the words of the gold choice, whole and in order (case folded, apostrophes and punctuation dropped, a leading
  article left out), and
* of the question's content words (no stop words, none of the gold's own, plural endings cut) it holds at least half,
  and at least two where there are two.
It does not apply, and finds nothing, where holding the answer's words is not support: true/false questions, choices
such as "all of the above", questions with "not" or "except", and golds of a single character.
Its precision and recall on hand labels are in docs/evidence.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import ceil
from typing import NamedTuple

from builder.evidence.spans import SpanPlace, evidence_at, gold_texts
from builder.evidence.telling_words import STOP_WORDS, content_words, may_hold_words, stem, words_of, words_of_each
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, Span, WebPage

MIN_SHARE = 0.5
MIN_SHARED_WORDS = 2


class _Lines(NamedTuple):
    """A page's sentences as words: one text ` word word \\n…`, and where each of them starts in it."""

    text: str
    starts: tuple[int, ...]

    def stems(self, number: int) -> frozenset[str]:
        """The stems of a sentence's words."""
        start = self.starts[number]
        return frozenset(map(stem, self.text[start : self.text.index("\n", start)].split()))


@lru_cache(maxsize=256)
def _lines(text: str, sentences: tuple[Span, ...]) -> _Lines:
    lines = [f" {words} \n" for words in words_of_each(text[start:end] for start, end in sentences)]
    return _Lines("".join(lines), tuple(accumulate(map(len, lines[:-1]), initial=0)) if lines else ())


def _needles(question: Question, gold: Gold) -> Iterator[str]:
    """The gold answer's words, as ` word word `; none where the method does not apply."""
    for text in gold_texts(question, gold):
        words = words_of(text)
        if words and words[0] in ("a", "an", "the"):
            words = words[1:]
        if len("".join(words)) > 1 and any(word not in STOP_WORDS for word in words):
            yield f" {' '.join(words)} "


def _holding(lines: _Lines, needle: str) -> Iterator[int]:
    """The numbers of the sentences that hold the needle, ascending, each once."""
    at, last = lines.text.find(needle), -1
    while at >= 0:
        number = bisect_right(lines.starts, at) - 1
        if number != last:
            yield number
        last = number
        at = lines.text.find(needle, at + 1)


class AnswerString:
    """The answer's words and half of the question's in one sentence."""

    name = "answer-string-v1"

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best sentences of the pages, which are in rank order."""
        found: dict[SpanPlace, tuple[float, int]] = {}
        for needle in _needles(question, gold):
            asked = content_words(question.text) - frozenset(map(stem, needle.split()))
            wanted = max(min(MIN_SHARED_WORDS, len(asked)), ceil(MIN_SHARE * len(asked)))
            if not asked:
                continue  # nothing but the answer's words to go by
            for rank, page in enumerate(pages):
                if not may_hold_words(page.text, needle.split()):
                    continue  # most pages: cutting them all into words takes ten times as long
                lines = _lines(page.text, page.sentences)
                for number in _holding(lines, needle):
                    shared = len(asked & lines.stems(number))
                    if shared >= wanted:
                        place = SpanPlace(page.page_id, *page.sentences[number])
                        found[place] = min(found.get(place, (0.0, rank)), (-shared / len(asked), rank))
        return evidence_at(found, question, self.name)
