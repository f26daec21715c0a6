"""How deep the brackets of a JSON text are nested: asked before a parser is let loose on it."""

from __future__ import annotations

from collections.abc import Iterator

MAX_DEPTH = 32
"""Far above any record of ours, far below what exhausts the parser's stack."""


def _outside_strings(text: str) -> Iterator[str]:
    in_string = escaped = False
    for char in text:
        if escaped:
            escaped = False
        elif char == '"':
            in_string = not in_string
        elif in_string:
            escaped = char == "\\"
        else:
            yield char


def too_deep(text: str) -> bool:
    """Whether brackets outside of strings are nested deeper than MAX_DEPTH."""
    # Only a text with many brackets can be deep; the count is cheap, the exact walk is not.
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for char in _outside_strings(text):
        if char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif char in "]}":
            depth -= 1
    return False
