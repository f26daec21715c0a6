"""Questions of the dataset that a page contains: `leak_question`, or with their answer: `leak_key`.

Three steps. Pairs of words nominate passages (leak_index); a passage is compared with the question's text (leak_match);
and the signs of a quiz around it (leak_key) say how like the text it has to be. Whether a question counts as leaked
never depends on its gold answer; only `leak_key` looks at it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from builder.labels.leak_index import PairIndex, SharedWords, Vocabulary, content_places
from builder.labels.leak_key import KeyBlock, Signs, holds_key, signs_of, span_with_key, widened
from builder.labels.leak_match import LeakMatch, Words, best_match, n_telling, words_of
from builder.question_sets.question_flags import is_meta_choice
from edu_rag.gold import Gold
from edu_rag.records import Question

SHORT_STEM = 3
"""A stem with fewer telling words is a leak only together with its choices."""
LONG_STEM = 5
"""With this many identifying words, a question may be in the running text of a quiz page."""
NEVER = 2.0
LEAST = 0.5
"""If all its choices are next to it, this share of a question's text must be there."""
LEAST_SHARED = 0.62
LEAST_MATCHING = 0.7
"""The questions of a matching exercise share their choices: more of the text has to be there."""
LEAST_SHARED_WORDS = 0.5
"""The share of a question's words, by weight and with the same spelling, that a passage needs to be looked at."""
BEYOND = 2
"""How many words longer than the question a passage may be."""
RELIEF = 0.08
"""On a page that surely holds another question of the dataset, so much less is needed."""
MAX_CHARS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLeak:
    """A span of a page's text that holds a question, and how: `leak_question` or `leak_key`.

    `masked` is the span that a page without the leak has blanks for: of a `leak_key` also the choices and the answer.
    """

    question_id: str
    start: int
    end: int
    kind: str
    masked: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stem:
    question_id: str
    kind: str
    words: Sequence[str]
    text: str
    n_telling: int
    choices: Mapping[str, str]
    """The folded words of each choice that says something which the stem does not; none for true/false."""
    n_choice_words: int
    answer: str
    gold: str | None

    def is_protectable(self) -> bool:
        """Whether a page that contains it can be distinguished from one that does not."""
        if self.n_telling >= SHORT_STEM:
            return True
        return len(self.choices) >= 2 or (self.kind == "true_false" and len(self.words) >= 3)

    def reach(self) -> int:
        """How many words around its place a passage may begin early or end late."""
        return 6 if self.n_telling >= SHORT_STEM else 6 + self.n_choice_words

    def indexed_words(self) -> list[str]:
        """The words that nominate it: for a stem with few identifying words, those of its choices too."""
        words = list(self.words)
        if self.n_telling < SHORT_STEM:
            words += [word for choice in self.choices.values() for word in choice.split()]
        return words


_NOT_LINE_END = re.compile(r"[^\n]")


def without_leaks(text: str, leaks: Iterable[FoundLeak]) -> str:
    """The text with a blank for each character of the leaks' `masked` spans: all offsets stay, line ends too."""
    for leak in leaks:
        start, end = leak.masked
        text = text[:start] + _NOT_LINE_END.sub(" ", text[start:end]) + text[end:]
    return text


