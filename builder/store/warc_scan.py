"""Read a WARC file record by record, check every digest, and go on after damaged parts."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from builder.store.warc import WarcFile

MAX_RECORD_BYTES = 1 << 30
"""Of one record, inflated: a damaged member may inflate without end."""
_MAGIC = b"\x1f\x8b\x08"
_CHUNK = 1 << 16
_SEARCH = 1 << 20
_HASHES = frozenset({"sha1", "sha256"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole record: `end` is the byte behind it, `store_id` the store that it names, `sha256` that of its payload."""

    offset: int
    end: int
    kind: str
    record_id: str
    store_id: str
    uri: str
    block: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are not records, from `offset` to `end`, and the fault of the first of them."""

    offset: int
    end: int
    what: str


def _inflated(warc: WarcFile, offset: int) -> tuple[bytes, int]:
    """A gzip member and the byte behind it. Raises ValueError."""
    unpacker, parts, n, place = zlib.decompressobj(zlib.MAX_WBITS + 16), [], 0, offset
    try:
        while not unpacker.eof:
            raw = unpacker.unconsumed_tail
            if not raw:
                raw = warc.read(place, _CHUNK)
                place += len(raw)
            if not raw:
                raise ValueError("the file ends within a record")
            parts.append(unpacker.decompress(raw, MAX_RECORD_BYTES - n + 1))
            n += len(parts[-1])
            if n > MAX_RECORD_BYTES:
                raise ValueError(f"a record is longer than {MAX_RECORD_BYTES:,} bytes")
    except zlib.error as error:
        raise ValueError(f"not a gzip member: {error}") from None
    return b"".join(parts), place - len(unpacker.unused_data)


def _headers(head: bytes) -> Mapping[str, str]:
    first, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not first.startswith("WARC/1."):
        raise ValueError("not a WARC record")
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _check_digest(label: str | None, data: bytes) -> None:
    """Compare with a labelled digest, in base 32 or 16; one of a kind that we do not know says nothing."""
    kind, _, text = (label or "").partition(":")
    if kind not in _HASHES:
        return
    digest = hashlib.new(kind, data, usedforsecurity=False).digest()
    if text.upper() not in (base64.b32encode(digest).decode(), digest.hex().upper()):
        raise ValueError("differs from its digest")


def _block(data: bytes, start: int, headers: Mapping[str, str]) -> bytes:
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and int(length) == len(data) - start - 4):
        raise ValueError("has another length than it says")
    block = data[start:-4]
    _check_digest(headers.get("warc-block-digest"), block)
    return block


def record_at(warc: WarcFile, offset: int) -> Record:
    """The record that begins at a byte. Raises ValueError with the fault where no whole record does."""
    data, end = _inflated(warc, offset)
    head, gap, _ = data.partition(b"\r\n\r\n")
    headers = _headers(head)
    block = _block(data, len(head) + len(gap), headers)
    kind = headers.get("warc-type", "")
    payload = block.partition(b"\r\n\r\n")[2] if kind == "response" else block
    return Record(
        offset=offset,
        end=end,
        kind=kind,
        record_id=headers.get("warc-record-id", ""),
        store_id=headers.get("warc-record-id" if kind == "warcinfo" else "warc-warcinfo-id", ""),
        uri=headers.get("warc-target-uri", ""),
        block=block,
        sha256=hashlib.sha256(payload).hexdigest() if kind == "response" else "",
    )


def _next_record(warc: WarcFile, offset: int) -> Record | None:
    """The first whole record at or behind a byte."""
    while chunk := warc.read(offset, _SEARCH):
        found = chunk.find(_MAGIC)
        while found >= 0:
            try:
                return record_at(warc, offset + found)
            except ValueError:
                found = chunk.find(_MAGIC, found + 1)
        if len(chunk) < len(_MAGIC):
            return None
        offset += len(chunk) - len(_MAGIC) + 1
    return None


def scan(warc: WarcFile, start: int) -> Iterator[Record | Damage]:
    """Every whole record from a byte on, and the damage in between, in order. Holds one record in memory."""
    while start < warc.end:
        try:
            record = record_at(warc, start)
        except ValueError as error:
            found = _next_record(warc, start + 1)
            yield Damage(start, found.offset if found is not None else warc.end, str(error))
            if found is None:
                return
            record = found
        yield record
        start = record.end
