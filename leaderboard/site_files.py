"""The files of a site: each kind of page yields them, and they are written into an empty folder.

Every build writes the whole site. Keeping pages that did not change saved 14 % of the time where one of 100 systems had
a new scorecard, since a new score changes most pages; it was not worth a second description of each page's inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

Files = Iterator[tuple[str, bytes | Path]]
"""Paths inside the site with '/', each with its bytes or a file to copy."""


def write_files(files: Iterable[tuple[str, bytes | Path]], site: Path) -> dict[str, str]:
    """Write files into a site folder, where none of them may exist, and return their SHA-256 by path, sorted."""
    return dict(sorted((name, _write(site / name, content)) for name, content in files))


def _write(target: Path, content: bytes | Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Contents only: the mode and times of a source are no part of the site.
    data = content.read_bytes() if isinstance(content, Path) else content
    with target.open("xb") as file:  # two kinds of pages never write one file
        file.write(data)
    return hashlib.sha256(data).hexdigest()