class LeakIndex:
    """All questions that a page could leak. Built once a process; `find` only reads it.

    `unprotected` are the ids of questions that cannot be found on a page: their text is too short, or not unique.
    """

    def __init__(self, questions: Iterable[Question], golds: Iterable[Gold]) -> None:
        answers = {gold.question_id: gold for gold in golds}
        ordered = sorted(questions, key=lambda question: question.question_id)
        stems = [_stem_of(question, answers[question.question_id]) for question in ordered]
        self._stems = [stem for stem in stems if stem.is_protectable()]
        vocabulary = Vocabulary([words for stem in self._stems for words in (stem.words, stem.indexed_words())])
        self._vocabulary = vocabulary
        self._index = PairIndex([vocabulary.numbers(stem.indexed_words()) for stem in self._stems])
        silent = {self._stems[number].question_id for number in self._index.silent}
        found = {stem.question_id for stem in self._stems} - silent
        self.unprotected = [stem.question_id for stem in stems if stem.question_id not in found]
        self._shared = SharedWords([vocabulary.numbers(stem.words) for stem in self._stems], vocabulary.weights)
        self._reach = np.array([stem.reach() for stem in self._stems], dtype=np.int64)
        self._lengths = np.array([len(stem.words) for stem in self._stems], dtype=np.int64)

    def find(self, text: str) -> list[FoundLeak]:
        """Every question that the text holds, once, where it matches best; ordered by place.

        A page that holds one question likely holds more: then the doubtful ones count too. Reads the first MAX_CHARS
        characters.
        """
        text = text[:MAX_CHARS]
        page = words_of(text)
        likely = [found for passage in self._passages(page) if (found := _likely_at(*passage, text, page)) is not None]
        relief = RELIEF if any(one.score >= one.needed for one in likely) else 0.0
        sure = _best(one for one in likely if one.score >= one.needed - relief)
        return sorted((_leak(one, text) for one in sure), key=lambda leak: (leak.start, leak.question_id))

    def _passages(self, page: Words) -> Iterator[tuple[_Stem, int, int]]:
        """(stem, first word, end) of the passages worth a comparison."""
        numbers = self._vocabulary.numbers(page.words)
        places = content_places(numbers)
        stems, starts = self._index.nominate(numbers[places])
        begins = places[np.clip(starts, 0, len(places) - 1)] if len(stems) else starts
        lows = np.maximum(0, begins - self._reach[stems])
        highs = np.minimum(len(numbers), begins + self._lengths[stems] + BEYOND + self._reach[stems])
        # Most nominated passages share two words and no more: settled on arrays, a hundred times as fast as by letters.
        kept = self._shared.shares(stems, lows, highs, numbers) >= LEAST_SHARED_WORDS
        for stem, low, high in zip(stems[kept].tolist(), lows[kept].tolist(), highs[kept].tolist(), strict=True):
            yield self._stems[stem], low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class _Likely:
    """A passage like a stem: how like, and how like it has to be there."""

    stem: _Stem
    score: float
    needed: float
    start: int
    end: int
    choices: Mapping[str, tuple[int, int]]


def _best(found: Iterable[_Likely]) -> Iterable[_Likely]:
    """For each question, the place that matches best; the first among equals."""
    best: dict[str, _Likely] = {}
    for one in found:
        other = best.get(one.stem.question_id)
        if other is None or one.score > other.score:
            best[one.stem.question_id] = one
    return best.values()


def _leak(found: _Likely, text: str) -> FoundLeak:
    stem = found.stem
    block = KeyBlock(
        text=text, start=found.start, end=found.end, choices=found.choices, answer=stem.answer, gold=stem.gold
    )
    kind = "leak_key" if holds_key(block) else "leak_question"
    masked = span_with_key(block) if kind == "leak_key" else (found.start, found.end)
    return FoundLeak(question_id=stem.question_id, start=found.start, end=found.end, kind=kind, masked=masked)


def _stem_of(question: Question, gold: Gold) -> _Stem:
    words = words_of(question.text).words
    choices = {}
    if question.kind != "true_false":
        folded = {label: words_of(text).words for label, text in question.choices.items()}
        choices = {label: " ".join(choice) for label, choice in folded.items() if not set(choice) <= set(words)}
    return _Stem(
        question_id=question.question_id,
        kind=question.kind,
        words=words,
        text=" ".join(words),
        n_telling=n_telling(words),
        choices=choices,
        n_choice_words=sum(len(choice.split()) for choice in choices.values()),
        answer=question.choices[gold.answer] if gold.answer is not None else gold.texts[0],
        gold=gold.answer,
    )


