"""Fetching web pages over HTTP, politely and guarded: the one place with async code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from builder.clock import Clock
from builder.fetch.fetched import Fetched, Validators, is_transient, validators_of, was_given_up
from builder.fetch.machine_use_signals import reserves_rights
from builder.urls import host_of
from edu_rag.progress import say

if TYPE_CHECKING:
    from builder.fetch.addresses import Lookup
    from builder.fetch.outage import Monotonic, Pause
    from builder.fetch.settings import FetchConfig
    from builder.sites.site_folders import HostMap

__all__ = [
    "ContactWarning",
    "Fetched",
    "Validators",
    "fetch_all",
    "is_transient",
    "reserves_rights",
    "validators_of",
    "was_given_up",
]
NO_CONTACT = (
    "fetch: no contact is given: set [fetch] contact to your e-mail address or a page about this crawl, so that search"
    " engines and the owners of sites can reach you"
)


class ContactWarning:
    """Warns once, when it is first called, if the settings give no contact: engines and sites get the user agent."""

    def __init__(self, settings: FetchConfig) -> None:
        self._is_due = not settings.contact

    def __call__(self) -> None:
        """Say it, before the first request that leaves this machine."""
        if self._is_due:
            self._is_due = False
            say(NO_CONTACT)


def _with_warning(urls: Iterable[str], hosts: HostMap, warn: ContactWarning) -> Iterator[str]:
    """The URLs as they are; a warning before the first that leaves this machine."""
    for url in urls:
        if host_of(url) not in hosts:
            warn()
        yield url


def fetch_all(
    urls: Iterable[str],
    settings: FetchConfig,
    hosts: HostMap,
    now: Clock,
    sink: Callable[[Fetched], None],
    *,
    validators: Mapping[str, Validators] | None = None,
    lookup: Lookup | None = None,
    landmarks: Iterable[str] = (),
    warn: ContactWarning | None = None,
    monotonic: Monotonic = time.monotonic,
    sleep: Pause | None = None,
) -> None:
    """Fetch every URL once and hand each result to `sink`, one at a time, in the order in which they arrive.

    `hosts` maps host names to (address, port) on loopback; every other address must be public. A page's failure
    (time-outs, refusals, bombs) is an outcome; only an error raised by `sink` ends the fetching, and OutageError if
    the network stays away. `validators` make the request for their URL conditional; `lookup` finds a host's addresses
    (default: the name servers of the settings, or the system's); `landmarks` are pages that were there some time ago;
    `warn` may have warned before.
    """
    import asyncio  # here, because most commands of the builder never fetch

    from builder.fetch.client import crawl
    from builder.fetch.name_lookup import NameServers
    from builder.fetch.settings import server_of

    live = _with_warning(urls, hosts, warn or ContactWarning(settings))

    async def run() -> None:
        names = NameServers([server_of(settings.resolver)] if settings.resolver else None, settings.name_timeout_s)
        await crawl(
            live,
            settings,
            hosts,
            now,
            sink,
            validators or {},
            lookup or names,
            landmarks=landmarks,
            monotonic=monotonic,
            sleep=sleep or asyncio.sleep,
        )

    try:
        asyncio.run(run())
    except BaseExceptionGroup as group:
        # The callers know our error tree, not task groups.
        raise group.exceptions[0] from None
