"""Words that take a choice back: abstentions, negations, hedges, retractions, and the name of another choice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from harness.folding import fold_punctuation

NEGATION = re.compile(
    r"\b(?:not|never|neither|nor|wrong|incorrect|false|except|isn't|aren't|wasn't|can't be|cannot be)\b"
)
HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|may be|could be|guess|guessing|likely|not sure|unsure|either|or)\b"
)  # fmt: skip
_WRONG = r"(?:wrong|incorrect|false|mistaken|a mistake|untrue)"
_RIGHT = r"(?:right|correct|true|so|the (?:right|correct|answer))"
_RETRACTION = re.compile(
    rf"\b(?:(?:that|this|it)s?|im|(?:which|answer|choice|option|that|this|it|i) (?:is|was|am|would be|must be))"
    rf" (?:\w+ )?(?:{_WRONG}|not {_RIGHT})\b"
    rf"|\b(?:isnt|wasnt) {_RIGHT}\b|\b(?:not|isnt|wasnt) it$|^(?:it|that)(?:s| is)? (?:not|isnt)$"
    r"|^(?:not?|nope|no (?:wait|sorry|its|it is|that).*)$|^(?:wait|actually|scratch|oops|correction)\b"
    r"|\bi take (?:it|that) back\b"
)
_NOT_TRUE = re.compile(r"\b(?:not|isnt|wasnt|never) (?:\w+ )?(?:true|correct|right)\b")
_AGAINST = {
    "true": re.compile(r"\b(?:false|wrong|incorrect|untrue)\b|^not\b|^no$"),
    "false": re.compile(r"\b(?:true|correct)\b|^not\b|^yes$|\b(?:thats|that is|this is|it is|its) right\b"),
}
_BRACKETED = r"[(\[{](?P<bracketed>[a-z])[)\]}]|(?<![\w'])(?P<closed>[a-z])\)"
_MARKED = r"(?<![*_])[*_]{1,3}(?P<starred>[a-z])[*_]{1,3}|\"(?P<quoted>[a-z])\"|(?<!\w)'(?P<ticked>[a-z])'"
_POINTED = (
    r"(?:\b(?:answer|choice|option|letter|label|is|be|and|or|but|because|also|actually|not|than|to"
    r"|choose|pick|select|with)|'s|[^\w\s]|^)"
    r" ?[:=]? ?(?P<pointed>[a-z])"
    r"(?=[.,;:!?<]|$| (?:is|would be) (?:the )?(?:correct|right|best|answer)\b)"
)
_ANSWERED = re.compile(
    r"\b(?:answer|choice|option)[*_\"'>]{0,4}(?: (?:is|would be|must be))?[:=]? ?"
    r"[(\[*_\"']{0,4}(?P<pointed>[a-z])(?=[)\]*_\"'.,;:!?<]|$)"
)
_FEW_WORDS = 10
_OTHER = re.compile(f"{_BRACKETED}|{_MARKED}|{_POINTED}")


@cache
def _abstentions() -> tuple[frozenset[str], re.Pattern[str]]:
    """Whole answers that abstain, and a pattern for phrases that abstain wherever they stand."""
    text = files("harness").joinpath("data/abstentions-v1.txt").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    whole = frozenset(fold_punctuation(line[1:]) for line in lines if line.startswith("="))
    phrases = sorted({re.escape(fold_punctuation(line)) for line in lines if not line.startswith("=")})
    return whole, re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)")


def wholly_abstains(text: str) -> bool:
    """Whether the text is nothing but a word such as `unknown` or `none`."""
    return fold_punctuation(text) in _abstentions()[0]


def abstains(text: str) -> bool:
    """Whether a text says "I don't know" in the words of abstentions-v1.txt; it says nothing about choices."""
    return wholly_abstains(text) or _abstentions()[1].search(fold_punctuation(text)) is not None


def against_truth(truth: str, text: str) -> bool:
    """Whether the text says the opposite of `true` or `false`.

    `That is wrong.` does of true; `It is not true.` does of true, not of false.
    """
    folded = _NOT_TRUE.sub("wrong", fold_punctuation(text))
    return _AGAINST[truth].search(folded) is not None


def _own_as_it(folded: str, own: str) -> str:
    if own and folded.startswith(f"{own} "):
        folded = f"it{folded[len(own) :]}"
    return f"{folded[: -len(own)]}it" if own and folded.endswith(f" {own}") else folded


def retracts(line: str, label: str, text: str) -> bool:
    """Whether a line takes back the choice `label`, whose text is `text`.

    `That is wrong.`, `I was mistaken`, `b is incorrect`, `It is not mitosis.`, `Wait, no` do; a line that says of
    something else that it is wrong (`Meiosis is not right`, `It is not meiosis`) does not.
    """
    own = fold_punctuation(text)
    if own in _AGAINST:
        return against_truth(own, line)
    folded = _own_as_it(_own_as_it(fold_punctuation(line), label), own)
    return _RETRACTION.search(folded) is not None


def answers_another(written: str, label: str, choices: Mapping[str, str]) -> bool:
    """Whether a line says anywhere that the answer is another label: `So I now say that the answer is c`.

    A line of few words need only name it: `, c`.
    """
    if NEGATION.search(written):
        return False
    said = {match["pointed"] for match in _ANSWERED.finditer(written)} & set(choices) - {label}
    return bool(said) or (len(written.split()) <= _FEW_WORDS and other_label(written, label, choices) is not None)


def other_label(written: str, label: str, choices: Mapping[str, str]) -> str | None:
    """A label other than `label` that an explanation names: `(c)`, `**c**`, `… the answer is c.`; not `vitamin c`.

    A bare letter in running prose is not told from vitamin c, so `a) because cells divide b` stays a.
    """
    for match in _OTHER.finditer(written):
        found = match[match.lastgroup or 0]
        if found in choices and found != label:
            return found
    return None
