"""Reading an answer as one choice, as an abstention, or as neither: the rule set `answers-v1`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from harness.folding import fold_article, fold_edges, fold_punctuation, fold_writing

RULE = "answers-v1"
MAX_CHARACTERS = 20_000
"""Longer answers are not read: they name no single choice, and reading must stay cheap."""


class Reading(NamedTuple):
    """What an answer says: a `choice` with its label, `abstained`, or `unparseable`; and why, in words."""

    kind: Literal["choice", "abstained", "unparseable"]
    label: str | None
    reason: str


def _unparseable(reason: str) -> Reading:
    return Reading("unparseable", None, reason)


def _choice(label: str, reason: str) -> Reading:
    return Reading("choice", label, reason)


_LEAD = re.compile(
    r"[*_ ]*(?:(?:so|thus|therefore|hence),? )?(?:i (?:think|believe) (?:that )?)?(?:(?:the|my) )?"
    r"(?:(?:final|correct|best|right) )*(?:answer|choice|option|label|letter)(?: (?:choice|option|letter|label))?"
    r"(?: (?:is|would be|must be)\b)?[*_ ]*[:=]?[*_ ]*(?:(?:choice|option|letter|label) )?"
)
_EXPLICIT = re.compile(r"[*_ ]*(?:(?:the|my) )?(?:(?:final|correct|best|right) )*answer(?: is\b|[*_ ]*[:=])")
_LABEL = re.compile(
    r"[\s(\[{<\"'*_]*(?P<label>[a-z])[\s)\]}>\"'*_.:,!]*"
    r"(?:(?:is|would be) (?:the )?(?:correct|right|best)(?: (?:answer|choice|option|one))?[.!]?)?"
)
_LABEL_AND = re.compile(r"[(\[{*_\"']*(?P<label>[a-z])(?:[)\]}*_\"']*[).\]:}=][*_\"']*|[*_)\]]* - |,) *(?P<rest>\S.*)")
_LABEL_SPACE = re.compile(r"[(\[{*_\"']*(?P<label>[a-z])[*_\"']* (?P<rest>\S.*)")
_TEXT_LABEL = re.compile(r"(?P<text>.*\S) ?[(\[](?P<label>[a-z])[)\]][.!]?")
_SEVERAL = re.compile(
    r"(?:both |either |all )?\(?[a-z]\)?(?:(?:,|/|;|&| and | or |, and |, or | )\s*\(?[a-z]\)?)+[.!]?"
)
_NEGATION = re.compile(
    r"\b(?:not|never|neither|nor|wrong|incorrect|false|except|isn't|aren't|wasn't|can't be|cannot be)\b"
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|may be|could be|guess|guessing|likely|not sure|unsure|either|or)\b"
)  # fmt: skip
_BECAUSE = re.compile(r"[\s,;.\-(]*\b(?:because|since|as|explanation|reason|reasoning|this is because)\b")
_TRUTHS = {"true": ("true", "t", "yes", "y"), "false": ("false", "f", "no", "n")}
_TEXT_LEVELS: tuple[Callable[[str], str], ...] = (str.strip, fold_writing, fold_edges)
_LOOSE_LEVELS: tuple[Callable[[str], str], ...] = (fold_punctuation, fold_article)


@cache
def _abstentions() -> tuple[frozenset[str], re.Pattern[str]]:
    """Whole answers that abstain, and a pattern for phrases that abstain wherever they stand."""
    text = files("harness").joinpath("data/abstentions-v1.txt").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    whole = frozenset(fold_punctuation(line[1:]) for line in lines if line.startswith("="))
    phrases = sorted({re.escape(fold_punctuation(line)) for line in lines if not line.startswith("=")})
    return whole, re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)")


def abstains(text: str) -> bool:
    """Whether a text says "I don't know" in the words of abstentions-v1.txt; it says nothing about choices."""
    whole, phrases = _abstentions()
    folded = fold_punctuation(text)
    return folded in whole or phrases.search(folded) is not None


def _alike(labels: list[str]) -> Reading:
    return _unparseable(f"choices {' and '.join(labels)} read alike; only a label tells them apart")


def _by_text(text: str, choices: Mapping[str, str], levels: tuple[Callable[[str], str], ...]) -> Reading | None:
    """The choice whose own text this is, at the strictest level at which there is one."""
    for fold in levels:
        folded = fold(text)
        labels = [label for label, choice in choices.items() if folded and fold(choice) == folded]
        if len(labels) == 1:
            return _choice(labels[0], f"the text of choice {labels[0]}")
        if labels:
            return _alike(labels)
    return None


def _by_truth(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`T`, `yes`, `F`, `no` where the choices are true and false, and nothing else."""
    folded = {fold_punctuation(choice): label for label, choice in choices.items()}
    if set(folded) != set(_TRUTHS) or len(choices) != len(_TRUTHS):
        return None
    said = fold_punctuation(text)
    for truth, words in _TRUTHS.items():
        if said in words:
            return _choice(folded[truth], f"{said!r} says {truth}")
    return None


