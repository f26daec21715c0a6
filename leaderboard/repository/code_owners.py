"""CODEOWNERS: who must approve a change, and which paths of a board need owners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from edu_rag.errors import ConfigError, EduRagError

FILE_NAME = "CODEOWNERS"
PLACES = (f".github/{FILE_NAME}", FILE_NAME, f"docs/{FILE_NAME}")
"""Where the code host looks, in this order: the first file counts."""
GUARDED = ("/.github/", "/.ci/", "/leaderboard/", "/harness/", f"/{FILE_NAME}")
"""The paths that judge submissions: a stranger's change of them could undo every other check."""
_OWNER = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9._-]{1,100})?\Z|[^@\s]+@[^@\s]+\.[^@\s]+\Z")
_PLACEHOLDERS = ("@your-org", "@my-org", "@example")
_MAX_BYTES = 3_000_000
"""The code host reads no larger file."""


def is_owner(text: str) -> bool:
    """Whether a text can be an owner: `@login`, `@organisation/team`, or a mail address."""
    return _OWNER.match(text) is not None


def owners_text(owners: Sequence[str]) -> str:
    """The file for a board all of whose paths have these owners."""
    width = max(map(len, GUARDED)) + 2
    lines = [f"{path.ljust(width)}{' '.join(owners)}" for path in ("*", *GUARDED)]
    head = "# Written by `edu-rag board init`. The last line that matches a path counts."
    return "\n".join([head, *lines, ""])


def _rules(path: Path) -> list[tuple[str, list[str]]]:
    """The patterns of a file with their owners."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        lines = stream.read(_MAX_BYTES).splitlines()
    words = [line.partition("#")[0].split() for line in lines]
    return [(one[0], one[1:]) for one in words if one]


def _covers(pattern: str, guarded: str) -> bool:
    """Whether a pattern matches all of a guarded path. Patterns for a part of it are left out: they change no other."""
    plain = pattern.strip("/").removesuffix("/**").removesuffix("/*")
    return plain in ("*", "**", "") or plain == guarded.strip("/")


def owner_faults(root: Path) -> Iterator[EduRagError]:
    """The faults of the code owners of a repository."""
    found = next((root / place for place in PLACES if (root / place).is_file()), None)
    if found is None:
        what = "no such file: a change of the harness needs no approval of yours"
        yield ConfigError(root / FILE_NAME, what, "`edu-rag board init --owner @ORG/TEAM` writes it")
        return
    rules = _rules(found)
    for guarded in GUARDED:
        owners = next((owners for pattern, owners in reversed(rules) if _covers(pattern, guarded)), None)
        if not owners:
            yield ConfigError(found, f"{guarded} has no owner", f"add a line: {guarded} @ORG/TEAM")
    for owner in dict.fromkeys(owner for _, owners in rules for owner in owners):
        if not is_owner(owner):
            yield ConfigError(found, f"{owner[:80]!r} is not an owner", "write @LOGIN, @ORG/TEAM or a mail address")
        elif owner.startswith(_PLACEHOLDERS):
            yield ConfigError(found, f"{owner} is a placeholder", "write the owners of this board")
