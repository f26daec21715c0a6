"""What a system said last on stderr, fit to stand in its predictions: one short line, the same in the next run."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

MAX_CHARS = 300
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_SHORTEST_MASKED = 4


def last_line(said: bytes) -> str:
    """The last line that says something, or nothing."""
    lines = said.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def fit_to_print(line: str, random_id: str = "", masked: Collection[str] = (), home: Path | None = None) -> str:
    """A line without the question's random id, addresses, control characters, keys (`masked`), and our home's name.

    Predictions are published, and a key that was handed to a system may stand in its error.
    """
    for value in masked:
        if len(value) >= _SHORTEST_MASKED:
            line = line.replace(value, "(withheld)")
    if home is not None and len(home.parts) > 1:
        line = line.replace(str(home), "~")
    if random_id:
        line = line.replace(random_id, "(id)")
    line = _ADDRESS.sub("0x(address)", line)
    return "".join(char if char.isprintable() else " " for char in line)[:MAX_CHARS].strip()
