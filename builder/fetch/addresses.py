"""Which URLs and addresses may be dialled: only public ones. Names resolve and sockets open to nothing else."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

from builder.urls import MAX_URL_CHARACTERS, literal_address
from edu_rag.public_addresses import is_public

if TYPE_CHECKING:
    from builder.sites.site_folders import HostMap


PORTS = {"http": 80, "https": 443}


class RefusedAddressError(OSError):
    """An address that we do not dial: an OSError, so that aiohttp keeps it as the cause."""


def check_url(url: str) -> None:
    """Raise RefusedAddressError for another scheme, credentials, an odd port, or a literal inside address.

    It also does so for a URL that is too long to be a page's: no canonical URL could name its target.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise RefusedAddressError(f"the URL has {len(url):,} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        # No exception for served hosts: aiohttp dials a literal address without asking the resolver.
        literal = literal_address(host)
    except ValueError as error:
        raise RefusedAddressError(str(error)) from None
    if parts.scheme not in PORTS or not host:
        raise RefusedAddressError(f"scheme {parts.scheme!r} is not http or https")
    if "@" in parts.netloc or "\\" in parts.netloc:
        raise RefusedAddressError("the URL carries a user name")
    if port is not None and port not in PORTS.values():
        raise RefusedAddressError(f"port {port} is not 80 or 443")
    if literal is not None and not is_public(literal):
        raise RefusedAddressError(f"{literal} is not a public address")


Lookup = Callable[[str], Awaitable[list[str]]]
"""Finds the addresses of a host. Raises OSError."""
NOT_PUBLIC = "which is not a public address"
"""How the detail ends where a name leads inside."""
_CACHED, _CACHED_S, _FAILED_S = 4_096, 120.0, 600.0


def system_lookup(host: str) -> list[str]:
    """The addresses of a host, as the system finds them; it blocks. Raises OSError."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"no host name: {error}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


Doors = set[tuple[str, int]]
"""Addresses and names, each with a port, that may be dialled although they are not public: those of proxies."""


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be dialled. Exactly these addresses are dialled, which prevents rebinding.

    A name is looked up once for all who wait for it; one without an address is not asked for again for some minutes.
    """

    def __init__(self, hosts: HostMap, lookup: Lookup, proxies: Doors) -> None:
        self._hosts, self._proxies = hosts, proxies
        self._lookup = lookup
        self._running: dict[str, asyncio.Task[list[str] | OSError]] = {}
        self._cache: OrderedDict[str, tuple[float, list[str] | OSError]] = OrderedDict()
        self._outdated: set[str] = set()  # names whose running lookup may fail because of an outage

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises RefusedAddressError if one is not public."""
        if host in self._hosts:
            address, mapped = self._hosts[host]
            return [_result(host, address, mapped)]
        if (host, port) in self._proxies:
            found = await self._lookup(host)
            self._proxies.update((address, port) for address in found)
            return [_result(host, address, port) for address in found]
        return [_result(host, address, port) for address in await self.addresses(host)]

    async def addresses(self, host: str) -> list[str]:
        """The addresses of a host that is not served here. Raises OSError, RefusedAddressError."""
        known = self._cache.get(host)
        if known is None or known[0] <= time.monotonic():
            if host not in self._running:
                self._running[host] = asyncio.create_task(self._learn(host))
            found = await asyncio.shield(self._running[host])
        else:
            found = known[1]
        if isinstance(found, OSError):
            raise found.with_traceback(None)
        return found

    async def _learn(self, host: str) -> list[str] | OSError:
        try:
            found: list[str] | OSError = await self._checked(host)
        except OSError as error:
            found = error
        finally:
            del self._running[host]
        is_outdated = host in self._outdated
        self._outdated.discard(host)
        if isinstance(found, OSError) and is_outdated:
            return found
        self._cache[host] = (time.monotonic() + (_FAILED_S if isinstance(found, OSError) else _CACHED_S), found)
        self._cache.move_to_end(host)
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return found

    async def _checked(self, host: str) -> list[str]:
        try:
            literal = literal_address(host)
        except ValueError as error:
            raise RefusedAddressError(str(error)) from None
        found = [str(literal)] if literal is not None else await self._lookup(host)
        if not found:
            raise OSError(f"{host} has no address")
        for address in found:
            # One private address among public ones is a rebinding trick: refuse them all.
            if not is_public(ipaddress.ip_address(address.split("%")[0])):
                raise RefusedAddressError(f"{host} is {address}, {NOT_PUBLIC}")
        return found

    def forget_failures(self, concerns: Callable[[str], bool]) -> None:
        """Ask again for those of the names that have no address: the name service may not have been there."""
        self._outdated.update(filter(concerns, self._running))
        for host in [host for host, (_, found) in self._cache.items() if isinstance(found, OSError)]:
            if concerns(host):
                del self._cache[host]

    async def close(self) -> None:
        """Nothing to let go of: the lookup belongs to its maker."""


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)


def guarded_sockets(hosts: HostMap, proxies: Doors) -> Callable[[Any], socket.socket]:
    """A socket factory for aiohttp that checks the address to be dialled, whichever way it was found.

    It raises RefusedAddressError for an address that is neither public, on port 80 or 443, nor served by the engine,
    nor a proxy's.
    """
    served = frozenset((address, port) for address, port in hosts.values())

    def open_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        host, port = str(address[0]).split("%")[0], int(address[1])
        if (host, port) in served or (host, port) in proxies:
            return socket.socket(family=family, type=kind, proto=protocol)
        if not (is_public(ipaddress.ip_address(host)) and port in PORTS.values()):
            raise RefusedAddressError(f"{host} port {port} is not to be dialled")
        return socket.socket(family=family, type=kind, proto=protocol)

    return open_socket