def _likely_at(stem: _Stem, low: int, high: int, text: str, page: Words) -> _Likely | None:
    """The place among the page's words `low` to `high` that is like the stem, or None."""
    match = best_match(stem.words, stem.text, page.words, low, high)
    if match is None or match.score < LEAST:
        return None
    choices = _choices_near(stem, page, match)
    if match.score < _least_needed(stem, len(choices)) - RELIEF:
        return None
    start, end = widened(text, page.starts[match.first], page.ends[match.last], max(2, len(stem.words) // 3))
    signs = signs_of(text, start, end, list(choices.values()))
    needed = _needed(stem, signs, _choice_weight(stem, choices))
    if match.score < needed - RELIEF:
        return None
    return _Likely(stem=stem, score=match.score, needed=needed, start=start, end=end, choices=choices)


def _choice_weight(stem: _Stem, choices: Iterable[str]) -> int:
    """How many telling words the choices found add to those of the stem; "all of the above" counts as two."""
    texts = [stem.choices[label] for label in choices]
    return sum(max(n_telling(text.split()), 2 if is_meta_choice(text) else 0) for text in texts)


def _needed(stem: _Stem, signs: Signs, choice_weight: int) -> float:
    """How like the question's text a passage has to be: the fewer signs of a quiz, the more."""
    share = signs.n_choices / len(stem.choices) if stem.choices else 0.0
    placed = signs.item or signs.sentence or signs.numbered
    if stem.kind == "true_false" and signs.true_false:
        return _needed_true_false(stem, signs, placed)
    telling = stem.n_telling + choice_weight
    if stem.kind == "matching":
        # A textbook section about the lesson's terms names most of them: only separate items count.
        banked = signs.item and signs.n_choices >= 2 and share >= 0.5
        return LEAST_MATCHING if banked else _needed_alone(stem, signs, telling)
    if signs.n_listed >= 3 and share >= 0.75:
        return LEAST if placed else LEAST_SHARED
    if signs.n_choices >= 2 and share >= 0.5 and telling >= LONG_STEM and (placed or signs.n_listed >= 2):
        return LEAST_SHARED
    return _needed_alone(stem, signs, telling)


def _least_needed(stem: _Stem, n_choices: int) -> float:
    """The lowest result of `_needed` for this many choices, without the signs, which are expensive to compute."""
    if stem.kind == "true_false":
        return 0.6
    if stem.kind == "matching" or n_choices < 2:
        return LEAST_MATCHING
    return LEAST if n_choices >= 3 else LEAST_SHARED


def _needed_true_false(stem: _Stem, signs: Signs, placed: bool) -> float:
    """For a statement with True or False next to it."""
    if stem.n_telling >= SHORT_STEM:
        return 0.6 if placed else 0.8
    return 0.7 if signs.item and signs.numbered else 0.78 if signs.item else NEVER


def _needed_alone(stem: _Stem, signs: Signs, telling: int) -> float:
    """For a question without its choices, or with one of them."""
    if signs.item and signs.touches and telling > SHORT_STEM:
        return 0.7 if telling >= LONG_STEM else 0.78
    if stem.n_telling < SHORT_STEM:
        return 0.9 if signs.item and signs.n_choices and telling >= SHORT_STEM else NEVER
    if signs.item and (signs.blank or signs.numbered or signs.answered or signs.touches):
        return 0.78 if stem.n_telling > SHORT_STEM else 0.82
    if stem.n_telling == SHORT_STEM:
        return NEVER
    if signs.item or signs.blank or (signs.asks and signs.sentence):
        return 0.82 if stem.n_telling >= LONG_STEM else 0.9
    return 0.9 if signs.quiz and signs.sentence and stem.n_telling >= LONG_STEM else NEVER


def _choices_near(stem: _Stem, page: Words, match: LeakMatch) -> dict[str, tuple[int, int]]:
    """The spans of the question's choices after it or directly before it, by label.

    A word bank of a matching exercise may be further away, and before the question.
    """
    from rapidfuzz import fuzz

    reach = 2 * stem.n_choice_words + 6 * len(stem.choices) + 15
    low = max(0, match.first - reach - 60) if stem.kind == "matching" else max(0, match.first - 30)
    words = list(page.words[low : match.last + 1 + reach])
    for place in range(match.first - low, match.last + 1 - low):
        words[place] = "|"  # the stem itself holds no choice
    window = " " + " ".join(words) + " "
    offsets = [0]
    for word in words:
        offsets.append(offsets[-1] + len(word) + 1)
    found = {}
    after = offsets[match.last + 1 - low]
    for label, choice in stem.choices.items():
        at, length = window.find(f" {choice} ", after), len(choice)
        if at < 0:
            at = window.rfind(f" {choice} ", 0, after + 1)
        if at < 0 and len(choice) >= 12:
            near = fuzz.partial_ratio_alignment(choice, window, score_cutoff=85)
            if near is not None and len(window) > len(choice):
                at, length = max(0, near.dest_start - 1), near.dest_end - near.dest_start
        if at >= 0:
            one = min(bisect_left(offsets, at), len(words) - 1)
            other = min(max(one, bisect_left(offsets, at + length) - 1), len(words) - 1)
            found[label] = (page.starts[low + one], page.ends[low + other])
    return found
