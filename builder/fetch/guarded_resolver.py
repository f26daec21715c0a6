"""The names of hosts, looked up once each for all who wait for them; only addresses that may be dialled come of it.

Apart from the rules for addresses, which the settings need: aiohttp takes a third of a second to load.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult

from builder.fetch.addresses import NOT_PUBLIC, Doors, Lookup, RefusedAddressError, with_route
from builder.urls import literal_address
from edu_rag.network.public_addresses import is_public

if TYPE_CHECKING:
    from builder.sites.site_folders import HostMap

_CACHED, _CACHED_S, _FAILED_S = 4_096, 120.0, 600.0


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be dialled. Exactly these addresses are dialled, which prevents rebinding.

    A name is looked up once for all who wait for it; one without an address is not asked for again for some minutes.
    """

    def __init__(self, hosts: HostMap, lookup: Lookup, proxies: Doors) -> None:
        self._hosts, self._proxies = hosts, proxies
        self._lookup = lookup
        self._running: dict[str, asyncio.Task[list[str] | OSError]] = {}
        self._cache: OrderedDict[str, tuple[float, list[str] | OSError]] = OrderedDict()
        self._outdated: set[str] = set()  # names whose running lookup may meet an outage

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises RefusedAddressError if one is not public."""
        if host in self._hosts:
            address, mapped = self._hosts[host]
            return [_result(host, address, mapped)]
        if (host, port) in self._proxies:
            found = with_route(host, await self._lookup(host))
            self._proxies.update((address, port) for address in found)
            return [_result(host, address, port) for address in found]
        return [_result(host, address, port) for address in await self.addresses(host)]

    async def addresses(self, host: str) -> list[str]:
        """The addresses of a host that is not served here. Raises OSError, RefusedAddressError, NoRouteError."""
        known = self._cache.get(host)
        if known is None or known[0] <= time.monotonic():
            if host not in self._running:
                self._running[host] = asyncio.create_task(self._learn(host))
            found = await asyncio.shield(self._running[host])
        else:
            found = known[1]
        if isinstance(found, OSError):
            raise found.with_traceback(None)
        return with_route(host, found)

    async def _learn(self, host: str) -> list[str] | OSError:
        try:
            found: list[str] | OSError = await self._checked(host)
        except OSError as error:
            found = error
        finally:
            del self._running[host]
        is_outdated = host in self._outdated
        self._outdated.discard(host)
        if is_outdated:
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

    def forget(self, concerns: Callable[[str], bool]) -> None:
        """Ask again for these names: the name service may not have been there, or a portal may have answered for it."""
        self._outdated.update(filter(concerns, self._running))
        for host in list(filter(concerns, self._cache)):
            del self._cache[host]

    async def close(self) -> None:
        """Nothing to let go of: the lookup belongs to its maker."""


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
