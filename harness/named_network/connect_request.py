"""The first bytes of a connection: a CONNECT request, and the greeting of TLS that follows it.

Both are read strictly: what could mean one thing to us and another to a server is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from edu_rag.errors import RecordError
from harness.named_network.named_host import NamedHost

MAX_HEAD_BYTES = 8_192
_MAX_HEADERS = 50
_LINE = re.compile(rb"CONNECT ([\x21-\x7e]{1,300}) HTTP/1\.[01]\Z")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[\x20-\x7e\t\x80-\xff]*\Z")
_OF_A_BODY = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade"})
_END = b"\r\n\r\n"


class RefusedRequestError(Exception):
    """A request that is not passed on: the status of the answer, and the reason in words of ours."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def is_whole(head: bytes) -> bool:
    """Whether a request has arrived. Raises RefusedRequestError if it is too long, or if more follows it at once."""
    end = head.find(_END)
    if len(head) > MAX_HEAD_BYTES and not 0 <= end <= MAX_HEAD_BYTES - len(_END):
        raise RefusedRequestError("431 Request Header Fields Too Large", "the request is too long")
    if 0 <= end < len(head) - len(_END):
        raise RefusedRequestError("400 Bad Request", "bytes follow the request before it was answered")
    return end >= 0


def asked_host(head: bytes, printable: Callable[[str], str] = str) -> NamedHost:
    """The host of a whole request. Raises RefusedRequestError for anything but a plain CONNECT to a name.

    `printable` takes keys out of what the refusal quotes.
    """
    first, *headers = head.removesuffix(_END).split(b"\r\n")
    found = _LINE.match(first)
    if found is None:
        raise RefusedRequestError("405 Method Not Allowed", "only CONNECT is spoken here, for addresses of https")
    if len(headers) > _MAX_HEADERS:
        raise RefusedRequestError("431 Request Header Fields Too Large", "the request has too many header fields")
    for line in headers:
        header = _HEADER.match(line)
        if header is None or header[1].lower() in _OF_A_BODY:
            raise RefusedRequestError("400 Bad Request", "the request has a header field that is not allowed")
    target = found[1].decode("ascii")
    try:
        host = NamedHost.parse(target)
    except RecordError:
        host = None
    if host is None or ":" not in target:
        raise RefusedRequestError("403 Forbidden", f"{printable(target)[:80]!a} is not a granted name")
    return host


MAX_GREETING_BYTES = 65_536
_RECORD_HEAD, _HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME = 5, 22, 1, 0


def greeted_name(data: bytes) -> str | None:
    """The server that a TLS greeting (ClientHello, RFC 8446 section 4.1.2) names, or None while it is not whole.

    Raises RefusedRequestError if the bytes are not a greeting that names a server. Behind one address there may be
    many servers: without this check, a granted name would open them all.
    """
    message = _message(data)
    if message is None:
        return None
    try:
        return _server_name(_Reader(message))
    except (IndexError, UnicodeDecodeError):
        raise _no_greeting() from None


def _no_greeting() -> RefusedRequestError:
    return RefusedRequestError("", "what follows the request is not TLS that names its server")


def _message(data: bytes) -> bytes | None:
    """The ClientHello without its head, joined from its records; None while bytes are missing."""
    joined, at = b"", 0
    while True:
        head = data[at : at + _RECORD_HEAD]
        if head[:1] not in (b"", bytes([_HANDSHAKE])) or head[1:2] not in (b"", b"\x03"):
            raise _no_greeting()
        if len(head) < _RECORD_HEAD:
            return None
        end = at + _RECORD_HEAD + int.from_bytes(head[3:5], "big")
        joined, at = joined + data[at + _RECORD_HEAD : end], end
        if joined and joined[0] != _CLIENT_HELLO:
            raise _no_greeting()
        n_bytes = 4 + int.from_bytes(joined[1:4], "big") if len(joined) >= 4 else MAX_GREETING_BYTES
        if n_bytes > MAX_GREETING_BYTES or end > MAX_GREETING_BYTES:
            raise _no_greeting()
        if len(joined) >= n_bytes:
            return joined[4:n_bytes]
        if end > len(data):
            return None


class _Reader:
    """Bytes taken from the front; taking more than there are is an IndexError."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, n: int) -> bytes:
        if n > len(self._data):
            raise IndexError
        taken, self._data = self._data[:n], self._data[n:]
        return taken

    def block(self, n_length: int) -> _Reader:
        """The bytes behind a length of n_length bytes."""
        return _Reader(self.take(int.from_bytes(self.take(n_length), "big")))

    def rest(self) -> bytes:
        return self.take(len(self._data))


def _server_name(hello: _Reader) -> str:
    hello.take(2 + 32)  # version and random
    for n_length in (1, 2, 1):  # session, cipher suites, compression
        hello.block(n_length)
    names: list[str] = []
    extensions = hello.block(2)
    while extensions:
        kind, body = int.from_bytes(extensions.take(2), "big"), extensions.block(2)
        listed = body.block(2) if kind == _SERVER_NAME else _Reader(b"")
        while listed:
            if listed.take(1) != b"\0":
                raise IndexError
            names.append(listed.block(2).rest().decode("ascii"))
    if len(names) != 1:
        raise IndexError
    return names[0]
