"""Read a response's body within bounds, of its own and of the whole crawl's memory."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

SMALL_BYTES = 262_144
"""Bodies up to this size need no leave."""
N_LARGE = 12


class Shares:
    """The crawl's lanes (requests under way, and pages that wait to be written) and leaves for large bodies."""

    def __init__(self, n_lanes: int) -> None:
        self.lanes = asyncio.Semaphore(n_lanes)
        self.large = asyncio.Semaphore(N_LARGE)


class Share:
    """The resources that one URL holds at this moment."""

    __slots__ = ("_held", "_shares")

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._held: list[asyncio.Semaphore] = []

    async def take_lane(self) -> None:
        """Wait for a lane."""
        await self._shares.lanes.acquire()
        self._held.append(self._shares.lanes)

    async def grow(self, clock: asyncio.Timeout) -> None:
        """Wait for leave to hold a large body, with the page's clock stopped: the queue is not its fault."""
        if self._shares.large.locked():
            loop = asyncio.get_running_loop()
            deadline, started = clock.when(), loop.time()
            clock.reschedule(None)
            await self._shares.large.acquire()
            clock.reschedule(None if deadline is None else deadline + loop.time() - started)
        else:
            await self._shares.large.acquire()
        self._held.append(self._shares.large)

    def give_back(self) -> None:
        """Let go of everything."""
        while self._held:
            self._held.pop().release()


MEDIA_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_MAGIC = (
    b"%PDF-",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"Rar!",
    b"\x7fELF",
    b"ID3",
    b"OggS",
)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
GZIP_MAGIC = b"\x1f\x8b"
MAX_GZIP_MEMBERS = 1_000
MAX_HEADER_BYTES = 131_072


class BodyError(Exception):
    """A body that we do not read to its end; `outcome` is the hit's fate, the text says why."""

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(outcome, detail)
        self.outcome = outcome
        self.detail = detail


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of a Content-Type header in lower case, without parameters; empty if there is none."""
    return headers.get("Content-Type", "").split(";")[0].strip().lower()


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The charset that a Content-Type header names, if any."""
    for part in headers.get("Content-Type", "").split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("'\"")[:40] or None
    return None


def check_type(headers: Mapping[str, str]) -> None:
    """Raise BodyError if Content-Type names something else than HTML, XHTML or plain text."""
    found = media_type(headers)
    if found and found not in MEDIA_TYPES:
        raise BodyError("not_html", found[:80])


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise BodyError if the headers are a flood: they are kept with the page."""
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_HEADER_BYTES:
        raise BodyError("too_large", f"over {MAX_HEADER_BYTES:,} bytes of headers")


def check_length(headers: Mapping[str, str], max_bytes: int) -> None:
    """Raise BodyError if Content-Length alone says that the body is too large."""
    length = headers.get("Content-Length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > max_bytes:
        raise BodyError("too_large", f"Content-Length {length[:20]}")


def check_start(body: bytes, headers: Mapping[str, str]) -> None:
    """Raise BodyError if the first bytes are of a binary format, even if the header claims another."""
    start = body[:1024]
    if start.startswith(_MAGIC) or (b"\0" in start and not start.startswith(_UTF_16)):
        raise BodyError("not_html", "binary content")
    if not media_type(headers) and b"<" not in start:
        raise BodyError("not_html", "no Content-Type and no markup")


class _Inflater:
    """gzip (all its members, RFC 1952 section 2.2) or deflate (zlib's, or raw as some servers send it)."""

    def __init__(self, encoding: str) -> None:
        self._is_gzip = encoding.endswith("gzip")
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS if self._is_gzip else zlib.MAX_WBITS)
        self._started = False
        self._n_members = 1

    @property
    def is_done(self) -> bool:
        """Whether the stream came to its end."""
        return self._stream.eof

    def parts(self, data: bytes) -> Iterator[bytes]:
        """The inflated bytes in parts of at most SMALL_BYTES. Raises zlib.error, BodyError."""
        if not self._started and data:
            self._started = True
            if not self._is_gzip and not _is_zlib(data):
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        part = b""
        # A full part may have more behind it even where all bytes are taken in: a deflate stream without a trailer.
        while data or len(part) == SMALL_BYTES:
            part = self._stream.decompress(data, SMALL_BYTES)
            yield part
            data = self._stream.unconsumed_tail or self._next_member()

    def _next_member(self) -> bytes:
        """The data after the end of a gzip member, if it is another member."""
        data = self._stream.unused_data
        if not (self._is_gzip and data.startswith(GZIP_MAGIC)):
            return b""
        self._n_members += 1
        if self._n_members > MAX_GZIP_MEMBERS:
            raise BodyError("too_large", f"over {MAX_GZIP_MEMBERS:,} gzip members")
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return data


def _is_zlib(data: bytes) -> bool:
    """Whether two header bytes are those of a zlib stream (RFC 1950 section 2.2)."""
    return data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] * 256 + data[1]) % 31 == 0)


def _inflater(encoding: str) -> _Inflater | None:
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Inflater(encoding)
    raise BodyError("http_error", f"content encoding {encoding[:40]!r}, which we did not ask for")


def _parts(inflater: _Inflater | None, chunk: bytes) -> Iterator[bytes]:
    if inflater is None:
        yield chunk
        return
    try:
        yield from inflater.parts(chunk)
    except zlib.error as error:
        raise BodyError("connection", f"broken compression: {error}") from None


async def read_body(
    chunks: AsyncIterator[bytes],
    headers: Mapping[str, str],
    max_bytes: int,
    grow: Callable[[], Awaitable[None]],
    *,
    cut: bool = False,
) -> bytes:
    """The inflated body of at most `max_bytes`, read from at most `max_bytes` on the wire.

    `grow` is awaited once, when the body turns out to be large. With `cut`, bytes beyond `max_bytes` are left unread
    and the whole lines before them are the body. Otherwise raises BodyError: `too_large` as soon as either
    bound is crossed (a bomb is never inflated), `connection` where the compressed stream is cut or broken.
    """
    inflater = _inflater(headers.get("Content-Encoding", "").strip().lower())
    body = bytearray()
    wire = 0
    is_large = False
    async for chunk in chunks:
        wire += len(chunk)
        if wire > max_bytes and not cut:
            raise BodyError("too_large", f"over {max_bytes:,} bytes on the wire")
        for part in _parts(inflater, chunk):
            body += part
            if cut and max(wire, len(body)) > max_bytes:
                return bytes(body[: body.rfind(b"\n", 0, max_bytes) + 1])
            if len(body) > max_bytes:
                raise BodyError("too_large", f"over {max_bytes:,} bytes when inflated")
            if len(body) > SMALL_BYTES and not is_large:
                is_large = True
                await grow()
    if inflater is not None and not inflater.is_done and wire:
        raise BodyError("connection", "the compressed body is cut")
    return bytes(body)
