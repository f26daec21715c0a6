"""What a store refuses to open: an index that was lost, of another store, or that disagrees with its WARC file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from builder.store.faults import rebuild
from builder.store.index import WarcState
from builder.store.index_files import lost_index
from builder.store.store_folder import INDEX_FILE, WARC_FILE
from builder.store.warc import Record, WarcFile, record_at, scan
from edu_rag.errors import DataError


def _records(warc: WarcFile, start: int = 0) -> Iterator[Record]:
    return (item for item in scan(warc, start) if isinstance(item, Record))


def refuse_lost_index(folder: Path, warc: WarcFile, what: str) -> None:
    """Raise DataError if a missing index has had rows: a new one would hide the crawled data."""
    kinds = set()
    for record in _records(warc):
        if record.kind == "metadata":
            raise lost_index(folder, what)
        kinds.add(record.kind)
    if kinds == {"response"}:
        remedy = "restore the file from a copy, or build with --fresh"
        raise DataError(folder / INDEX_FILE, f"{what}, and {WARC_FILE} is of a version that kept no rows", remedy)


def refuse_other_store(folder: Path, warc: WarcFile, store_id: str) -> None:
    """Raise DataError if the WARC file names another store than the index does."""
    found = next((record.store_id for record in _records(warc) if record.store_id), store_id)
    if found != store_id:
        what = f"is the index of another crawl store than {WARC_FILE}"
        raise DataError(folder / INDEX_FILE, what, rebuild(folder))


def _is_at(warc: WarcFile, offset: int, store_id: str) -> bool:
    try:
        return record_at(warc, offset).store_id == store_id
    except ValueError:
        return False


def refuse_disagreement(folder: Path, warc: WarcFile, state: WarcState, *, is_old: bool) -> None:
    """Raise DataError if a reader would see less than was committed: pages cut off, or rows that it cannot know.

    `is_old`: the index is of an earlier version, and the rows in the WARC file are at most a part of its rows.
    """
    if state.last >= 0 and not _is_at(warc, state.last, state.id):
        refuse_other_store(folder, warc, state.id)
    if warc.end < state.bytes:
        what = f"holds {warc.end:,} of the {state.bytes:,} bytes that its index knows"
        raise DataError(folder / WARC_FILE, what, "restore the whole file, or build with --resume")
    if is_old:
        return
    found = (record for record in _records(warc, state.bytes) if record.kind == "metadata")
    first = next((record for record in found if record.store_id == state.id or not state.id), None)
    if first is not None:
        what = f"does not know all that {WARC_FILE} holds (from byte {first.offset:,} on)"
        raise DataError(folder / INDEX_FILE, what, rebuild(folder))
