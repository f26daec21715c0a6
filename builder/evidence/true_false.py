"""Method true-false-v1: a sentence is evidence on a true/false statement if it has its subject and takes a side.

It is about the same subject: the share of the weight of the statement's content words that it holds (Snowball stems; a
word weighs its inverse sentence frequency on the page), plus COVER times the share of the sentence's weight that this
is, is at least THRESHOLD. It takes a side by comparing it with the statement:

* it *agrees* when both or neither deny ("not", "never", "without", "only" …), no word of the one is the opposite of a
  word of the other, and no number of the statement is exchanged;
* it *disagrees* when exactly one of the two denies, or a word is replaced by its opposite, or a number by another.

A gold "true" is supported by sentences that agree, a gold "false" by sentences that disagree. A sentence that refutes a
statement by naming another thing in place of one of its words looks like a sentence about another subject: such
sentences are not found. Few labelled statements have evidence at all, so its figures are rough: take its spans as
candidates (docs/evidence.md). The constants were chosen on the `tune` half of the hand labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from builder.evidence.page_index import PageIndex, index_of
from builder.evidence.spans import SpanPlace, evidence_at
from builder.evidence.telling_words import content_stems, english_stem, stop_stems, words_of
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

THRESHOLD = 0.9
COVER = 0.4
MIN_STEMS = 2
_DENIALS = re.compile(r"\b(?:not|no|never|none|neither|nor|without|cannot|lacks?|lacking|unlike|\w+n['’]t)\b")
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
_OPPOSITES_TEXT = (
    "increase decrease|high low|higher lower|highest lowest|greater less|greatest least|more fewer|more less"
    "|most few|large small|larger smaller|largest smallest|hot cold|warm cold|warmer colder|warmer cooler"
    "|fast slow|faster slower|strong weak|stronger weaker|above below|before after|inside outside"
    "|internal external|inner outer|upper lower|positive negative|attract repel|all some|always never"
    "|always sometimes|same different|open closed|rise fall|rises falls|rising falling|gain lose|gains loses"
    "|absorb release|absorbs releases|solid liquid|liquid gas|solid gas|male female|north south|east west"
    "|physical chemical|renewable nonrenewable|first last|short long|shorter longer|light heavy|lighter heavier"
    "|thin thick|thinner thicker|near far|closer farther|simple complex|living nonliving|new old|younger older"
    "|visible invisible|possible impossible|stable unstable|many few|both neither|only also|dense sparse"
    "|deep shallow|metal nonmetal|acid base|acidic basic|conductor insulator|vertebrate invertebrate"
    "|parallel series|melting freezing|evaporation condensation|expand contract|push pull|day night|summer winter"
)


@cache
def opposites() -> frozenset[tuple[str, str]]:
    """The pairs of stems with opposite meanings, both ways round."""
    pairs = [[english_stem(word) for word in both.split()] for both in _OPPOSITES_TEXT.split("|")]
    return frozenset(pair for left, right in pairs for pair in ((left, right), (right, left)))


def denies(text: str) -> bool:
    """Whether a text denies something: an odd number of denials."""
    return len(_DENIALS.findall(text.casefold())) % 2 == 1


def _opposite(statement: frozenset[str], sentence: frozenset[str]) -> bool:
    """Whether a word of the statement is missing in the sentence, which holds its opposite instead."""
    missing, new = statement - sentence, sentence - statement
    return any((left, right) in opposites() for left in missing for right in new)


def agrees(statement: str, sentence: str) -> bool | None:
    """Whether a sentence about the same things agrees with the statement; None if it takes no side."""
    ours = frozenset(english_stem(word) for word in words_of(statement))
    theirs = frozenset(english_stem(word) for word in words_of(sentence))
    numbers, found = set(_NUMBERS.findall(statement)), set(_NUMBERS.findall(sentence))
    if numbers and not numbers & found:
        return False if found else None
    return (denies(statement) != denies(sentence)) == _opposite(ours, theirs)


def scored(index: PageIndex, stems: frozenset[str]) -> Iterator[tuple[int, float]]:
    """The sentences of a page that state something, with their scores (see THRESHOLD, COVER)."""
    weights = index.weights(stems)
    total = sum(weights.values())
    for number in sorted({number for stem in stems for number in index.postings.get(stem, ())}):
        if index.states[number]:
            within = index.stems(number)
            shared = sum(weight for stem, weight in weights.items() if stem in within)
            own = sum(index.weights(within - stop_stems()).values())
            yield number, round(shared / total + COVER * shared / max(own, shared), 6)


class TrueFalse:
    """Sentences that agree with a true statement, or disagree with a false one."""

    name = "true-false-v1"

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best sentences of the pages, which are in rank order."""
        wanted = _is_true(question, gold)
        stems = content_stems(question.text)
        if wanted is None or len(stems) < MIN_STEMS:
            return []
        found: dict[SpanPlace, tuple[float, int]] = {}
        for rank, page in enumerate(pages):
            for number, score in scored(index_of(page), stems):
                start, end = page.sentences[number]
                if score >= self._threshold and agrees(question.text, page.text[start:end]) is wanted:
                    found[SpanPlace(page.page_id, start, end)] = (-score, rank)
        return evidence_at(found, question, self.name)


def _is_true(question: Question, gold: Gold) -> bool | None:
    """Whether the gold says that the statement holds; None if the question is not a true/false question."""
    if question.kind != "true_false" or gold.answer is None:
        return None
    return {"true": True, "false": False}.get(question.choices[gold.answer].strip(" .").casefold())