def _continues(choice: str, text: str) -> bool:
    """Whether the text completes the last, cut-off word of the choice (TQA cuts `Florida.` to `Florid`)."""
    short, long = fold_punctuation(choice), fold_punctuation(text)
    tail = long[len(short) :]
    cut = choice.rstrip().endswith("-")
    return len(short) >= 5 and long.startswith(short) and tail.isalpha() and (cut or len(tail) <= 3)


def _shortens(choice: str, text: str) -> bool:
    """Whether the text is the beginning of the choice: whole words, three or more, at least half of it."""
    short, long = fold_punctuation(text), fold_punctuation(choice)
    return len(short.split()) >= 3 and long.startswith(short + " ") and 2 * len(short) >= len(long)


def _by_part(text: str, choices: Mapping[str, str]) -> Reading | None:
    found = [label for label, choice in choices.items() if _continues(choice, text) or _shortens(choice, text)]
    if len(found) > 1:
        return _unparseable(f"a part that fits choices {' and '.join(found)}")
    return _choice(found[0], f"choice {found[0]}, completed or shortened") if found else None


def _names(text: str, choices: Mapping[str, str]) -> list[str]:
    """The labels of the choices whose texts stand as whole words in the text; used to refuse, never to credit."""
    folded = f" {fold_punctuation(text)} "
    return [label for label, choice in choices.items() if f" {fold_punctuation(choice)} " in folded]


def _after_label(label: str, rest: str, choices: Mapping[str, str]) -> Reading:
    """A label with something behind it: its own choice's text, or an explanation that takes nothing back."""
    own = choices[label]
    same = _by_text(rest, {label: own}, _TEXT_LEVELS + _LOOSE_LEVELS) or _by_part(rest, {label: own})
    if same is not None:
        return _choice(label, f"label {label} with its text")
    folded = fold_punctuation(rest)
    explained = folded.removeprefix(fold_punctuation(own)) if folded.startswith(fold_punctuation(own) + " ") else folded
    if abstains(rest) or _HEDGE.search(explained):
        return _unparseable(f"label {label}, then hedged")
    if _NEGATION.search(explained):
        return _unparseable(f"label {label}, then a negation")
    others = [other for other in _names(explained, choices) if other != label]
    if others:
        return _unparseable(f"label {label} with the text of choice {others[0]}")
    if explained != folded or _BECAUSE.match(folded):
        return _choice(label, f"label {label} with an explanation")
    return _unparseable(f"label {label} with a text that is not its choice's")


def _by_label(text: str, choices: Mapping[str, str]) -> Reading | None:
    """A bare label in the usual dresses, such as `(B).` or `**b**`."""
    match = _LABEL.fullmatch(text)
    return _choice(match["label"], f"label {match['label']}") if match and match["label"] in choices else None


def _by_label_and_text(text: str, choices: Mapping[str, str]) -> Reading | None:
    match = _LABEL_AND.fullmatch(text)
    if match and match["label"] in choices and not _SEVERAL.fullmatch(text):
        return _after_label(match["label"], match["rest"], choices)
    return None


