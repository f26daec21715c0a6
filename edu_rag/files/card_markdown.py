"""Parts of the cards that the Hub shows: Markdown tables, texts from outside, and values of the YAML header."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping, Sequence

from edu_rag.files.manifest import FileEntry

# Every punctuation mark that Markdown, HTML or a linkifier may act on; CommonMark lets each be escaped.
_MARKS = [mark for mark in string.punctuation if mark not in ",;-/%=."]
_ESCAPES = str.maketrans({mark: f"\\{mark}" for mark in _MARKS} | {"<": "&lt;"})
_WWW = re.compile(r"(www)\.", re.IGNORECASE)  # made a link even without a scheme
MAX_OUTSIDE = 300


def outside(value: object) -> str:
    """A string that came from outside, on one line, so that no part of it is markup."""
    text = " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())
    text = text[:MAX_OUTSIDE] + ("…" if len(text) > MAX_OUTSIDE else "")
    return _WWW.sub(r"\1\\.", text.translate(_ESCAPES))


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the cells must be safe already."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def config_digest(files: Mapping[str, FileEntry], config: str) -> str:
    """A hash of the bytes of a config's files, 16 hexadecimal digits."""
    named = [f"{name} {entry.sha256}\n" for name, entry in sorted(files.items()) if name.startswith(f"{config}/")]
    return hashlib.sha256("".join(named).encode()).hexdigest()[:16]


def size_category(n_rows: int) -> str:
    """The Hub's name for a number of rows."""
    bounds = (
        (1_000, "n<1K"),
        (10_000, "1K<n<10K"),
        (100_000, "10K<n<100K"),
        (1_000_000, "100K<n<1M"),
        (10_000_000, "1M<n<10M"),
    )
    return next((name for bound, name in bounds if n_rows < bound), "10M<n<100M")
