"""The two last doors before the wire: names resolve to public addresses only, and sockets open to nothing else."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from aiohttp.abc import AbstractResolver, ResolveResult

from builder.fetch.addresses import PORTS, RefusedAddressError, is_public
from builder.urls import literal_address

if TYPE_CHECKING:
    from builder.sites.site_folders import HostMap

Lookup = Callable[[str], list[str]]
_THREADS = 64
_CACHED, _CACHED_S = 2_048, 120.0


def system_lookup(host: str) -> list[str]:
    """The addresses of a host, as the system finds them. Raises OSError."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"no host name: {error}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be dialled. Exactly these addresses are dialled, which prevents rebinding.

    Lookups wait in separate threads, so that slow name servers do not delay other work.
    """

    def __init__(self, hosts: HostMap, lookup: Lookup = system_lookup) -> None:
        self._hosts = hosts
        self._lookup = lookup
        self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="dns")
        self._cache: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises RefusedAddressError if one is not public."""
        if host in self._hosts:
            address, mapped = self._hosts[host]
            return [_result(host, address, mapped)]
        return [_result(host, address, port) for address in await self._addresses(host)]

    async def _addresses(self, host: str) -> list[str]:
        known = self._cache.get(host)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        found = await self._look_up(host)
        for address in found:
            # One private address among public ones is a rebinding trick: refuse them all.
            if not is_public(ipaddress.ip_address(address.split("%")[0])):
                raise RefusedAddressError(f"{host} is {address}, which is not a public address")
        self._cache[host] = (time.monotonic() + _CACHED_S, found)
        self._cache.move_to_end(host)
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return found

    async def _look_up(self, host: str) -> list[str]:
        try:
            literal = literal_address(host)
        except ValueError as error:
            raise RefusedAddressError(str(error)) from None
        if literal is not None:
            return [str(literal)]
        found = await asyncio.get_running_loop().run_in_executor(self._pool, self._lookup, host)
        if not found:
            raise OSError(f"{host} has no address")
        return found

    async def close(self) -> None:
        """Let go of the threads; lookups that hang are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)


def guarded_sockets(hosts: HostMap) -> Callable[[Any], socket.socket]:
    """A socket factory for aiohttp that checks the address to be dialled, whichever way it was found.

    It raises RefusedAddressError for an address that is neither public, on port 80 or 443, nor served by the engine.
    """
    served = frozenset((address, port) for address, port in hosts.values())

    def open_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        host, port = str(address[0]).split("%")[0], int(address[1])
        if (host, port) not in served and not (is_public(ipaddress.ip_address(host)) and port in PORTS.values()):
            raise RefusedAddressError(f"{host} port {port} is not to be dialled")
        return socket.socket(family=family, type=kind, proto=protocol)

    return open_socket