def _by_label_space_text(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`b mitosis`: without a mark between them, label and text must be the same choice."""
    match = _LABEL_SPACE.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    named = _by_text(match["rest"], choices, _TEXT_LEVELS + _LOOSE_LEVELS)
    if named is None or named.label is None:
        return None
    if named.label != match["label"]:
        return _unparseable(f"label {match['label']} with the text of choice {named.label}")
    return _choice(named.label, f"label {named.label} with its text")


def _by_text_and_label(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`mitosis (b)`: the label in brackets must be that of the text."""
    match = _TEXT_LABEL.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    own = _by_text(match["text"], {match["label"]: choices[match["label"]]}, _TEXT_LEVELS + _LOOSE_LEVELS)
    return own and _choice(match["label"], f"label {match['label']} with its text")


def _claimed(line: str, choices: Mapping[str, str]) -> Reading | None:
    """What one line claims, or None where it is prose that is neither a label nor a choice's text."""
    written = fold_writing(line)
    lead = _LEAD.match(written)
    stripped = written[lead.end() :].strip() if lead else ""
    for text in [written, stripped] if stripped else [written]:
        # The raw line first: case may be all that tells `Tt` from `tt`.
        tail = line.strip()[-len(text) :]
        raw = tail if fold_writing(tail) == text else text
        reading = (
            _by_label(text, choices)
            or _by_text(raw, choices, _TEXT_LEVELS)
            or _by_truth(text, choices)
            or _by_label_and_text(text, choices)
            or _by_text(raw, choices, _LOOSE_LEVELS)
            or _by_label_space_text(text, choices)
            or _by_text_and_label(text, choices)
            or _by_part(text, choices)
        )
        if reading is not None:
            return reading
    return None


def _refusal(text: str, choices: Mapping[str, str]) -> Reading:
    """Why a text that names no single choice counts for nothing."""
    written, named = fold_writing(text), _names(text, choices)
    if fold_punctuation(text) in _abstentions()[0]:
        return Reading("abstained", None, "says that it does not know")
    lead = _LEAD.match(written)
    body = written[lead.end() :] if lead else written
    if _SEVERAL.fullmatch(body) or len(named) > 1:
        return _unparseable("names more than one choice")
    if abstains(text):
        return _unparseable(f"says it does not know and names choice {named[0]}") if named else (
            Reading("abstained", None, "says that it does not know")
        )  # fmt: skip
    if _NEGATION.search(written):
        return _unparseable("a negation, which names no choice")
    if _HEDGE.search(written):
        return _unparseable("hedged")
    if named:
        return _unparseable(f"holds the text of choice {named[0]} within other words; a substring is not enough")
    return _unparseable("names no choice")


def _agree(readings: list[Reading]) -> Reading | None:
    """The first of several claims, if none of them names another choice or takes it back."""
    labels = {reading.label for reading in readings}
    return readings[0] if len(labels) == 1 else _unparseable("names more than one choice") if labels else None


def read_answer(answer: str, choices: Mapping[str, str]) -> Reading:
    """Read one answer against the choices (label -> text) by `answers-v1`.

    A label wins over an equal text. Of several lines, those that say `answer: …` count if there are any; otherwise
    the first line must name the choice, and no other line may name another, hedge or abstain.
    """
    if len(answer) == 1 and answer in choices:
        return _choice(answer, f"label {answer}")
    # Folding makes one character of some scripts into eighteen.
    if len(answer) > MAX_CHARACTERS or len(fold_writing(answer)) > MAX_CHARACTERS:
        return _unparseable(f"over {MAX_CHARACTERS:,} characters")
    lines = [line for line in answer.splitlines() if fold_writing(line)]
    whole = _by_text(answer, choices, _TEXT_LEVELS)
    if whole is not None and (len(lines) != 1 or not fold_punctuation(answer)):
        return whole
    if not fold_punctuation(answer):
        return Reading("abstained", None, "says nothing")
    if len(lines) == 1:
        return _claimed(lines[0], choices) or _refusal(answer, choices)
    claims = [_claimed(line, choices) for line in lines]
    explicit = [
        claim for line, claim in zip(lines, claims, strict=True) if claim and _EXPLICIT.match(fold_writing(line))
    ]
    chosen = _agree(explicit)
    if chosen is not None:
        return chosen
    rest = "\n".join(lines[1:])
    if claims[0] is None or claims[0].label is None:
        return claims[0] or _refusal(answer, choices)
    if abstains(rest) or any(_HEDGE.match(fold_writing(line)) for line in lines[1:]):
        return _unparseable(f"{claims[0].reason}, then hedged")
    return _agree([claim for claim in claims if claim is not None]) or claims[0]
