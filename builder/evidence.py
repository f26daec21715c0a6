"""Labelling evidence: which sentences of a question's pages support its gold answer, by a named method.

Method answer-string-v1: a sentence supports the gold answer when
* it holds the words of the gold choice, whole and in order (case folded, apostrophes and punctuation dropped, a leading
  article left out), and
* of the question's content words (no stop words, none of the gold's own, plural endings cut) it holds at least half,
  and at least two where there are two.
It does not apply, and finds nothing, where holding the answer's words is no support: true/false questions, choices
such as "all of the above", questions with "not" or "except", and golds of a single character.
Its precision is unknown until it is measured against human labels: treat its spans as candidates.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from builder.question_flags import is_meta_choice
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, Span, WebPage

METHOD = "answer-string-v1"
MIN_SHARE = 0.5
MIN_SHARED_WORDS = 2
MAX_PER_QUESTION = 10
_STOP_WORDS_TEXT = (
    "a about above after all also always an and another any are as at be because been before being below best between"
    " both but by called can come comes could did do does done each either every for from get gets given had has have"
    " having he her here him his how however i if in include includes into is it its itself just known like made make"
    " makes many may means might more most much must my never no none of often on one only or other our out over own"
    " part same see she should so some such than that the their them then there these they this those through to too"
    " two type types up us use used uses using usually very was we were what when where which while who whose why will"
    " with within would you your following statement true false describes describe best example examples answer choose"
    " complete sentence during off since until"
)
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
_NEGATED = re.compile(r"\b(?:not|except|incorrect|incorrectly|false|never|least|cannot)\b")
_APOSTROPHES = re.compile(r"['’‘`]")
_WORDS = re.compile(r"[^\W_]+")


class _Lines(NamedTuple):
    """A page's sentences as words: one text ` word word \\n…`, and where each of them starts in it."""

    text: str
    starts: tuple[int, ...]

    def stems(self, number: int) -> frozenset[str]:
        """The stems of a sentence's words."""
        start = self.starts[number]
        return frozenset(map(stem, self.text[start : self.text.index("\n", start)].split()))


def words_of(text: str) -> list[str]:
    """The words of a text for comparing: case folded, without punctuation; "Earth's" is "earths", as TQA spells it."""
    return _WORDS.findall(_APOSTROPHES.sub("", text.casefold()))


def stem(word: str) -> str:
    """A word without its plural ending; crude, the same on both sides."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def content_words(text: str) -> frozenset[str]:
    """The stems of a text's words that are no stop words."""
    return frozenset(stem(word) for word in words_of(text) if word not in STOP_WORDS)


@lru_cache(maxsize=1_024)
def _lines(text: str, sentences: tuple[Span, ...]) -> _Lines:
    lines, starts, length = [], [], 0
    for start, end in sentences:
        line = f" {' '.join(words_of(text[start:end]))} \n"
        starts.append(length)
        lines.append(line)
        length += len(line)
    return _Lines("".join(lines), tuple(starts))


def _needles(question: Question, gold: Gold) -> list[str]:
    """The gold answer's words, as ` word word `; empty where the method does not apply."""
    if question.kind == "true_false" or _NEGATED.search(question.text.casefold()):
        return []
    texts = [question.choices[gold.answer]] if gold.answer is not None else list(gold.texts)
    needles = []
    for text in texts:
        words = words_of(text)
        if words and words[0] in ("a", "an", "the"):
            words = words[1:]
        if not is_meta_choice(text) and len("".join(words)) > 1 and any(word not in STOP_WORDS for word in words):
            needles.append(f" {' '.join(words)} ")
    return needles


def _holding(lines: _Lines, needle: str) -> Iterator[int]:
    """The numbers of the sentences that hold the needle, ascending, each once."""
    at, last = lines.text.find(needle), -1
    while at >= 0:
        number = bisect_right(lines.starts, at) - 1
        if number != last:
            yield number
        last = number
        at = lines.text.find(needle, at + 1)


def label_evidence(question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
    """The sentences of the pages that support the gold answer by METHOD; the most, and the best, MAX_PER_QUESTION.

    `pages` are in rank order; the result is sorted by page and position.
    """
    found: dict[tuple[str, int, int], tuple[float, int]] = {}
    for needle in _needles(question, gold):
        asked = content_words(question.text) - frozenset(map(stem, needle.split()))
        wanted = max(min(MIN_SHARED_WORDS, len(asked)), ceil(MIN_SHARE * len(asked)))
        if not asked:
            continue  # nothing but the answer's words to go by
        for rank, page in enumerate(pages):
            lines = _lines(page.text, page.sentences)
            for number in _holding(lines, needle):
                shared = len(asked & lines.stems(number))
                if shared >= wanted:
                    key = (page.page_id, *page.sentences[number])
                    found[key] = min(found.get(key, (0.0, rank)), (-shared / len(asked), rank))
    best = sorted(found, key=lambda key: (found[key], key))[:MAX_PER_QUESTION]
    return [
        Evidence(question_id=question.question_id, page_id=page_id, start=start, end=end, method=METHOD)
        for page_id, start, end in sorted(best)
    ]
