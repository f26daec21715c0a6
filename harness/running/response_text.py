"""Prepare a system's response for its predictions: ids of this run are removed, so that the next run has the same
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from pathlib import Path
from typing import Any

MAX_CHARS = 300
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_SHORTEST_MASKED = 4
ID = "(id)"
"""Written in the place of a random id."""
_WORD = re.compile(r"[^\W_]+")


def without_ids(said: Any, asked: Set[str], current: str) -> Any:
    """A value from JSON with ID for each random id in its texts: the `current` one anywhere, the others as words."""
    if isinstance(said, str):
        plain = said.replace(current, ID) if current else said
        return _WORD.sub(lambda word: ID if word[0] in asked else word[0], plain)
    if isinstance(said, list):
        return [without_ids(one, asked, current) for one in said]
    if isinstance(said, dict):
        return {without_ids(name, asked, current): without_ids(one, asked, current) for name, one in said.items()}
    return said


def last_line(said: bytes) -> str:
    """The last line that says something, or nothing."""
    lines = said.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def fit_to_print(line: str, random_id: str = "", masked: Collection[str] = (), home: Path | None = None) -> str:
    """A line without the question's random id, addresses, control characters, keys (`masked`), and our home's name.

    Predictions are published, and a system's error may contain a key that it was given.
    """
    for value in masked:
        if len(value) >= _SHORTEST_MASKED:
            line = line.replace(value, "(withheld)")
    if home is not None and len(home.parts) > 1:
        line = line.replace(str(home), "~")
    if random_id:
        line = line.replace(random_id, ID)
    line = _ADDRESS.sub("0x(address)", line)
    return "".join(char if char.isprintable() else " " for char in line)[:MAX_CHARS].strip()
