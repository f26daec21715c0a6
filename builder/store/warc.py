"""WARC: one response as one gzip member with a deterministic id, and the file that such records are appended to."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from builder.fetch.body import charset_of

if TYPE_CHECKING:
    from builder.fetch import Fetched

_NAMESPACE = uuid.UUID("6a1b9a52-2a6f-5d0c-9c59-0d2c4b7f4f10")
# The body is stored inflated, as Common Crawl does it: the header must not claim otherwise.
_HIDDEN = frozenset({"content-encoding", "transfer-encoding", "content-length"})


def _headers_of(got: Fetched) -> list[tuple[str, str]]:
    headers = [(f"X-Crawl-{k}" if k.lower() in _HIDDEN else k, " ".join(v.split())) for k, v in got.headers.items()]
    return [*headers, ("Content-Length", str(len(got.body)))]


def warc_record(got: Fetched, digest: str, crawl_round: int = 0) -> bytes:
    """One response record as one gzip member (WARC 1.1); its id is a function of URL, digest and round."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    # A page that changes and changes back is two records: two ids.
    identity = f"{got.url} {digest}" + (f" {crawl_round}" if crawl_round else "")
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="1.1")
    record = writer.create_warc_record(
        got.final_url, "response", payload=io.BytesIO(got.body),
        http_headers=StatusAndHeaders(f"{got.status} OK", _headers_of(got), protocol="HTTP/1.1"),
        warc_headers_dict={
            "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(_NAMESPACE, identity)}>",
            "WARC-Date": got.fetched_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    )  # fmt: skip
    writer.write_record(record)
    return out.getvalue()


def read_record(member: bytes, digest: str | None) -> tuple[bytes, str | None]:
    """Body and HTTP charset of one gzip member. Raises ValueError where it is no record, or not the one of `digest`."""
    from warcio.archiveiterator import ArchiveIterator

    try:
        record = next(iter(ArchiveIterator(io.BytesIO(member))))
        body: bytes = record.content_stream().read()
        headers: Mapping[str, str] = {"Content-Type": record.http_headers.get_header("Content-Type") or ""}
    except Exception as error:  # warcio raises many kinds; each means that the record cannot be read
        raise ValueError(f"cannot be read: {error or type(error).__name__}") from None
    if hashlib.sha256(body).hexdigest() != digest:
        raise ValueError("differs from its hash")
    return body, charset_of(headers)


class WarcFile:
    """A file of records that grows at `end`. Every OSError is the caller's; no buffer of ours hides what is written.

    Writes go to a place that we know, not to "the end": what a failed write left behind is written over by the next.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        flags = os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY
        self._handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
        self.end = os.fstat(self._handle).st_size

    def append(self, record: bytes) -> int:
        """Write a record behind the last one; return its offset. It is safe only after `sync`."""
        offset = self.end
        left = memoryview(record)
        while left:
            n = os.pwrite(self._handle, left, self.end)
            self.end, left = self.end + n, left[n:]
        return offset

    def sync(self) -> None:
        """Bring what was written to the disk."""
        os.fsync(self._handle)

    def cut(self, end: int) -> None:
        """Forget everything from byte `end` on."""
        os.ftruncate(self._handle, end)
        self.end = end

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a record; safe from several threads. Shorter where the file ends before."""
        return os.pread(self._handle, length, offset)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)
