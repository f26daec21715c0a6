"""Faults of questions that need the gold, or a person, to fix: found by `edu-rag dataset audit`, never stored.

Each rule is a pure function of one question and its gold; the cases behind them are quoted unchanged from TQA.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from builder.question_sets.question_flags import is_meta_choice, names_letters, plain, unordered_identity
from edu_rag.gold import Gold
from edu_rag.records import Question

Rule = Callable[[Question, Gold | None], bool]
MIN_WORDS = 3
"""A question of fewer words is a poor query: "rna", "a diode"."""
_CONTRACTIONS = re.compile(
    r"\b(?:(?:did|does|could|would|should|is|was|are|were|do|has|have|had|must|need)nt|wont|cant|theyre|youre|whats|lets)\b",
    re.IGNORECASE,
)
_POSSESSIVES = re.compile(
    r"\b(?:(?:Earth|Hubble|Newton|Mendel|Darwin|Ohm|Kepler|Pascal|Boyle|Charles|Archimedes|Bernoulli)s"
    r"|(?:[Ss]un|[Mm]oon|body|person|cell|mineral|planet)s"
    r"(?= (?:own|surface|core|mass|volume|gravity|orbit|position|energy|powder|membrane|nucleus)\b))\b"
)
_EXPONENT = re.compile(r"\b(?:[kcdmµ]?m|in|ft|s)[23]\b|\d ?x ?10\d\d?\b", re.IGNORECASE)
_DEGREES = re.compile(r"\d ?[cf]\b(?!\.? ?(?:of|and) )", re.IGNORECASE)
_BROKEN = re.compile("[\ufffd\x00-\x08\x0b-\x1f\x7f-\x9f]|Ã.|â€|Â[^ a-zA-Z]|&(?:[a-z]{2,8}|#\\d{1,6});")
_LABEL = re.compile(r"^\(?[a-h][.)] ?\S", re.IGNORECASE)


def _texts(question: Question) -> list[str]:
    return [question.text, *question.choices.values()]


def _any(pattern: re.Pattern[str]) -> Rule:
    return lambda question, _: any(pattern.search(text) for text in _texts(question))


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether a text holds a choice's words, whole, apart from case, final punctuation and a plural s."""
    words = plain(phrase)
    return len(words) > 3 and re.search(rf"\b{re.escape(words)}s?\b", plain(text)) is not None


def _gold_text(question: Question, gold: Gold | None) -> str:
    return question.choices.get(gold.answer or "", "") if gold is not None else ""


def _holds_gold(question: Question, gold: Gold | None) -> bool:
    return question.kind != "true_false" and holds_phrase(question.text, _gold_text(question, gold))


def _gold_twice(question: Question, gold: Gold | None) -> bool:
    text = plain(_gold_text(question, gold))
    return bool(text) and sum(plain(other) == text for other in question.choices.values()) > 1


def _gold_is_meta(question: Question, gold: Gold | None) -> bool:
    return is_meta_choice(_gold_text(question, gold))


def _no_capitals(question: Question, _: Gold | None) -> bool:
    # The terms of a matching list are written small anyway.
    text = "".join(_texts(question))
    return question.kind != "matching" and len(question.text) > 20 and text == text.lower()


def _odd_truth(question: Question, _: Gold | None) -> bool:
    return question.kind == "true_false" and sorted(map(plain, question.choices.values())) != ["false", "true"]


RULES: Mapping[str, tuple[Rule, str]] = {
    "gold_in_question": (_holds_gold, "the question's text holds its gold answer"),
    "gold_twice": (_gold_twice, "another choice says the same as the gold"),
    "gold_is_meta": (_gold_is_meta, "the gold speaks of other choices: no page can say it"),
    "order_bound": (
        lambda question, _: any(map(names_letters, question.choices.values())),
        "a choice names letters, so the choices' order matters",
    ),
    "odd_true_false": (_odd_truth, "a true/false question whose choices are not true and false"),
    "blank_choice": (
        lambda question, _: any(not plain(text) for text in question.choices.values()),
        "a choice says nothing",
    ),
    "label_in_choice": (
        lambda question, _: any(map(_LABEL.match, question.choices.values())),
        "a choice begins with a label",
    ),
    "bare_question": (
        lambda question, _: len(question.text.split()) < MIN_WORDS,
        f"under {MIN_WORDS} words: a poor search query",
    ),
    "no_capitals": (_no_capitals, "written in small letters throughout: names and symbols lost their case"),
    "lost_apostrophe": (
        lambda question, _: any(_CONTRACTIONS.search(t) or _POSSESSIVES.search(t) for t in _texts(question)),
        'an apostrophe is gone: "didnt", "Earths surface"',
    ),
    "lost_exponent": (_any(_EXPONENT), 'an exponent is an ordinary digit: "cm3"'),
    "lost_degree_sign": (_any(_DEGREES), 'a temperature without its sign: "100 C"'),
    "broken_text": (_any(_BROKEN), "characters that a wrong decoding leaves"),
}
"""Faults by name: the rule, and its meaning."""


def faults_of(question: Question, gold: Gold | None) -> list[str]:
    """The names of the rules that a question breaks, in their order."""
    return [name for name, (rule, _) in RULES.items() if rule(question, gold)]


def contradictions(questions: Iterable[Question], gold: Mapping[str, Gold]) -> list[tuple[str, str]]:
    """Pairs of questions with the same text and choices whose golds say different things."""
    seen: dict[tuple[str, ...], tuple[str, str]] = {}
    found = []
    for question in questions:
        says = plain(_gold_text(question, gold.get(question.question_id)))
        other_id, other_says = seen.setdefault(unordered_identity(question), (question.question_id, says))
        if says != other_says:
            found.append((other_id, question.question_id))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTest:
    """Is the key in step with the choices? A matching text that holds one of its terms is hardly ever about that term.

    `n` such texts, each holding `chance` of its choices on average, hold their gold `found` times. `p` is the chance
    that a key drawn at random does so no more often: small for a sound key.
    """

    n: int
    found: int
    expected: float
    p: float

    @property
    def is_doubtful(self) -> bool:
        """Whether the gold is in the question's own text about as often as a random letter would be."""
        return self.n >= 20 and self.p > 0.01


def key_test(questions: Sequence[Question], gold: Mapping[str, Gold]) -> KeyTest:
    """The test of a set's key, on its matching questions whose text holds some, not all, of their choices."""
    chances, found = [], 0
    for question in questions:
        if question.kind != "matching" or question.question_id not in gold:
            continue
        held = [label for label, text in question.choices.items() if holds_phrase(question.text, text)]
        if held and len(held) < len(question.choices):
            chances.append(len(held) / len(question.choices))
            found += gold[question.question_id].answer in held
    mean = sum(chances) / len(chances) if chances else 0.0
    n = len(chances)
    p = sum(comb(n, k) * mean**k * (1 - mean) ** (n - k) for k in range(found + 1))
    return KeyTest(n=n, found=found, expected=round(mean * n, 2), p=min(1.0, p))
