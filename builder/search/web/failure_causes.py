"""Why a request to an engine failed, in a few words: the host and the likely cause, never the request itself."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from urllib.parse import urlsplit

from builder.fetch.addresses import RefusedAddressError

ONLINE = "is this machine online?"
_NO_NAME = frozenset({"gaierror", "NameResolutionError", "herror"})
_TLS = frozenset({"SSLError", "SSLCertVerificationError", "SSLEOFError"})
_CLOSED = frozenset({"RemoteDisconnected", "ConnectionResetError", "BrokenPipeError", "IncompleteRead"})
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL})
_MOST = 30


def _chain(error: BaseException) -> Iterator[BaseException]:
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


def failure_cause(error: BaseException, url: str) -> str:
    """`HOST: what happened: the likely cause` of an error on the way to an engine."""
    host, causes = host_in(url), tuple(_chain(error))
    kinds = {type(cause).__name__ for cause in causes}
    for cause in causes:
        if isinstance(cause, RefusedAddressError):
            return f"{host}: not dialled: {cause}"
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
    return f"{host}: no answer: {type(error).__name__}"
