"""CRAG's own files: questions with their answers and the pages that were found for them, one JSON record a line."""

from __future__ import annotations

import ast
import bz2
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from edu_rag.errors import DataError, RecordError

MAX_RECORD_BYTES = 256_000_000
"""Of one line, unpacked: CRAG's third task has fifty whole pages a question."""
_SPLITS = {0: "val", 1: "test"}
_SIGNS = (b'"interaction_id"', b'"query"')
_LOST_VALUES = frozenset({"nan", "null"})
_HEAD_BYTES = 4_096


class CragHit(msgspec.Struct, frozen=True):
    """One search result: its address and the page's HTML as CRAG fetched it, empty where it could not."""

    page_url: str
    page_result: str | None = None


class CragRecord(msgspec.Struct, frozen=True):
    """One record. Fields differ between CRAG's versions; what is not read here is let pass."""

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
        """The answer, then the alternatives, none twice. Raises RecordError where the alternatives are no list."""
        others = self.alt_ans or _listed(self.alternative_answers)
        return list(dict.fromkeys(text for text in [self.answer, *others] if text.strip()))

    def flat_values(self) -> dict[str, Any]:
        """The record as a flat question file would hold it: free text, without choices. Raises as `texts` does."""
        return {
            "id": self.interaction_id, "type": "free_text", "question": self.query, "answer": self.texts(),
            "split": self.split_name(),
        }  # fmt: skip


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
    raise RecordError("alternative_answers", f"{value[:60]!r} is no list of texts")


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


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with _opened(path) as stream:
            number = 0
            while line := stream.readline(MAX_RECORD_BYTES + 1):
                number += 1
                if len(line) > MAX_RECORD_BYTES:
                    raise DataError(f"{path}:{number}", f"a record of over {MAX_RECORD_BYTES:,} bytes", "shorten it")
                yield number, line
    except (OSError, EOFError) as error:
        raise DataError(path, f"cannot be read: {error}", "give the file as CRAG publishes it") from None


def crag_records(path: Path) -> Iterator[tuple[int, CragRecord | RecordError]]:
    """Each line's number and record, or what is wrong with the line. Raises DataError where the file breaks off."""
    decoder = msgspec.json.Decoder(CragRecord)
    for number, line in _lines(path):
        try:
            record = decoder.decode(line)
            record.texts()
            yield number, record
        except RecordError as error:
            yield number, error
        except msgspec.ValidationError as error:
            yield number, RecordError("record", str(error)[:200])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield number, RecordError("line", f"not JSON: {str(error)[:200]}")
