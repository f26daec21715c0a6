"""Reading a response's body within bounds: bytes on the wire, bytes inflated, one encoding layer, text types only."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping

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
CHUNK_BYTES = 65_536


class BodyError(Exception):
    """A body that we do not read to its end; `outcome` is the hit's fate, the text says why."""

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(outcome, detail)
        self.outcome = outcome
        self.detail = detail


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of a Content-Type header in lower case, without parameters; empty where there is none."""
    return headers.get("Content-Type", "").split(";")[0].strip().lower()


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The charset that a Content-Type header names, if any."""
    for part in headers.get("Content-Type", "").split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("'\"")[:40] or None
    return None


def check_type(headers: Mapping[str, str]) -> None:
    """Raise BodyError where Content-Type names something else than HTML, XHTML or plain text."""
    found = media_type(headers)
    if found and found not in MEDIA_TYPES:
        raise BodyError("not_html", found[:80])


def check_length(headers: Mapping[str, str], max_bytes: int) -> None:
    """Raise BodyError where Content-Length alone says that the body is too large."""
    length = headers.get("Content-Length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > max_bytes:
        raise BodyError("too_large", f"Content-Length {length[:20]}")


def check_start(body: bytes, headers: Mapping[str, str]) -> None:
    """Raise BodyError where the first bytes are of a binary format, whatever the header claims."""
    start = body[:1024]
    if start.startswith(_MAGIC) or (b"\0" in start and not start.startswith(_UTF_16)):
        raise BodyError("not_html", "binary content")
    if not media_type(headers) and b"<" not in start:
        raise BodyError("not_html", "no Content-Type and no markup")


def _inflater(encoding: str) -> zlib._Decompress | None:
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    if encoding == "deflate":
        return zlib.decompressobj()
    raise BodyError("http_error", f"content encoding {encoding[:40]!r}, which we did not ask for")


async def read_body(chunks: AsyncIterator[bytes], headers: Mapping[str, str], max_bytes: int) -> bytes:
    """The inflated body of at most `max_bytes`, read from at most `max_bytes` on the wire.

    Raises BodyError: `too_large` as soon as either bound is crossed (a bomb is never inflated), `connection` where
    the compressed stream is cut or broken.
    """
    inflater = _inflater(headers.get("Content-Encoding", "").strip().lower())
    body = bytearray()
    wire = 0
    async for chunk in chunks:
        wire += len(chunk)
        if wire > max_bytes:
            raise BodyError("too_large", f"over {max_bytes:,} bytes on the wire")
        try:
            body += chunk if inflater is None else inflater.decompress(chunk, max_bytes + 1 - len(body))
        except zlib.error as error:
            raise BodyError("connection", f"broken compression: {error}") from None
        if len(body) > max_bytes:
            raise BodyError("too_large", f"over {max_bytes:,} bytes when inflated")
    if inflater is not None and not inflater.eof and wire:
        raise BodyError("connection", "the compressed body is cut")
    return bytes(body)
