"""Several engines as one: opened together, served together, each with its own answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from builder.fetch.settings import USER_AGENT
from builder.search import SearchEngine, open_engines
from builder.search.settings import SearchConfig
from builder.sites.site_folders import HostMap
from edu_rag.errors import ConfigError


class Chain:
    """The engines of a build in their order; one engine is a chain of one."""

    def __init__(self, engines: Sequence[SearchEngine]) -> None:
        self.engines = tuple(engines)

    @property
    def name(self) -> str:
        """The engines' names, joined by commas, as in `--engine`."""
        return ",".join(engine.name for engine in self.engines)

    @contextmanager
    def serving(self) -> Iterator[HostMap]:
        """While entered, all hosts that the engines serve. Raises ConfigError if two serve the same one."""
        hosts: dict[str, tuple[str, int]] = {}
        by: dict[str, str] = {}
        with ExitStack() as stack:
            for engine in self.engines:
                for host, address in stack.enter_context(engine.serving()).items():
                    if host in hosts:
                        what = f"is served by the engines {by[host]} and {engine.name}"
                        raise ConfigError(host, what, "give one of them another name under [search.ENGINE.hosts]")
                    hosts[host], by[host] = address, engine.name
            yield hosts

    def source(self) -> Mapping[str, Any]:
        """The source that was searched: the engine's own values, or for several engines `sources` by name."""
        if len(self.engines) == 1:
            return self.engines[0].source()
        return {"sources": {engine.name: dict(engine.source()) for engine in self.engines}}


def open_chain(config: SearchConfig, user_agent: str = USER_AGENT) -> Chain | None:
    """The chain that the settings name; None for `none`. Raises ConfigError if an engine cannot be opened."""
    engines = open_engines(config, user_agent)
    return Chain(engines) if engines else None
