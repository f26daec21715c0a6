"""Read the sections of a prompt's file, and make outside text harmless before it goes into a prompt."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^=== (system|user)\n", re.MULTILINE)
_CONTROL = re.compile(r"<(?=[|/]?[\w|]{1,40}\|?>)|\[(?=/?INST\])|<(?=</?SYS>>)")
"""The first character of what chat templates use to mark turns: <|im_end|>, </s>, <end_of_turn>, [INST], <<SYS>>."""


def prompt_sections(raw: bytes) -> dict[str, str]:
    """The sections `system` and `user` of a prompt's file, without the empty lines around them."""
    _, *parts = _SECTION.split(raw.decode("utf-8"))
    return dict(zip(parts[::2], (part.strip("\n") for part in parts[1::2]), strict=True))


def harmless(text: str) -> str:
    """Text as one line that can neither start a section nor pose as a turn of the chat.

    White space is folded, other control characters are dropped, and turn marks like `<|im_end|>` get a space inside.
    """
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return _CONTROL.sub(lambda found: found[0] + " ", line)
