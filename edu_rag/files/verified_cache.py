"""The datasets whose rows were read and found right: one small file each, named by hashes, in the user's cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from edu_rag.files.jsonl import write_file

MAX_ENTRIES = 500


def cache_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """`verified` in $EDU_RAG_CACHE, $XDG_CACHE_HOME/edu-rag or ~/.cache/edu-rag; None if there is no home.

    Never in a dataset's folder: files there may come from a stranger.
    """
    found = os.environ if environment is None else environment
    if own := found.get("EDU_RAG_CACHE"):
        return Path(own) / "verified"
    caches = Path(found.get("XDG_CACHE_HOME") or "")
    if not caches.is_absolute():  # the XDG specification: a relative path counts as not set
        home = found.get("HOME")
        if not home:
            return None
        caches = Path(home) / ".cache"
    return caches / "edu-rag" / "verified"


def holds(key: str) -> bool:
    """Whether this key was kept. A file that is empty or cut off is not an entry."""
    folder = cache_folder()
    if folder is None:
        return False
    try:
        return (folder / key).read_text(encoding="ascii") == f"{key}\n"
    except (OSError, ValueError):
        return False


def keep(key: str) -> None:
    """Keep a key; of too many the oldest go. A cache that cannot be written costs time later and nothing else."""
    folder = cache_folder()
    if folder is None:
        return
    with suppress(OSError):
        write_file(folder / key, f"{key}\n".encode("ascii"))
        entries = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in entries[:-MAX_ENTRIES]:
            old.unlink(missing_ok=True)
