"""CODEOWNERS: who must approve a change, and which paths of a board need owners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from edu_rag.errors import ConfigError, EduRagError

FILE_NAME = "CODEOWNERS"
PLACES = (f".github/{FILE_NAME}", FILE_NAME, f"docs/{FILE_NAME}")
"""Where the code host looks, in this order: the first file counts."""
_BUILD_FILES = ("/pyproject.toml", "/constraints.txt", "/Makefile")
GUARDED = ("/.github/", "/.ci/", "/leaderboard/", "/harness/", "/edu_rag/", *_BUILD_FILES, f"/{FILE_NAME}")
"""The paths that judge submissions: a stranger's change of them could undo every other check. Folders end in `/`."""
_OWNER = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9._-]{1,100})?\Z|[^@\s]+@[^@\s]+\.[^@\s]+\Z")
_PLACEHOLDERS = frozenset({"@org", "@your-org", "@my-org", "@example", "@example-org"})
_ALL = frozenset({"*", "**", "/**"})
_MAX_BYTES = 3_000_000
"""The code host reads no larger file."""


def is_owner(text: str) -> bool:
    """Whether a text can be an owner: `@login`, `@organisation/team`, or a mail address."""
    return _OWNER.match(text) is not None


def fault_of_owner(where: Path | str, owner: str) -> EduRagError | None:
    """The fault of one owner: no owner can be written like it, or it is a placeholder of an example."""
    if not is_owner(owner):
        return ConfigError(where, f"{owner[:80]!r} is not an owner", "write @LOGIN, @ORG/TEAM or a mail address")
    if owner.partition("/")[0].casefold() in _PLACEHOLDERS:
        return ConfigError(where, f"{owner} is a placeholder", "write the owners of this board")
    return None


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
    """Whether a pattern surely matches all of a guarded path. `FOLDER/*` leaves out files of subfolders."""
    if pattern in _ALL:
        return True
    if guarded.endswith("/"):
        return pattern.removesuffix("/**").strip("/") == guarded.strip("/")
    return pattern.removeprefix("/") == guarded[1:] or (pattern == "/*" and guarded.count("/") == 1)


def _could_match(pattern: str, guarded: str) -> bool:
    """Whether a pattern could match a guarded path or a file below it. A pattern without a folder matches anywhere."""
    parts, names = pattern.strip("/").split("/"), guarded.strip("/").split("/")
    if len(parts) == 1 and not pattern.startswith("/"):
        return guarded.endswith("/") or any(fnmatchcase(name, parts[0]) for name in names)
    for part, name in zip(parts, names, strict=False):
        if "**" in part:
            return True
        if not fnmatchcase(name, part):
            return False
    return True


def _without_owner(rules: Sequence[tuple[str, list[str]]], guarded: str) -> list[str]:
    """The patterns that leave a guarded path, or a part of it, without an owner; an empty one if none matches all."""
    last = next((at for at, (one, _) in reversed(list(enumerate(rules))) if _covers(one, guarded)), None)
    if last is None or not rules[last][1]:
        return [""]
    return [pattern for pattern, owners in rules[last:] if not owners and _could_match(pattern, guarded)]


def _path_faults(found: Path, rules: Sequence[tuple[str, list[str]]], paths: Sequence[str]) -> Iterator[EduRagError]:
    """The guarded paths without an owner, then each later pattern that takes the owners of files in such paths away."""
    taken: dict[str, list[str]] = {}
    for guarded in paths:
        for pattern in _without_owner(rules, guarded):
            if pattern:
                taken.setdefault(pattern, []).append(guarded)
            else:
                yield ConfigError(found, f"{guarded} has no owner", f"add a line: {guarded} @ORG/TEAM")
    for pattern, guarded_paths in taken.items():
        what = f"{pattern[:80]} has no owner and could match in {', '.join(guarded_paths)}"
        yield ConfigError(
            found, what, "add owners to its line, or name only files outside these paths, with a `/` in front"
        )


def owner_faults(root: Path) -> Iterator[EduRagError]:
    """The faults of the code owners of a repository."""
    place = next((place for place in PLACES if (root / place).is_file()), None)
    if place is None:
        what = "no such file: a change of the harness needs no approval of yours"
        yield ConfigError(root / FILE_NAME, what, "`edu-rag board init --owner @ORG/TEAM` writes it")
        return
    found = root / place
    rules = _rules(found)
    own = (f"/{place}",) if place == PLACES[-1] else ()  # the other places are guarded anyway
    yield from _path_faults(found, rules, (*GUARDED, *own))
    for owner in dict.fromkeys(owner for _, owners in rules for owner in owners):
        fault = fault_of_owner(found, owner)
        if fault is not None:
            yield fault
