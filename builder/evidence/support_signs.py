"""Signs that a sentence supports an answer: what it and its neighbours share with question, gold and other choices.

The candidates of a question are the heaviest sentences of all its pages at once, and those of the page that the
question was taken from, where that is known. A word weighs its inverse sentence frequency over these pages, so a word
that most pages repeat counts little. The signs of a candidate are of six sorts:

* the shares of the question's and of the gold's weight that it holds, alone and with its neighbours, its section's
  heading and its page's title,
* the same for each other choice, and by how much the gold is ahead, here and over all pages,
* how near the words of question and gold are to each other, and whether they come in the same order,
* the form: a line of a glossary, "is called", a pronoun at the start, a denial,
* the place: rank of the page, whether it is the home page, the place among the candidates,
* how many other candidates say nearly the same.

All sums run in sorted order, and all signs are rounded: they are the same under every hash seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from itertools import pairwise
from math import log
from typing import NamedTuple

from builder.evidence.page_index import PageIndex, index_of
from builder.evidence.support_model import line_of, refers_back
from builder.evidence.telling_words import content_stems, english_stems, generic_stems, stop_stems
from builder.evidence.true_false import denies
from builder.question_sets.question_flags import is_meta_choice
from edu_rag.records import Question, WebPage

N_CANDIDATES = 40
N_AT_HOME = 16
GOLD_WEIGHT = 1.5
NEAR_WEIGHT = 0.3
LONG_SENTENCE = 20
LONG_COST = 0.02
"""A sentence loses LONG_COST for each stem above LONG_SENTENCE: long sentences share words by chance."""
MAX_HEADING = 8
HEADING_WITHIN = 12
"""A heading has at most MAX_HEADING stems; it is looked for among the HEADING_WITHIN sentences before."""
MAX_DISTANCE = 12
ALIKE = 0.6
"""Two candidates say nearly the same if they share this part of their stems."""
DECIMALS = 6
_NAMES = re.compile(r" (?:call|term|name|known as|defin|refer to as|refer to) ")
_GLOSSARY = re.compile(r"\W*([^:.;?!]{2,60}?)\s*(?::|—| – | means | is defined as | refers to )\s*\S")
_NUMBER = re.compile(r"\d")
SIGNS = (
    "question",
    "question_near",
    "question_telling",
    "question_before",
    "question_after",
    "question_heading",
    "question_title",
    "question_rarest",
    "question_missing",
    "question_count",
    "gold",
    "gold_near",
    "gold_before",
    "gold_after",
    "gold_heading",
    "gold_title",
    "gold_whole",
    "gold_whole_near",
    "gold_count",
    "rival",
    "rival_near",
    "rivals_whole",
    "question_and_gold",
    "question_and_gold_near",
    "gold_over_rival",
    "gold_over_rival_near",
    "ahead_here",
    "ahead_anywhere",
    "best_of_gold",
    "pairs_of_words",
    "nearness",
    "starts_with_gold",
    "names_gold",
    "glossary_of_gold",
    "glossary_of_question",
    "denies",
    "refers_back",
    "length",
    "numbers",
    "own",
    "page_rank",
    "home",
    "other_than_home",
    "order",
    "below_best",
    "below_best_near",
    "alike",
    "alike_pages",
    "gold_is_one_word",
    "gold_length",
    "gold_rarity",
    "gold_has_number",
    "question_length",
    "matching",
)
"""The signs of a sentence, in order."""


class Place(NamedTuple):
    """The rank of a page among those of the question, and the number of a sentence on it."""

    rank: int
    number: int


def _pairs(stems: Sequence[str]) -> set[tuple[str, str]]:
    empty = stop_stems()
    return set(pairwise(stem for stem in stems if stem not in empty))


class Wanted(NamedTuple):
    """An answer to support: its stems without those of the question, and its line."""

    stems: frozenset[str]
    line: str


class SignedQuestion:
    """One question with the text of the answer that sentences have to support, over its pages in rank order."""

    def __init__(self, question: Question, answer: str, pages: Sequence[WebPage], home_page: str | None = None) -> None:
        self.question, self.pages = question, pages
        if is_meta_choice(answer):  # "all of the above": the sentence has to name the others
            answer = " ".join(text for text in question.choices.values() if text != answer)
        self.asked = content_stems(question.text)
        self.gold = content_stems(answer) - self.asked or content_stems(answer)
        self.answer = Wanted(self.gold, line_of(answer))
        self.indexes = [index_of(page) for page in pages]
        self.home = next((rank for rank, page in enumerate(pages) if page.page_id == home_page), None)
        self.home_known = home_page is not None
        others = [] if question.kind == "true_false" else [text for text in question.choices.values() if text != answer]
        self.rivals = [
            Wanted(content_stems(text) - self.asked - self.gold, line_of(text))
            for text in others
            if not is_meta_choice(text)
        ]
        self._seen: dict[Place, frozenset[str]] = {}
        self.pairs = _pairs(english_stems(f"{question.text} {answer}"))
        self.has_number = _NUMBER.search(answer) is not None
        self.numbers = frozenset(re.findall(r"\d+", answer))
        self.question_denies = denies(question.text)

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each stem of question and choices: its inverse sentence frequency over all pages."""
        n = sum(len(index.lines) for index in self.indexes)
        stems = sorted(self.asked.union(self.gold, *(rival.stems for rival in self.rivals)))
        return {
            stem: self._rarity(sum(len(index.postings.get(stem, ())) for index in self.indexes), n) for stem in stems
        }

    @staticmethod
    def _rarity(n_with: int, n: int) -> float:
        return round(log(1 + (n - n_with + 0.5) / (n_with + 0.5)), DECIMALS)

    def share(self, stems: frozenset[str], held: frozenset[str]) -> float:
        """The part of the weight of some stems that is held."""
        total = sum(self.weights[stem] for stem in sorted(stems))
        return sum(self.weights[stem] for stem in sorted(stems & held)) / total if total else 0.0

    @cached_property
    def candidates(self) -> list[Place]:
        """The heaviest sentences of all pages, best first, then further ones of the home page."""
        found = list(self.weighed())
        best = [Place(rank, number) for _, rank, number in nsmallest(N_CANDIDATES, found)]
        at_home = nsmallest(N_AT_HOME, (item for item in found if item[1] == self.home))
        return list(dict.fromkeys([*best, *(Place(rank, number) for _, rank, number in at_home)]))

    def weighed(self) -> Iterator[tuple[float, int, int]]:
        """Each sentence that states something and shares a word: minus its weight, the rank of its page, its number."""
        wanted = sorted(self.asked | self.gold)
        weight = {
            stem: self.weights[stem] * (GOLD_WEIGHT if stem in self.gold - self.asked else 1.0) for stem in wanted
        }
        for rank, index in enumerate(self.indexes):
            yield from self._weighed(rank, index, weight)

    @staticmethod
    def _weighed(rank: int, index: PageIndex, weight: Mapping[str, float]) -> Iterator[tuple[float, int, int]]:
        sums: dict[int, float] = {}
        near: dict[int, float] = {}
        for stem, value in weight.items():
            places = set(index.postings.get(stem, ()))
            for number in places:
                sums[number] = sums.get(number, 0.0) + value
            for number in {place + step for place in places for step in (-1, 1)} - places:
                near[number] = near.get(number, 0.0) + value
        for number, total in sums.items():
            if index.states[number]:
                n_words = index.lines[number].count(" ") - 1  # stems are counted only where there may be many
                long = max(0, len(index.stems(number)) - LONG_SENTENCE) if n_words > LONG_SENTENCE else 0
                yield -round(total + NEAR_WEIGHT * near.get(number, 0.0) - LONG_COST * long, DECIMALS), rank, number

    def signs(self) -> list[tuple[Place, tuple[float, ...]]]:
        """The candidates and their signs, in the order of SIGNS."""
        held = [self._stems(place) for place in self.candidates]
        shared = [self.share(self.asked | self.gold, some) for some in held]
        with_near = [
            self.share(self.asked | self.gold, some | self._around(place))
            for some, place in zip(held, self.candidates, strict=True)
        ]
        fits = [self._fit(self.answer, place) for place in self.candidates]
        rival_fits = [[self._fit(rival, place) for rival in self.rivals] for place in self.candidates]
        best, best_near = max(shared, default=0.0), max(with_near, default=0.0)
        best_fit, best_rival = max(fits, default=0.0), max((fit for some in rival_fits for fit in some), default=0.0)
        found = []
        for order, place in enumerate(self.candidates):
            near_ones = [
                other
                for other, some in zip(self.candidates, held, strict=True)
                if other != place and len(some & held[order]) >= ALIKE * max(1, min(len(some), len(held[order])))
            ]
            signs = (
                *self._of_question(place),
                *self._of_gold(place),
                *self._of_rivals(place),
                fits[order] - max(rival_fits[order], default=0.0),
                best_fit - best_rival,
                best_fit,
                *self._of_form(place),
                place.rank / 10,
                float(place.rank == self.home),
                float(self.home_known and place.rank != self.home),
                order / N_CANDIDATES,
                shared[order] - best,
                with_near[order] - best_near,
                min(len(near_ones), 6) / 6,
                min(len({other.rank for other in near_ones} - {place.rank}), 4) / 4,
                *self._of_all,
            )
            found.append((place, tuple(round(sign, DECIMALS) for sign in signs)))
        return found

    def _stems(self, place: Place) -> frozenset[str]:
        if place not in self._seen:
            self._seen[place] = self.indexes[place.rank].stems(place.number)
        return self._seen[place]

    def _line(self, place: Place) -> str:
        lines = self.indexes[place.rank].lines
        return lines[place.number] if 0 <= place.number < len(lines) else " "

    def _around(self, place: Place) -> frozenset[str]:
        """The stems of the neighbours that the sentence itself does not hold."""
        before, after = Place(place.rank, place.number - 1), Place(place.rank, place.number + 1)
        return (self._stems(before) | self._stems(after)) - self._stems(place)

    def _heading(self, place: Place) -> frozenset[str]:
        """The stems of the nearest short line before a sentence."""
        for number in range(place.number - 1, max(-1, place.number - HEADING_WITHIN), -1):
            line = self.indexes[place.rank].lines[number].split()
            if 0 < len(line) <= MAX_HEADING and not self.indexes[place.rank].states[number]:
                return frozenset(line)
        return frozenset()

    @cached_property
    def _titles(self) -> list[frozenset[str]]:
        return [frozenset(english_stems(page.title or "")) for page in self.pages]

    def _fit(self, answer: Wanted, place: Place) -> float:
        """How well a sentence joins an answer with the question: the product of both shares."""
        held, around = self._stems(place), self._around(place)
        asked = self.share(self.asked, held) + NEAR_WEIGHT * self.share(self.asked, around)
        return asked * (self.share(answer.stems, held) + NEAR_WEIGHT * self.share(answer.stems, around))

    def _of_question(self, place: Place) -> tuple[float, ...]:
        asked = self.asked - self.gold
        held, around = self._stems(place), self._around(place)
        before = self._stems(Place(place.rank, place.number - 1)) - held
        after = self._stems(Place(place.rank, place.number + 1)) - held
        rarest = sorted(asked, key=lambda stem: (-self.weights[stem], stem))[:2]
        missing = [self.weights[stem] for stem in asked - held]
        most = max((self.weights[stem] for stem in asked), default=0.0)
        return (
            self.share(asked, held),
            self.share(asked, around),
            self.share(asked - generic_stems(), held),
            self.share(asked, before),
            self.share(asked, after),
            self.share(asked - held, self._heading(place)),
            self.share(asked - held, self._titles[place.rank]),
            sum(stem in held for stem in rarest) / 2,
            max(missing, default=0.0) / most if most else 0.0,
            min(len(asked & held), 8) / 8,
        )

    def _of_gold(self, place: Place) -> tuple[float, ...]:
        held, around = self._stems(place), self._around(place)
        before, after = Place(place.rank, place.number - 1), Place(place.rank, place.number + 1)
        line, whole = self._line(place), self.answer.line.strip() != ""
        return (
            self.share(self.gold, held),
            self.share(self.gold, around),
            self.share(self.gold, self._stems(before) - held),
            self.share(self.gold, self._stems(after) - held),
            self.share(self.gold - held, self._heading(place)),
            self.share(self.gold - held, self._titles[place.rank]),
            float(whole and self.answer.line in line),
            float(whole and (self.answer.line in self._line(before) or self.answer.line in self._line(after))),
            min(len(self.gold & held), 5) / 5,
        )

    def _of_rivals(self, place: Place) -> tuple[float, ...]:
        held, around, line = self._stems(place), self._around(place), self._line(place)
        asked, asked_near = self.share(self.asked - self.gold, held), self.share(self.asked - self.gold, around)
        gold, gold_near = self.share(self.gold, held), self.share(self.gold, around)
        rival = max((self.share(one.stems, held) for one in self.rivals), default=0.0)
        rival_near = max((self.share(one.stems, around) for one in self.rivals), default=0.0)
        whole = sum(
            one.line.strip() != ""
            and one.line in line
            and one.line not in self.answer.line
            and self.answer.line not in one.line
            for one in self.rivals
        )
        return (
            rival,
            rival_near,
            float(whole),
            asked * gold,
            (asked + asked_near) * (gold + gold_near),
            gold - rival,
            gold + gold_near - rival - rival_near,
        )

    def _of_form(self, place: Place) -> tuple[float, ...]:
        held, line = self._stems(place), self._line(place)
        page = self.pages[place.rank]
        text = page.text[slice(*page.sentences[place.number])]
        whole = float(self.answer.line.strip() != "" and self.answer.line in line)
        head = _GLOSSARY.match(text)
        term = content_stems(head[1]) if head is not None else frozenset[str]()
        telling = held - stop_stems()
        return (
            len(self.pairs & _pairs(line.split())) / len(self.pairs) if self.pairs else 0.0,
            self._nearness(line.split()),
            whole * float(line.startswith(self.answer.line)),
            whole * float(_NAMES.search(line) is not None),
            float(bool(term) and term <= self.gold | self.asked and bool(term & self.gold)),
            float(bool(term) and term <= self.asked),
            float(denies(text) != self.question_denies),
            float(refers_back(text)),
            min(len(held), 40) / 20,
            len(self.numbers & set(re.findall(r"\d+", text))) / len(self.numbers) if self.numbers else 0.0,
            len(telling & (self.asked | self.gold)) / len(telling) if telling else 0.0,
        )

    def _nearness(self, stems: Sequence[str]) -> float:
        """How near the question's words are to the gold's, by weight: 1 for neighbours, 0 from MAX_DISTANCE on."""
        golds = [at for at, stem in enumerate(stems) if stem in self.gold]
        if not golds:
            return 0.0
        nearest: dict[str, int] = {}
        for at, stem in enumerate(stems):
            if stem in self.asked:
                nearest[stem] = min(nearest.get(stem, MAX_DISTANCE), *(abs(at - one) for one in golds))
        total = sum(self.weights[stem] for stem in sorted(self.asked))
        near = sum(self.weights[stem] * (1 - nearest[stem] / MAX_DISTANCE) for stem in sorted(nearest))
        return near / total if total else 0.0

    @cached_property
    def _of_all(self) -> tuple[float, ...]:
        """The signs that all sentences of the question have in common."""
        return (
            float(len(self.gold) == 1),
            min(len(self.gold), 8) / 8,
            max((self.weights[stem] for stem in self.gold), default=0.0) / 10,
            float(self.has_number),
            min(len(self.asked), 20) / 20,
            float(self.question.kind == "matching"),
        )
