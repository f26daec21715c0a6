"""CRAG's own files: questions with their answers and the pages that were found for them, one JSON record a line.

An archive is a stranger's file: a child reads it with the memory of `edu_rag.processes.budget`, and with processor
seconds that grow with its size, for an honest one holds gigabytes.
"""

from __future__ import annotations

import ast
import bz2
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from edu_rag.errors import DataError, RecordError
from edu_rag.files.mistyped import mistyped
from edu_rag.processes.budget import default_cpu_s, items_within_budget

T = TypeVar("T")
MAX_RECORD_BYTES = 100_000_000
"""Of one line, unpacked: CRAG's third task has fifty whole pages a question."""
MAX_PAGE_BYTES = 16_000_000
"""Of the HTML of one page, as JSON: a larger page counts as one that CRAG could not fetch."""
MAX_INFLATION = 100
"""Times its packed size that an archive may unpack to; HTML packs to a tenth. A bomb has 700,000."""
LEAST_UNPACKED_BYTES = 64_000_000
"""The unpacked size that even a tiny archive may have."""
MAX_FAULTY = 1_000
"""Lines with faults after which a file is not one of CRAG's."""
BUDGET_BYTES = 8_000_000
"""The compressed size that the processor seconds of one file are for; a larger archive gets proportionally more."""
_CHUNK = 1 << 20
_SPLITS = {0: "val", 1: "test"}
_SIGNS = (b'"interaction_id"', b'"query"')
_LOST_VALUES = frozenset({"nan", "null"})
_HEAD_BYTES = 4_096


class CragHit(msgspec.Struct, frozen=True):
    """One search result: its address and the page's HTML as CRAG fetched it, empty if it could not.

    The HTML stays JSON in the record's own bytes until it is wanted: as texts, fifty pages of a record would take four
    times its size.
    """

    page_url: str
    page_result: msgspec.Raw = msgspec.Raw(b"null")

    def html(self) -> str | None:
        """The page's HTML; None if CRAG has none, or if it is too large or not a text."""
        if len(self.page_result) > MAX_PAGE_BYTES:
            return None
        try:
            return msgspec.json.decode(self.page_result, type=str | None)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None


class CragRecord(msgspec.Struct, frozen=True):
    """One record. Fields differ between CRAG's versions; fields that are not read here are ignored."""

    interaction_id: str
    query: str
    answer: str
    search_results: list[CragHit]
    split: int | None = None
    alt_ans: list[str] | None = None
    alternative_answers: list[str] | str | None = None

    def split_name(self) -> str | None:
        """CRAG's 0 is `val`, its 1 (the public test) `test`."""
        return _SPLITS.get(self.split) if self.split is not None else None

    @property
    def is_lost(self) -> bool:
        """Whether the answer was lost on the way to the file: `nan`."""
        return self.answer.strip().casefold() in _LOST_VALUES

    def texts(self) -> list[str]:
        """The answer, then the alternatives, none twice. Raises RecordError if the alternatives are not a list."""
        others = self.alt_ans or _listed(self.alternative_answers)
        return list(dict.fromkeys(text for text in [self.answer, *others] if text.strip()))

    def flat_values(self) -> dict[str, Any]:
        """The record as a flat question file would hold it: free text, without choices. Raises as `texts` does."""
        return {
            "id": self.interaction_id,
            "type": "free_text",
            "question": self.query,
            "answer": self.texts(),
            "split": self.split_name(),
        }


def _listed(value: list[str] | str | None) -> list[str]:
    """Alternatives as a list; some versions hold them as text, JSON or Python's."""
    if not isinstance(value, str):
        return value or []
    if not value.strip():
        return []
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(value[:100_000])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
    raise RecordError("alternative_answers", f"{value[:60]!r} is not a list of texts")


def _opened(path: Path) -> IO[bytes]:
    return bz2.open(path) if path.suffix.casefold() == ".bz2" else path.open("rb")


def is_crag(path: Path) -> bool:
    """Whether a JSON lines file, packed by bzip2 or not, begins with a record of CRAG's."""
    try:
        with _opened(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, EOFError):
        return False
    return head.lstrip().startswith(b"{") and all(sign in head for sign in _SIGNS)


def _chunks(path: Path) -> Iterator[bytes]:
    """The unpacked bytes, a megabyte at a time. Raises DataError if the archive unpacks to far more than its size."""
    try:
        most = max(LEAST_UNPACKED_BYTES, MAX_INFLATION * path.stat().st_size)
        with _opened(path) as stream:
            while chunk := stream.read(_CHUNK):
                most -= len(chunk)
                if most < 0:
                    what = f"unpacks to more than {MAX_INFLATION} times its size"
                    raise DataError(path, what, "give the file as CRAG publishes it")
                yield chunk
    except (OSError, EOFError) as error:
        raise DataError(path, f"cannot be read: {error}", "give the file as CRAG publishes it") from None


def _lines(path: Path) -> Iterator[tuple[int, bytearray]]:
    """Each line's number and bytes; one line is in memory at a time. Raises DataError for one that is too long."""
    number, line = 1, bytearray()
    for chunk in _chunks(path):
        first, *others = chunk.split(b"\n")
        line += first
        for rest in others:
            yield number, line
            number, line = number + 1, bytearray(rest)
        if len(line) > MAX_RECORD_BYTES:
            raise DataError(f"{path}:{number}", f"a record of over {MAX_RECORD_BYTES:,} bytes", "shorten it")
    if line:
        yield number, line


def crag_records(path: Path) -> Iterator[tuple[int, CragRecord | RecordError]]:
    """Each line's number and record, or the line's fault.

    Raises DataError if the file breaks off, unpacks to too much, or has MAX_FAULTY lines that are not records.
    """
    decoder = msgspec.json.Decoder(CragRecord)
    n_faulty = 0
    for number, line in _lines(path):
        found = _record(decoder, line)
        n_faulty += isinstance(found, RecordError)
        if n_faulty > MAX_FAULTY:
            what = f"has more than {MAX_FAULTY:,} lines that are not records"
            raise DataError(f"{path}:{number}", what, "give the file as CRAG publishes it")
        yield number, found


def crag_items(path: Path, of: Callable[[int, CragRecord | RecordError], Iterable[T]]) -> Generator[T, None, None]:
    """The results of `of(line number, record or fault)` for each line, in order; the child that reads the file calls
    it.

    `of` must be picklable, and each item should be small: the largest is a page. Raises as `crag_records`, and
    BudgetError.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}", "give a readable file") from None
    cpu_s = default_cpu_s() * max(1.0, size / BUDGET_BYTES)
    yield from items_within_budget(_items, path, of, what=path, cpu_s=cpu_s)


def _items(path: Path, of: Callable[[int, CragRecord | RecordError], Iterable[T]]) -> Generator[T, None, None]:
    for number, record in crag_records(path):
        yield from of(number, record)


def _record(decoder: msgspec.json.Decoder[CragRecord], line: bytearray) -> CragRecord | RecordError:
    try:
        record = decoder.decode(line)
        record.texts()
    except RecordError as error:
        return error
    except msgspec.ValidationError as error:
        return RecordError("record", mistyped(str(error)).what[:200])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return RecordError("line", f"not JSON: {str(error)[:200]}")
    return record
