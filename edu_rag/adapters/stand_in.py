"""A stand-in for a language model, without weights: templates of `edu-rag new` run with it until yours is in place."""

from __future__ import annotations

import re

_CHOICE = re.compile(r"^([a-z])[.)] +(.+)$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]{3,}")
UNSURE = "I don't know"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def stand_in(prompt: str) -> str:
    """The label of the choice whose words occur most in the prompt before the choices; ties are "I don't know".

    Choices are lines such as `a. some text`. The same prompt has the same reply.
    """
    choices = list(_CHOICE.finditer(prompt))
    if not choices:
        return UNSURE
    read = _words(prompt[: choices[0].start()])
    shares = {found[1]: len(_words(found[2]) & read) / (len(_words(found[2])) or 1) for found in choices}
    best = max(shares.values())
    labels = [label for label, share in shares.items() if share == best]
    return labels[0] if best and len(labels) == 1 else UNSURE
