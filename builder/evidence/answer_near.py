"""Method answer-string-v2: a sentence supports the gold answer when it holds it near the question's telling words.

* It holds the gold: its words, whole and in order, or, of a gold of LONG_GOLD and more content words, at least
  GOLD_SHARE of their weight in any order. Words are compared by their Snowball stems, so "eroding" meets "erodes".
* It is near the question: the weight of the question's content words in the sentence, plus NEAR of the weight
  of those that only its neighbours hold (one sentence before, one after), is at least THRESHOLD of all of it. A word
  weighs its inverse sentence frequency on the page, so that "cell" counts little on a page about cells.
* A sentence that holds another choice as well loses RIVAL for each: lists of all the choices support none of them.
* Questions, gaps to fill in and headings state nothing and are left out.

It does not apply where answer-string-v1 does not. The constants were chosen on the `tune` half of the hand labels
(tests/evidence_labels); precision and recall on the other half are in docs/evidence.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from builder.evidence.page_index import PageIndex, index_of
from builder.evidence.spans import SpanPlace, evidence_at, gold_texts
from builder.evidence.telling_words import STOP_WORDS, content_stems, english_stems, words_of
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage

THRESHOLD = 0.4
NEAR = 0.2
RIVAL = 0.1
DEFINES = 0.1
DENIAL = 0.2
NAMING = ("call", "as", "term", "name")
"""Stems before a name: "this is called X", "known as X"."""
DENIALS = frozenset(("not", "no", "never", "cannot", "without", "nor", "neither", "lack"))
GOLD_SHARE = 0.8
LONG_GOLD = 3


class Needle(NamedTuple):
    """An answer to look for: its stems as ` stem stem `, and those of its content words."""

    line: str
    stems: frozenset[str]


def needle_of(text: str) -> Needle | None:
    """The needle of an answer's text; None if its words are too common or too short to be found."""
    words = words_of(text)
    if words and words[0] in ("a", "an", "the"):
        words = words[1:]
    if len("".join(words)) < 2 or all(word in STOP_WORDS for word in words):
        return None
    line = " ".join(words)
    return Needle(f" {' '.join(english_stems(line))} ", content_stems(line))


def _share(stems: frozenset[str], held: frozenset[str], weights: Mapping[str, float]) -> float:
    """The part of the weight of some stems that is held; summed in sorted order, as sums of floats depend on it."""
    total = sum(weights[stem] for stem in sorted(stems))
    return sum(weights[stem] for stem in sorted(stems & held)) / total if total else 0.0


def _holding(index: PageIndex, needle: Needle) -> Iterator[tuple[int, float]]:
    """The sentences that hold the needle, ascending, and how much of it."""
    if len(needle.stems) < LONG_GOLD:
        rarest = min(needle.stems, key=lambda stem: (len(index.postings.get(stem, ())), stem))
        yield from ((number, 1.0) for number in index.postings.get(rarest, ()) if needle.line in index.lines[number])
        return
    weights = index.weights(needle.stems)
    for number in sorted({number for stem in needle.stems for number in index.postings.get(stem, ())}):
        share = _share(needle.stems, index.stems(number), weights)
        if share >= GOLD_SHARE:
            yield number, share


class NearSigns(NamedTuple):
    """Signs for and against a sentence: shares of weight, and how it uses the gold's words."""

    gold: float
    within: float
    around: float
    n_rivals: int
    defines: bool
    denies: bool

    def score(self) -> float:
        """The weighted sum of the signs; rounded, so that a threshold falls on the same side everywhere."""
        near = self.gold * (self.within + NEAR * self.around)
        return round(near + DEFINES * self.defines - RIVAL * self.n_rivals - DENIAL * self.denies, 6)


def _defines(line: str, needle: str) -> bool:
    """Whether a sentence is about the gold: it begins with it, or says that something is called so."""
    before = line[: line.find(needle)].split()
    return before in ([], ["a"], ["an"], ["the"]) or any(f" {word}{needle}" in line for word in NAMING)


def signs(
    index: PageIndex, needle: Needle, rivals: Sequence[Needle], asked: frozenset[str]
) -> Iterator[tuple[int, NearSigns]]:
    """The sentences of a page that hold the needle and state something, with their signs."""
    weights = index.weights(asked)
    for number, share in _holding(index, needle):
        if not index.states[number]:
            continue
        line, within = index.lines[number], index.stems(number)
        around = (index.stems(number - 1) | index.stems(number + 1)) - within
        yield (
            number,
            NearSigns(
                gold=share,
                within=_share(asked, within, weights),
                around=_share(asked, around, weights),
                n_rivals=sum(rival.line in line for rival in rivals),
                defines=_defines(line, needle.line),
                denies=not DENIALS.isdisjoint(within - asked),
            ),
        )


def _rivals(question: Question, gold: Gold, needle: Needle) -> list[Needle]:
    """The other choices; not those that are a part of the gold, or hold it."""
    needles = (needle_of(text) for label, text in question.choices.items() if label != gold.answer)
    return [other for other in needles if other and other.line not in needle.line and needle.line not in other.line]


class AnswerNear:
    """The answer's words near the question's telling words."""

    name = "answer-string-v2"

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[Evidence]:
        """The best sentences of the pages, which are in rank order."""
        found: dict[SpanPlace, tuple[float, int]] = {}
        for needle in filter(None, map(needle_of, gold_texts(question, gold))):
            asked = content_stems(question.text) - needle.stems
            if not asked:
                continue  # nothing but the answer's words to go by
            rivals = _rivals(question, gold, needle)
            for rank, page in enumerate(pages):
                for number, found_signs in signs(index_of(page), needle, rivals, asked):
                    score = found_signs.score()
                    if score >= self._threshold:
                        place = SpanPlace(page.page_id, *page.sentences[number])
                        found[place] = min(found.get(place, (0.0, rank)), (-score, rank))
        return evidence_at(found, question, self.name)
