"""On which line of submission.toml a setting is, so that a fault names it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from edu_rag.errors import ConfigError, EduRagError

_SECTION = re.compile(r"\s*\[\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*\"?([A-Za-z0-9_.-]+)\"?\s*=")
_MAX_BYTES = 1_000_000
_WITHDRAWN = re.compile(
    rb"""^[ \t]*withdrawn[ \t]*=[ \t]*(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|'[^'\r\n]*')[ \t]*(?:\r?\n|\Z)""", re.MULTILINE
)


def lines_of(path: Path) -> Mapping[str, int]:
    """The line of each setting of a TOML file by its dotted name; empty if the file cannot be read.

    Inline tables and texts of several lines are not searched: their parts have no line.
    """
    try:
        with path.open("rb") as stream:
            return _lines_in(stream.read(_MAX_BYTES))
    except OSError:
        return {}


@lru_cache(maxsize=4)
def _lines_in(raw: bytes) -> Mapping[str, int]:
    # Remembered: fifty faults of one file would go through its lines fifty times.
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
        if (found := _SECTION.match(line)) is not None:
            section = f"{found[1]}."
            lines.setdefault(found[1], number)
        elif (found := _KEY.match(line)) is not None:
            lines.setdefault(section + found[1], number)
    return lines


def setting_fault(path: Path, setting: str, what: str, remedy: str) -> ConfigError:
    """A fault of one setting, as `FILE:LINE: setting`, or `FILE: setting` where no line has it."""
    line = lines_of(path).get(setting)
    return ConfigError(f"{path}: {setting}" if line is None else f"{path}:{line}: {setting}", what, remedy)


def with_line(path: Path, fault: EduRagError) -> EduRagError:
    """A fault of `FILE: setting` with the line of the setting; any other fault unchanged."""
    start, _, setting = fault.where.partition(f"{path}: ")
    return fault if start or not setting else setting_fault(path, setting, fault.what, fault.remedy)


def without_withdrawal(settings: bytes) -> bytes:
    """The bytes of a submission.toml without its line `withdrawn = "…"`, the one that may be added to it later.

    It must hold nothing else: no comment, and no text of several lines.
    """
    return _WITHDRAWN.sub(b"", settings, count=1)
