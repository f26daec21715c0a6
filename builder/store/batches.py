"""A batch: the rows that one commit brings to the index, as a metadata record of the WARC file.

Reading all batches in order gives the index, so it can always be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from builder.store.index import fetch_of, search_of
from builder.store.warc import metadata_record
from builder.store.warc_scan import Record

FORMAT = 1


class SearchLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `searches`, with the packed responses (in JSON: base 64)."""

    question_id: str
    engine: str
    query: str
    state: str
    reason: str
    hits: str
    searched_at: str
    round: int
    raw: bytes


class FetchLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `fetches`."""

    url: str
    outcome: str
    status: int | None
    n_redirects: int
    final_url: str
    warc_offset: int | None
    length: int | None
    digest: str | None
    fetched_at: str
    detail: str
    etag: str
    last_modified: str
    signals: str
    attempts: int
    round: int
    checked_at: str


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a metadata record of the store."""

    format: int
    searches: list[SearchLine]
    fetches: list[FetchLine]

    def search_rows(self) -> list[tuple[Any, ...]]:
        """The rows as `index.search_row` makes them."""
        return [msgspec.structs.astuple(line) for line in self.searches]

    def fetch_rows(self) -> list[tuple[Any, ...]]:
        """The rows as `index.fetch_row` makes them."""
        return [msgspec.structs.astuple(line) for line in self.fetches]


def batch_record(
    searches: Sequence[tuple[Any, ...]], fetches: Sequence[tuple[Any, ...]], offset: int, store_id: str
) -> bytes:
    """The record of some rows (`index.search_row`, `index.fetch_row`) that is to be written at a byte offset."""
    batch = Batch(
        format=FORMAT, searches=[SearchLine(*row) for row in searches], fetches=[FetchLine(*row) for row in fetches]
    )
    times = [line.searched_at for line in batch.searches] + [line.checked_at for line in batch.fetches]
    return metadata_record(msgspec.json.encode(batch), max(map(datetime.fromisoformat, times)), offset, store_id)


def read_batch(record: Record, store_id: str) -> Batch:
    """The rows in a metadata record of a store. Raises ValueError if it is of another one, or cannot be read."""
    if record.store_id != store_id:
        raise ValueError("is of another store")
    try:
        batch = msgspec.json.decode(record.block, type=Batch)
        for search in batch.search_rows():
            search_of(search[:-1])
        for fetch in batch.fetch_rows():
            fetch_of(fetch)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise ValueError(f"holds no batch that can be read: {error}") from None
    if batch.format != FORMAT:
        raise ValueError(f"holds a batch of format {batch.format}, and this edu-rag reads format {FORMAT}")
    return batch
