"""The take-down list of a crawl store: pages, hosts and contents that must not be in any dataset.

The list outlives its crawl: `builder.store.lock.forget_store` keeps it when a store is deleted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from builder.urls import canonical_url
from edu_rag.errors import DataError, RecordError
from edu_rag.files.jsonl import read_records, write_records

TAKEDOWNS_FILE = "takedowns.jsonl"
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeDown:
    """One entry. Invariants: a url is canonical; a host is lower case; a sha256 is 64 hexadecimal digits; `at` is UTC.

    A host stands for its subdomains too; a sha256 is that of a page's HTML, wherever it is served.
    """

    kind: Literal["url", "host", "sha256"]
    value: str
    reason: str
    at: datetime

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise RecordError("reason", "is blank")
        if self.at.utcoffset() != timedelta(0):
            raise RecordError("at", "is not a UTC time")
        fault = _fault(self.kind, self.value)
        if fault:
            raise RecordError("value", f"{self.value[:80]!r} {fault}")


def _fault(kind: str, value: str) -> str:
    if kind == "sha256":
        return "" if _SHA256.match(value) else "is not 64 hexadecimal digits in lower case"
    if kind == "host":
        return "" if len(value) <= 253 and _HOST.match(value) else "is not a host name in lower case"
    try:
        return "" if canonical_url(value) == value else f"is not canonical: write {canonical_url(value)[:200]!r}"
    except ValueError as error:
        return str(error)


def host_is_listed(host: str, listed: Collection[str]) -> bool:
    """Whether a host, or a parent domain of it, is in a list of host names."""
    labels = host.lower().rstrip(".").split(".")
    return any(".".join(labels[start:]) in listed for start in range(len(labels)))


class TakeDowns:
    """A take-down list, ready to be asked."""

    def __init__(self, entries: Iterable[TakeDown] = ()) -> None:
        self.entries = tuple(entries)
        self._values: dict[str, frozenset[str]] = {
            kind: frozenset(entry.value for entry in self.entries if entry.kind == kind)
            for kind in ("url", "host", "sha256")
        }

    def matches(self, url: str, host: str, html_sha256: str | None) -> bool:
        """Whether a page at this canonical URL, on this host, with this content is taken down."""
        return (
            url in self._values["url"]
            or html_sha256 in self._values["sha256"]
            or host_is_listed(host, self._values["host"])
        )


def read_takedowns(folder: Path) -> TakeDowns:
    """The take-down list in a store's folder; empty if there is no file. Raises DataError naming file and line."""
    path = folder / TAKEDOWNS_FILE
    return TakeDowns([entry for _, entry in read_records(path, TakeDown)] if path.exists() else ())


def add_takedown(folder: Path, entry: TakeDown) -> bool:
    """Add an entry to a store's list, atomically; False where the same page, host or content is in it already."""
    return add_takedowns(folder, (entry,)) == 1


def add_takedowns(folder: Path, entries: Iterable[TakeDown]) -> int:
    """Add entries to a store's list, atomically, without those that it has already; return how many were added."""
    before = read_takedowns(folder).entries
    known = {(old.kind, old.value) for old in before}
    new = list({(one.kind, one.value): one for one in entries if (one.kind, one.value) not in known}.values())
    if not new:
        return 0
    try:
        write_records(folder / TAKEDOWNS_FILE, (*before, *new))
    except OSError as error:
        raise DataError(folder / TAKEDOWNS_FILE, f"cannot be written: {error.strerror}", "make room") from None
    return len(new)
