"""Search engines: one small protocol, results that say what happened, and the dict of engines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from builder.search.settings import NO_ENGINE, SearchConfig
from edu_rag.errors import ConfigError

State = Literal["hits", "none", "rate_limited", "blocked", "failed"]
ANSWERED: tuple[State, ...] = ("hits", "none")
"""States after which a question needs no asking again; an engine that refused has not said "no results"."""

HostMap = Mapping[str, tuple[str, int]]
"""Host names that the engine serves itself, and the (address, port) where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """One response of an engine as it came: kept, so that a reading can be checked and redone."""

    url: str
    status: int
    body: bytes
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What an engine said to one query. `urls` are in rank order and empty unless the state is `hits`.

    `searched_at` is there where the engine said it at another time than now: in a recording.
    """

    state: State
    urls: tuple[str, ...] = ()
    reason: str = ""
    retry_after_s: float | None = None
    raw: tuple[RawResponse, ...] = ()
    searched_at: datetime | None = None


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
        """What was searched, for the manifest: plain values, no paths of this machine."""
        ...


ReadPages = Callable[[Sequence[RawResponse], int], SearchResult]
"""The pure half of an engine: its stored responses to one query -> the best n URLs, or what they say instead."""


def _folder(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.folder import FolderEngine

    return FolderEngine.open(config.folder)


def _zim(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.zim import ZimEngine

    return ZimEngine.open(config.zim)


def _google(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.google import GoogleEngine

    return GoogleEngine(config.google)


def _searxng(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.api import ApiEngine
    from builder.search.searxng import Searxng

    return ApiEngine(Searxng(config.searxng), config.searxng, user_agent)


def _brave(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.api import ApiEngine
    from builder.search.brave import Brave

    return ApiEngine(Brave.with_key_from(os.environ, config.brave), config.brave, user_agent)


def _wikipedia(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.api import ApiEngine
    from builder.search.wikipedia import Wikipedia

    return ApiEngine(Wikipedia(config.wikipedia), config.wikipedia, user_agent)


def _recorded(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.recorded import RecordedEngine

    return RecordedEngine.open(config.recorded, config.top)


def _crag(config: SearchConfig, user_agent: str) -> SearchEngine:
    from builder.search.crag import CragEngine

    return CragEngine.open(config.crag)


ENGINES: Mapping[str, Callable[[SearchConfig, str], SearchEngine]] = {
    "folder": _folder,
    "zim": _zim,
    "google": _google,
    "searxng": _searxng,
    "brave": _brave,
    "wikipedia": _wikipedia,
    "recorded": _recorded,
    "crag": _crag,
}


def reader_of(engine: str) -> ReadPages | None:
    """How an engine's stored responses are read; None for engines that answer from files and store none."""
    from builder.search.api import reading
    from builder.search.brave import read_brave
    from builder.search.google import read_google
    from builder.search.searxng import read_searxng
    from builder.search.wikipedia import read_wikipedia

    readers: Mapping[str, ReadPages] = {
        "google": read_google,
        "searxng": reading(read_searxng),
        "brave": reading(read_brave),
        "wikipedia": reading(read_wikipedia),
    }
    return readers.get(engine)


def open_engines(config: SearchConfig, user_agent: str) -> tuple[SearchEngine, ...]:
    """The engines of the settings' chain, in order; none for `none`. Raises ConfigError for an unknown one."""
    for name in config.chain:
        if name not in ENGINES:
            known = ", ".join((*ENGINES, NO_ENGINE))
            raise ConfigError("engine", f"unknown engine {name[:100]!r}", f"known are {known}")
    return tuple(ENGINES[name](config, user_agent) for name in config.chain)
