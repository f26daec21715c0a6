"""Can the gold be predicted without reading? Simple predictors, each compared with chance by an exact binomial test.

Two families. A *choice* predictor names a label from the choices alone (the longest, the third); its chance is one in
as many as there are choices. An *order* predictor learns, for each value of something other than the text (row, id,
lesson, hits), the commonest gold of a half of the questions, and predicts the other half; its chance is the same
rule without that something, and the test counts the questions that only one of the two gets right (McNemar 1947, one
side). All p-values of a split are corrected together (Holm 1979).
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lgamma
from typing import Any

import numpy as np

from edu_rag.gold import Gold
from edu_rag.records import Question, SearchHit
from edu_rag.statistics import holm

Floats = np.ndarray[Any, np.dtype[np.float64]]
ALPHA = 0.01
MAX_MODULUS = 8
"""Cycles of the gold along rows or ids are looked for up to this length."""
_NUMBER = re.compile(r"(\d{1,18})\D*\Z")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question as the predictors see it: the fields that a system gets, its row, and the gold, which they must not
    see.
    """

    question: Question
    row: int
    hits: Sequence[SearchHit]
    gold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTest:
    """One predictor on one split: right answers among the n it predicts, those expected by chance, adjusted p.

    `is_fault` says that the predictor reads nothing which a question's author wrote: a dataset must not give that away.
    """

    name: str
    n: int
    right: int
    expected: float
    p: float
    is_fault: bool

    @property
    def is_above_chance(self) -> bool:
        """Whether the predictor beats chance, after correction."""
        return self.p <= ALPHA

    def __str__(self) -> str:
        rate = f"{self.right:,} of {self.n:,} right ({self.right / max(1, self.n):.1%}"
        return f"{self.name}: {rate}; by chance {self.expected / max(1, self.n):.1%}, p = {self.p:.1g})"


def _binomial(n: int, p: float) -> Floats:
    """Probabilities of 0..n successes; through logarithms, so that n may be large."""
    k = np.arange(n + 1)
    choose = np.array([lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) for i in range(n + 1)])
    mass: Floats = np.exp(choose + k * np.log(p) + (n - k) * np.log1p(-p))
    return mass


def _upper_tail(chances: Counter[float], right: int) -> float:
    """P(at least `right` successes) of independent trials: an exact convolution of one binomial for each chance."""
    mass = np.ones(1)
    for chance, n in sorted(chances.items()):
        mass = np.convolve(mass, _binomial(n, chance))
    return float(min(1.0, mass[right:].sum()))


def _pick(question: Question, key: Callable[[str], tuple[float | str, ...]]) -> str | None:
    """The label whose choice has the largest key; None if two share it."""
    ranked = sorted(question.choices, key=lambda label: key(question.choices[label]), reverse=True)
    first, second = (key(question.choices[label]) for label in ranked[:2])
    return ranked[0] if first != second else None


def _odd_one(question: Question, has_mark: Callable[[str], bool]) -> str | None:
    """The only label whose choice has, or lacks, a mark that the others lack, or have."""
    marks = {label: has_mark(text) for label, text in question.choices.items()}
    for value in (True, False):
        odd = [label for label, mark in marks.items() if mark is value]
        if len(odd) == 1 and len(marks) > 2:
            return odd[0]
    return None


def _in_query(case: Case) -> str | None:
    """The only choice whose text is in a search query but not in the question."""
    asked = case.question.text.casefold()
    queries = " ".join(hit.query.casefold() for hit in case.hits[:1])
    found = [
        label
        for label, text in case.question.choices.items()
        if text.casefold() not in asked and text.casefold().rstrip(".") in queries
    ]
    return found[0] if len(found) == 1 else None


def _shared_words(question: Question) -> Callable[[str], tuple[float, ...]]:
    asked = set(_WORDS.findall(question.text.casefold()))
    return lambda text: (float(len(asked & set(_WORDS.findall(text.casefold())))),)


def _lettered(label: str) -> Callable[[Case], str | None]:
    return lambda case: label if label in case.question.choices else None


CHOICE_PREDICTORS: Mapping[str, Callable[[Case], str | None]] = {
    **{f"always {label}": _lettered(label) for label in "abcdefg"},
    "the last choice": lambda case: list(case.question.choices)[-1],
    "the longest choice": lambda case: _pick(case.question, lambda text: (float(len(text)),)),
    "the shortest choice": lambda case: _pick(case.question, lambda text: (-float(len(text)),)),
    "the choice first in the alphabet": lambda case: min(case.question.choices, key=case.question.choices.__getitem__),
    "the choice last in the alphabet": lambda case: max(case.question.choices, key=case.question.choices.__getitem__),
    "the choice that shares most words with the question": lambda case: _pick(
        case.question, _shared_words(case.question)
    ),
    "the only choice with, or without, a full stop": lambda case: _odd_one(case.question, lambda t: t.endswith(".")),
    "the only choice with, or without, a capital": lambda case: _odd_one(case.question, lambda t: t[:1].isupper()),
}
"""Named after the choice that they name. They use what question authors write: a known weakness, not a fault of
building.
"""

LEAKING_PREDICTORS: Mapping[str, Callable[[Case], str | None]] = {"the choice that the search query holds": _in_query}


def _number_of(case: Case) -> int | None:
    found = _NUMBER.search(case.question.question_id)
    return int(found[1]) if found else None


def _number_modulo(modulus: int) -> Callable[[Case], object]:
    def value(case: Case) -> object:
        number = _number_of(case)
        return None if number is None else number % modulus

    return value


def _row_modulo(modulus: int) -> Callable[[Case], object]:
    return lambda case: case.row % modulus


def _hash_of_id(case: Case) -> object:
    return zlib.crc32(case.question.question_id.encode()) % 8


