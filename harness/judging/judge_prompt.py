"""A model judge's prompt, and the reading of its reply: untrusted text is neutralised, the last verdict line wins."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from harness.reading.wrappers import without_thought

VERSION = "judge-v1"
MAX_REPLY_CHARACTERS = 100_000
_CUT = "=====\n"
_MARKS = "<>[]{}|"
_OPENING = re.compile(r"([<\[{|])(?=[^ ])")
_CLOSING = re.compile(r"(?<=[^ ])([>\]}|])")
_VERDICT_MARKS = re.compile(r"verdict[\W_]*[:=]", re.IGNORECASE)
_COLON = re.compile(r"[:=]")
_LINE = re.compile(r"[\s*_#>`\"'-]*verdict[\s*_`\"']*:(?P<value>.*)", re.IGNORECASE | re.ASCII)
_VALUES: dict[str, Literal["correct", "incorrect", "abstained"]] = {
    "correct": "correct",
    "incorrect": "incorrect",
    "not_attempted": "abstained",
    "not attempted": "abstained",
}


class JudgePrompt(NamedTuple):
    """The two turns of one request."""

    system: str
    user: str


class Template(NamedTuple):
    """A prompt's file: its version, the SHA-256 of its bytes, and its two parts."""

    version: str
    sha256: str
    system: str
    user: str


@cache
def template(version: str = VERSION) -> Template:
    """The prompt of a version, from the package's data."""
    data = files("harness").joinpath(f"data/{version}.txt").read_bytes()
    system, _, user = data.decode("utf-8").partition(_CUT)
    return Template(version, hashlib.sha256(data).hexdigest(), system.strip(), user.strip())


def _plain(char: str) -> str:
    """A character without its power over prompts: invisible ones go, look-alikes of marks become those marks."""
    category = unicodedata.category(char)
    if category in ("Cf", "Cs", "Co", "Cn"):
        return ""
    if category == "Cc":
        return " "
    folded = unicodedata.normalize("NFKC", char)
    return folded if any(mark in folded for mark in _MARKS + ":=") else char


def neutral(text: str) -> str:
    """Untrusted text that can close no tag, open no turn and begin no line of ours.

    One line, nothing invisible; `<`, `[`, `{`, `|` are followed and `>`, `]`, `}`, `|` preceded by a space, which
    breaks `</answer_to_grade>`, `<|im_end|>`, `[INST]`, `<<SYS>>` and `{gold}`; every colon behind "verdict" becomes a
    dash.
    """
    line = " ".join("".join(map(_plain, text)).split())
    line = _CLOSING.sub(r" \1", _OPENING.sub(r"\1 ", line))
    return _VERDICT_MARKS.sub(lambda found: _COLON.sub("-", found[0]), line)


def fill(question: str, gold: Sequence[str], answer: str, form: Template) -> JudgePrompt:
    """The request for one answer, without its thoughts. The accepted texts are numbered where there are several."""
    accepted = [neutral(text) for text in gold]
    told = accepted[0] if len(accepted) == 1 else " ".join(f"({i}) {text}" for i, text in enumerate(accepted, 1))
    values = {"{question}": neutral(question), "{gold}": told, "{answer}": neutral(without_thought(answer) or answer)}
    return JudgePrompt(form.system, re.sub(r"\{(?:question|gold|answer)\}", lambda found: values[found[0]], form.user))


def read_verdict(reply: str) -> tuple[Literal["correct", "incorrect", "abstained"] | None, str]:
    """The outcome that the last line with `VERDICT:` says, and why not where it says none of the three.

    Only the exact words count: `NOT_ATTEMPTED` is not CORRECT, and `NOT CORRECT` and `CORRECT or INCORRECT` are not
    verdicts. An earlier line never replaces a last line that cannot be read.
    """
    if len(reply) > MAX_REPLY_CHARACTERS:
        return None, f"a reply of over {MAX_REPLY_CHARACTERS:,} characters"
    matches = [match for line in reply.splitlines() if (match := _LINE.fullmatch(line))]
    if not matches:
        return None, "a reply without a verdict line"
    said = matches[-1]["value"].strip(" \t*_`\"'.")
    outcome = _VALUES.get(said.casefold())
    return outcome, "" if outcome else f"an unknown verdict {said[:40]!a}"
