"""`errata.toml`: what was found to be wrong with a dataset, a result or a page, and what was done about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from edu_rag.errors import ConfigError, EduRagError, FaultsError, RecordError, RecordFaultsError, each_fault
from edu_rag.files.toml import read_toml
from edu_rag.look.texts import MAX_LINK, safe_link
from edu_rag.names import Release, require_slug

FILE_NAME = "errata.toml"
Words = Annotated[str, Meta(max_length=2_000)]
Short = Annotated[str, Meta(max_length=200)]

_ID = re.compile(r"[a-z0-9][a-z0-9-]{1,59}\Z")
_INSIDE = re.compile(r"(?![/.])[A-Za-z0-9._/-]{1,200}(#[A-Za-z0-9._-]{1,100})?\Z")
_FIRST_LINE = re.compile(r"[ \t]*\[\[[ \t]*errata[ \t]*\]\]")
_PLACE = re.compile(r"(?P<file>.*): errata\[(?P<at>\d+)\](\.(?P<field>\w+))?\Z", re.DOTALL)
_SYNTAX = re.compile(r"\(at line (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One entry: what (`dataset` name@version, `system` slug, `question` id, `page`), its fault, and what was done.

    `id` stays, since feeds and links name it. `link`: a web address, or a path inside the repository. Invariants: it
    says what it is about; no text is blank.
    """

    id: str
    date: date
    fault: Words
    done: Words
    dataset: str = ""
    system: str = ""
    question: Short = ""
    page: Short = ""
    link: str = ""

    def __post_init__(self) -> None:
        faults = list(self._faults())
        if faults:
            raise RecordFaultsError(faults)

    def _faults(self) -> Iterator[RecordError]:
        if not _ID.match(self.id):
            yield RecordError("id", f"{self.id[:80]!r} is not 2-60 of a-z, 0-9 and '-'")
        for name in ("fault", "done"):
            if not getattr(self, name).strip():
                yield RecordError(name, "is blank", "say it in a sentence")
        if not (self.dataset or self.system or self.question or self.page):
            yield RecordError("id", "does not say what was wrong", "add dataset, system, question or page")
        for check, text, name in ((Release.parse, self.dataset, "dataset"), (require_slug, self.system, "system")):
            try:
                check(text, name) if text else None
            except RecordError as error:
                yield error
        if self.link and not self.is_web and not self._is_inside:
            what = "is neither a web address nor a path inside the repository"
            yield RecordError("link", f"{self.link[:80]!r} {what}", "'docs/results.md#findings' is one")

    @property
    def is_web(self) -> bool:
        """Whether the link leads to a web page."""
        return self.link.startswith(("https://", "http://")) and safe_link(self.link) is not None

    @property
    def _is_inside(self) -> bool:
        return _INSIDE.match(self.link) is not None and ".." not in self.link.split("/")

    def address(self, repository: str) -> str | None:
        """The target of the link; None without a link, or if the repository's address was not given."""
        if not self.link or self.is_web:
            return self.link or None
        address = f"{repository.rstrip('/')}/blob/HEAD/{self.link}"
        known = repository.startswith(("https://", "http://")) and len(address) <= MAX_LINK
        return safe_link(address) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The file: its entries in any order. Invariant: ids are unique."""

    errata: list[Erratum] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = [erratum.id for erratum in self.errata]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise RecordError("errata", f"{twice[0]!r} is repeated", "give each entry an id of its own")


def _lines(text: str) -> list[int]:
    """The line, from 1, where each entry begins."""
    return [number for number, line in enumerate(text.splitlines(), 1) if _FIRST_LINE.match(line)]


def _field_line(lines: Sequence[str], first: int, last: int, field: str | None) -> int:
    """The line of a field of the entry that takes these lines, from 1; its first line if the field is not there."""
    wanted = re.compile(rf"[ \t]*[\"']?{re.escape(field)}[\"']?[ \t]*=") if field else None
    found = (n for n in range(first + 1, last + 1) if wanted and wanted.match(lines[n - 1]))
    return next(found, first)


def _with_line(fault: EduRagError, text: str) -> EduRagError:
    """The fault at FILE:LINE, if its line is known."""
    syntax = _SYNTAX.search(fault.what)
    if syntax:
        return ConfigError(f"{fault.where}:{syntax[1]}", fault.what, fault.remedy)
    place = _PLACE.match(fault.where)
    starts = _lines(text)
    if place is None or int(place["at"]) >= len(starts):
        return fault
    at, lines = int(place["at"]), text.splitlines()
    last = starts[at + 1] - 1 if at + 1 < len(starts) else len(lines)
    line = _field_line(lines, starts[at], last, place["field"])
    return ConfigError(f"{place['file']}:{line}: {place['field'] or 'errata'}", fault.what, fault.remedy)


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """The entries, newest first. Raises FaultsError with every fault, each at its line, or ConfigError."""
    try:
        found = read_toml(path, Ledger).errata
    except EduRagError as error:
        faults = each_fault(error)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise error from None
        raise FaultsError([_with_line(fault, text) for fault in faults]) from None
    return tuple(sorted(sorted(found, key=lambda erratum: erratum.id), key=lambda erratum: erratum.date, reverse=True))


def errata_beside(results: Path) -> tuple[Erratum, ...]:
    """The entries of the file next to a results folder (`leaderboard/errata.toml`, `leaderboard/results`), if any."""
    path = results.absolute().parent / FILE_NAME
    return read_errata(path) if path.is_file() else ()
