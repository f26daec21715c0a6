"""The connections of a crawl: those that are kept for the next request, and new ones for what is fetched again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING

import aiohttp

from builder.fetch.addresses import Doors, guarded_sockets
from builder.fetch.guarded_resolver import GuardedResolver

if TYPE_CHECKING:
    from builder.fetch.settings import FetchConfig
    from builder.sites.site_folders import HostMap

ACCEPT = "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5"
_MAX_FIELD_BYTES = 16_380


class Connections:
    """Sessions for requests; to be entered.

    A kept connection may lead to a captive portal, which answers on it after the network is back. So probes, and what
    is fetched again, get a connection to the address that the host has now, and an outage ends the kept ones.
    """

    def __init__(self, settings: FetchConfig, hosts: HostMap, names: GuardedResolver, proxies: Doors) -> None:
        self._make: Callable[[bool], aiohttp.ClientSession] = lambda keeps: _session(
            settings,
            aiohttp.TCPConnector(
                resolver=names,
                socket_factory=guarded_sockets(hosts, proxies),
                limit=0,
                use_dns_cache=False,
                force_close=not keeps,
            ),
        )

    async def __aenter__(self) -> Connections:
        self._open = AsyncExitStack()
        self._new = await self._open.enter_async_context(self._make(False))
        self.renew()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def session(self, *, is_new: bool) -> aiohttp.ClientSession:
        """A session whose connections are new, or may be kept ones."""
        return self._new if is_new else self._kept

    def renew(self) -> None:
        """Use no connection of before any more. Requests under way go on; idle connections close after some seconds."""
        self._kept = self._make(True)
        self._open.push_async_callback(self._kept.close)


def _session(settings: FetchConfig, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # inflating is ours, bounded: see builder.fetch.body
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None),
        max_line_size=_MAX_FIELD_BYTES,
        max_field_size=_MAX_FIELD_BYTES,
        read_bufsize=65_536,
        headers={"User-Agent": settings.agent_header, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate"},
    )
