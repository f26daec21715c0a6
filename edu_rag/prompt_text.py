"""Read the sections of a prompt's file, and make outside text harmless before it goes into a prompt."""

from __future__ import annotations

import re
import unicodedata

_SECTION = re.compile(r"^=== (system|user)\n", re.MULTILINE)
_CONTROL = re.compile(r"<(?=[|/]?[\w|]{1,40}\|?>)|\[(?=/?INST\])|<(?=</?SYS>>)")
"""The first character of what chat templates use to mark turns: <|im_end|>, </s>, <end_of_turn>, [INST], <<SYS>>."""
_TAG_BEGIN = re.compile(r"<(?!\s*[=\d-])[<|/\s]*")
_TAG_MARKS = frozenset("<>/|[]")


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


def _folded(char: str) -> str:
    """A look-alike of a mark of tags as that mark; any other character as it is."""
    plain = unicodedata.normalize("NFKC", char)
    return plain if _TAG_MARKS.intersection(plain) else char


def untagged(text: str) -> str:
    """As `harmless`, and nothing in it can be read as a tag: for prompts that put outside text between tags.

    Look-alikes of `<`, `>`, `/`, `|`, `[` and `]` become those marks, and a space follows every mark that begins a tag:
    `</passage_1>`, `</passage_1 x>` and `< /passage_1>` all become `< / passage_1 …`, but `x <= 3` stays. Prompts of
    published systems use `harmless`, which must not change.
    """
    line = harmless("".join(map(_folded, text)))
    return _TAG_BEGIN.sub(lambda found: " ".join("".join(found[0].split())) + " ", line).rstrip()