def _first_page(case: Case) -> object:
    ids = [hit.page_id for hit in case.hits if hit.page_id is not None]
    return ids[0][-1] if ids else None


def _page_order(case: Case) -> object:
    """Whether the kept pages' ids rise or fall along the ranks, and at which rank the smallest is."""
    ids = [hit.page_id for hit in case.hits if hit.page_id is not None]
    return ids.index(min(ids)) if ids else None


ORDER_VALUES: Mapping[str, Callable[[Case], object]] = {
    **{f"row modulo {m}": _row_modulo(m) for m in range(2, MAX_MODULUS + 1)},
    **{f"number of the id modulo {m}": _number_modulo(m) for m in range(2, MAX_MODULUS + 1)},
    "last character of the id": lambda case: case.question.question_id[-1],
    "hash of the id": _hash_of_id,
    "place of the smallest page id": _page_order,
    "half of the file": lambda case: case.row // 1_000,
}
"""Fields that a system gets in addition to text. None of them may reveal anything about the gold."""

WEB_VALUES: Mapping[str, Callable[[Case], object]] = {
    "number of hits": lambda case: len(case.hits),
    "number of pages": lambda case: sum(hit.page_id is not None for hit in case.hits),
    "first page's id": _first_page,
}
"""Fields from the search. The web may well have a little more about true statements than about false ones."""
MIN_EXCESS = 0.1
"""The gain in accuracy over chance above which the search fields point to a builder's fault rather than to the web."""

SOURCE_VALUES: Mapping[str, Callable[[Case], object]] = {
    "lesson": lambda case: case.question.lesson,
    "flags": lambda case: case.question.flags or None,
}
"""Systems get these fields too, but they come from the source of the questions: a signal in them is only a warning."""


def _choice_test(name: str, predict: Callable[[Case], str | None], cases: Sequence[Case], is_fault: bool) -> LabelTest:
    chances: Counter[float] = Counter()
    right = 0
    for case in cases:
        label = predict(case)
        if label is not None:
            chances[1 / len(case.question.choices)] += 1
            right += label == case.gold
    n, expected = chances.total(), sum(chance * k for chance, k in chances.items())
    return LabelTest(name=name, n=n, right=right, expected=expected, p=_upper_tail(chances, right), is_fault=is_fault)


def _commonest(cases: Sequence[Case], key: Callable[[Case], object]) -> Mapping[object, str]:
    by_key: dict[object, Counter[str]] = {}
    for case in cases:
        by_key.setdefault(key(case), Counter())[case.gold] += 1
    return {value: min(golds, key=lambda label: (-golds[label], label)) for value, golds in by_key.items()}


def _halves(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Two halves by a hash that no builder orders by, so that a cycle along rows is in both."""
    halves: tuple[list[Case], list[Case]] = ([], [])
    for case in cases:
        halves[zlib.adler32(case.question.text.encode("utf-8", "surrogatepass")) // 7 % 2].append(case)
    return halves


def _order_test(name: str, value: Callable[[Case], object], cases: Sequence[Case], is_fault: bool) -> LabelTest:
    def plain(case: Case) -> object:
        return case.question.kind, len(case.question.choices)

    def with_value(case: Case) -> object:
        return plain(case), value(case)

    n = right = plain_right = only_by_value = only_plain = 0
    halves = _halves(cases)
    for learn, test in (halves, halves[::-1]):
        by_plain, by_value = _commonest(learn, plain), _commonest(learn, with_value)
        for case in test:
            if value(case) is None or with_value(case) not in by_value or plain(case) not in by_plain:
                continue
            hit, plain_hit = by_value[with_value(case)] == case.gold, by_plain[plain(case)] == case.gold
            n, right, plain_right = n + 1, right + hit, plain_right + plain_hit
            only_by_value, only_plain = only_by_value + (hit and not plain_hit), only_plain + (plain_hit and not hit)
    p = _upper_tail(Counter({0.5: only_by_value + only_plain}), only_by_value)
    return LabelTest(name=name, n=n, right=right, expected=float(plain_right), p=p, is_fault=is_fault)


def _web_test(name: str, value: Callable[[Case], object], cases: Sequence[Case]) -> LabelTest:
    test = _order_test(name, value, cases, is_fault=True)
    return replace(test, is_fault=test.right - test.expected >= MIN_EXCESS * test.n)


def label_tests(cases: Sequence[Case]) -> list[LabelTest]:
    """All predictors on the questions of one split that have choices; p-values Holm-adjusted over all of them."""
    tests = [_choice_test(name, predict, cases, is_fault=False) for name, predict in CHOICE_PREDICTORS.items()]
    tests += [_choice_test(name, predict, cases, is_fault=True) for name, predict in LEAKING_PREDICTORS.items()]
    tests += [_order_test(f"commonest gold by {n}", value, cases, is_fault=True) for n, value in ORDER_VALUES.items()]
    tests += [_order_test(f"commonest gold by {n}", value, cases, is_fault=False) for n, value in SOURCE_VALUES.items()]
    tests += [_web_test(f"commonest gold by {n}", value, cases) for n, value in WEB_VALUES.items()]
    adjusted = holm([test.p for test in tests])
    return [replace(test, p=p) for test, p in zip(tests, adjusted, strict=True)]


def cases_of(
    questions: Sequence[Question], gold: Mapping[str, Gold], hits: Mapping[str, Sequence[SearchHit]]
) -> list[Case]:
    """The questions with choices and a gold, in row order."""
    cases = []
    for row, question in enumerate(questions):
        found = gold.get(question.question_id)
        if found is not None and found.answer is not None:
            hits_of = hits.get(question.question_id, ())
            cases.append(Case(question=question, row=row, hits=hits_of, gold=found.answer))
    return cases
