"""Why a request failed, in a few words: the host and the likely cause, never the request itself."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from urllib.parse import urlsplit

ONLINE = "is this machine online?"
_NO_NAME = frozenset({"gaierror", "NameResolutionError", "herror"})
_TLS = frozenset({"SSLError", "SSLCertVerificationError", "SSLEOFError"})
_CLOSED = frozenset({"RemoteDisconnected", "ConnectionResetError", "BrokenPipeError", "IncompleteRead"})
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL})
_MOST = 30


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it wraps, however the libraries hang them together."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]


def host_in(url: str) -> str:
    """The host of a request's address, with its port where that is not the usual one."""
    return urlsplit(url).netloc.rpartition("@")[2] or "the engine"


def known_cause(error: BaseException, url: str) -> str | None:
    """`HOST: what happened: the likely cause`; None if the error says nothing that is known of a network."""
    host, causes = host_in(url), tuple(chain_of(error))
    kinds = {type(cause).__name__ for cause in causes}
    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    if kinds & _NO_NAME:
        return f"{host}: its name does not resolve: {ONLINE}"
    if numbers & _NO_ROUTE:
        return f"{host}: no route: {ONLINE}"
    if kinds & _TLS:
        return f"{host}: no trusted TLS connection: is there a login page or a proxy in between?"
    if errno.ECONNREFUSED in numbers:
        return f"{host}: refuses connections: does the service run there?"
    if kinds & _CLOSED or errno.ECONNRESET in numbers:
        return f"{host}: closed the connection without an answer"
    return None


def network_cause(error: BaseException, url: str) -> str:
    """As `known_cause`; for other errors their kind."""
    return known_cause(error, url) or f"{host_in(url)}: no answer: {type(error).__name__}"
