"""Search engines: one small protocol, results that say what happened, and the dict of engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from builder.search.settings import SearchConfig
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What an engine said to one query. `urls` are in rank order and empty unless the state is `hits`."""

    state: State
    urls: tuple[str, ...] = ()
    reason: str = ""
    retry_after_s: float | None = None
    raw: tuple[RawResponse, ...] = ()


class SearchEngine(Protocol):
    """A search engine. A refusal is a result with its state, never an empty list."""

    name: str

    def search(self, query: str, n: int) -> SearchResult:
        """Ask for the best n URLs."""
        ...

    def serving(self) -> AbstractContextManager[HostMap]:
        """While entered, the hosts that the engine serves itself (empty for engines of the real web)."""
        ...

    def source(self) -> Mapping[str, Any]:
        """What was searched, for the manifest: plain values, no paths of this machine."""
        ...


def _folder(config: SearchConfig) -> SearchEngine:
    from builder.search.folder import FolderEngine

    return FolderEngine.open(config.folder)


def _google(config: SearchConfig) -> SearchEngine:
    from builder.search.google import GoogleEngine

    return GoogleEngine(config.google)


ENGINES: Mapping[str, Callable[[SearchConfig], SearchEngine]] = {"folder": _folder, "google": _google}
NO_ENGINE = "none"


def open_engine(config: SearchConfig) -> SearchEngine | None:
    """The engine that the settings name; None for `none`. Raises ConfigError for an unknown one."""
    if config.engine == NO_ENGINE:
        return None
    if config.engine not in ENGINES:
        raise ConfigError(
            "engine", f"unknown engine {config.engine!r}", f"known are {', '.join((*ENGINES, NO_ENGINE))}"
        )
    return ENGINES[config.engine](config)
