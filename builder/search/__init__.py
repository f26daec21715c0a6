"""Search engines: one small protocol, and the dict of engines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from builder.search.pace import Sleep
from builder.search.settings import NO_ENGINE, SearchConfig
from builder.search_results import RawResponse, SearchResult
from builder.sites.site_folders import HostMap
from edu_rag.errors import ConfigError


class SearchEngine(Protocol):
    """A search engine. A refusal is a result with its state, never an empty list."""

    @property
    def name(self) -> str:
        """Its name in `ENGINES`, under which its answers are stored."""
        ...

    def search(self, query: str, n: int) -> SearchResult:
        """Ask for the best n URLs."""
        ...

    def serving(self) -> AbstractContextManager[HostMap]:
        """While entered, the hosts that the engine serves itself (empty for engines of the real web)."""
        ...

    def source(self) -> Mapping[str, Any]:
        """The source that was searched, for the manifest: plain values, no paths of this machine."""
        ...


ReadPages = Callable[[Sequence[RawResponse], int], SearchResult]
"""The pure half of an engine: its stored responses to one query -> the best n URLs, or the reason for having none."""


def _folder(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.folder_engine import FolderEngine

    return FolderEngine.open(config.folder)


def _zim(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.zim_engine import ZimEngine

    return ZimEngine.open(config.zim)


def _google(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.google import GoogleEngine

    return GoogleEngine(config.google, sleep, proxy=proxy)


def _searxng(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.searxng import Searxng
    from builder.search.web.api import ApiEngine

    return ApiEngine(Searxng(config.searxng), config.searxng, user_agent, sleep, proxy=proxy)


def _brave(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.brave import Brave
    from builder.search.web.api import ApiEngine

    return ApiEngine(Brave.with_key_from(os.environ, config.brave), config.brave, user_agent, sleep, proxy=proxy)


def _serper(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.serper import Serper
    from builder.search.web.api import ApiEngine

    api = Serper.with_key_from(os.environ, config.serper)
    return ApiEngine(api, config.serper, user_agent, sleep, proxy=proxy)


def _ddgs(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.ddgs_engine import DdgsEngine

    return DdgsEngine.open(config.ddgs, sleep, proxy=proxy)


def _wikipedia(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.wikipedia import Wikipedia
    from builder.search.web.api import ApiEngine

    return ApiEngine(Wikipedia(config.wikipedia), config.wikipedia, user_agent, sleep, proxy=proxy)


def _recorded(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.recorded_engine import RecordedEngine

    return RecordedEngine.open(config.recorded, config.top)


def _crag(config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    from builder.search.engines.crag_engine import CragEngine

    return CragEngine.open(config.crag)


ENGINES: Mapping[str, Callable[[SearchConfig, str, Sleep, str], SearchEngine]] = {
    "folder": _folder,
    "zim": _zim,
    "google": _google,
    "searxng": _searxng,
    "brave": _brave,
    "wikipedia": _wikipedia,
    "serper": _serper,
    "ddgs": _ddgs,
    "recorded": _recorded,
    "crag": _crag,
}


def reader_of(engine: str) -> ReadPages | None:
    """How an engine's stored responses are read; None for engines that answer from files and store none."""
    from builder.search.engines.brave import read_brave
    from builder.search.engines.ddgs_engine import read_ddgs
    from builder.search.engines.google import read_google
    from builder.search.engines.searxng import read_searxng
    from builder.search.engines.serper import read_serper
    from builder.search.engines.wikipedia import read_wikipedia
    from builder.search.web.api import reading

    readers: Mapping[str, ReadPages] = {
        "google": read_google,
        "searxng": reading(read_searxng),
        "brave": reading(read_brave),
        "wikipedia": reading(read_wikipedia),
        "serper": reading(read_serper),
        "ddgs": read_ddgs,
    }
    if engine in ENGINES:
        return readers.get(engine)
    from builder.search.adapters import added_reader

    return added_reader(engine)


def open_engines(
    config: SearchConfig, user_agent: str, sleep: Sleep = time.sleep, *, proxy: str = ""
) -> tuple[SearchEngine, ...]:
    """The engines of the settings' chain, in order; none for `none`. Raises ConfigError for an unknown one.

    `proxy` is the setting of [fetch] (see builder.fetch.proxies).
    """
    check_names(config)
    return tuple(_open(name, config, user_agent, sleep, proxy) for name in config.chain)


def check_names(config: SearchConfig) -> None:
    """Raise ConfigError for an engine, or a section of settings, that neither we nor an installed package bring."""
    if not config.adapters and all(name in ENGINES for name in config.chain):
        return
    from builder.search.adapters import installed

    added = installed()
    for name in config.chain:
        if name not in ENGINES and name not in added:
            known = ", ".join((*ENGINES, *added, NO_ENGINE))
            raise ConfigError("engine", f"unknown engine {name[:100]!r}", f"known are {known}")
    for name in config.adapters:
        if name not in added:  # a slip: its settings would change nothing
            what = "settings of an engine that no installed package brings"
            raise ConfigError(f"search.adapters.{name[:100]}", what, "install its package, or remove the section")


def _open(name: str, config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str) -> SearchEngine:
    if name in ENGINES:
        return ENGINES[name](config, user_agent, sleep, proxy)
    from builder.search.adapters import open_added

    return open_added(name, config, user_agent, sleep, proxy)
