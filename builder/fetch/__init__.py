"""Fetching web pages over HTTP, politely and guarded: the one place with async code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from builder.clock import Clock
from builder.fetch.fetched import Fetched, Validators, is_transient, validators_of, was_given_up
from builder.fetch.machine_use_signals import reserves_rights
from builder.urls import host_of
from edu_rag.progress import say

if TYPE_CHECKING:
    from builder.fetch.addresses import Lookup
    from builder.fetch.settings import FetchConfig
    from builder.sites.site_folders import HostMap

__all__ = ["Fetched", "Validators", "fetch_all", "is_transient", "reserves_rights", "validators_of", "was_given_up"]
NO_CONTACT = (
    "fetch: no contact is given: set [fetch] contact to your e-mail address or a page about this crawl, so that the"
    " owners of sites can reach you"
)


def _with_warning(urls: Iterable[str], settings: FetchConfig, hosts: HostMap) -> Iterator[str]:
    """The URLs as they are; one word of warning before the first that leaves this machine."""
    warned = bool(settings.contact)
    for url in urls:
        if not warned and host_of(url) not in hosts:
            warned = True
            say(NO_CONTACT)
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
) -> None:
    """Fetch every URL once and hand each result to `sink`, one at a time, in the order in which they arrive.

    `hosts` maps host names to (address, port) on loopback; every other address must be public. A page's failure
    (time-outs, refusals, bombs) is an outcome; only an error raised by `sink` ends the fetching. `validators` make the
    request for their URL conditional; `lookup` finds a host's addresses (default: the system's resolver).
    """
    from builder.fetch.addresses import system_lookup
    from builder.fetch.client import crawl

    live = _with_warning(urls, settings, hosts)
    try:
        asyncio.run(crawl(live, settings, hosts, now, sink, validators or {}, lookup or system_lookup))
    except BaseExceptionGroup as group:
        # The callers know our error tree, not task groups.
        raise group.exceptions[0] from None
