"""Engines that other packages bring: entry points of the group `edu_rag.engines`, each an EngineAdapter.

An adapter says how a page of results is requested and read. Our client makes the requests, so the deadline, the size
limit, the address guard, the pace and the waits hold for it too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args
from urllib.parse import urlsplit

from builder.search import ReadPages, SearchEngine
from builder.search.pace import Sleep
from builder.search.settings import SECTIONS, SearchConfig, WebEngineConfig, check_base_url
from builder.search.web.api import Api, ApiEngine, PageRead, ReadPage, reading, web_urls
from builder.search.web.guarded_connection import names_inside_address
from builder.search.web.http_question import AskingError, SearchRequest
from builder.search_results import RawResponse, State
from edu_rag.errors import ConfigError, EduRagError, FaultsError
from edu_rag.files.typed import faults_and_record, to_plain

GROUP = "edu_rag.engines"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAdapter:
    """The object that an entry point names.

    - `config`: a frozen dataclass derived from WebEngineConfig with a field `base_url`: [search.adapters.NAME]. All its
      own fields but those that end in `_variable` change the results; they are in the manifest, so none holds a key.
    - `api`: makes the interface from the settings and the environment (for keys).
    - `read`: reads one stored response; pure.
    """

    config: type[WebEngineConfig]
    api: Callable[[Any, Mapping[str, str]], Api]
    read: ReadPage


def installed() -> dict[str, EntryPoint]:
    """The entry points by name, sorted. Raises ConfigError for a name that is not free."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        if not _NAME.match(point.name):
            raise _fault(point, "its name is not one of a-z, 0-9 and hyphens, up to 40 characters")
        if point.name in SECTIONS or point.name == "none":
            raise _fault(point, "an engine of edu-rag has this name")
        if point.name in found and found[point.name].value != point.value:
            raise _fault(point, f"another package brings an engine of this name: {found[point.name].value}")
        found[point.name] = point
    return found


def _fault(point: EntryPoint, what: str) -> ConfigError:
    where = f"engine {point.name[:60]!r} of {point.value[:100]}"
    return ConfigError(where, what, "uninstall its package, or report it to its authors")


def adapter_of(name: str) -> EngineAdapter | None:
    """The adapter of this name; None if no package brings one. Raises ConfigError if it cannot be used."""
    point = installed().get(name)
    if point is None:
        return None
    try:
        adapter = point.load()
    except Exception as error:  # a stranger's module may raise anything
        raise _fault(point, f"cannot be imported: {type(error).__name__}: {str(error)[:200]}") from error
    if not isinstance(adapter, EngineAdapter):
        raise _fault(point, f"is not an EngineAdapter but {type(adapter).__name__}")
    names = {one.name for one in fields(adapter.config)}
    if not issubclass(adapter.config, WebEngineConfig) or "base_url" not in names:
        raise _fault(point, "its settings are not a WebEngineConfig with a base_url")
    return adapter


def _typed(name: str, adapter: EngineAdapter, given: Any) -> WebEngineConfig:
    """An adapter's settings. Raises FaultsError with all their faults."""
    where = f"search.adapters.{name}"
    faults, config = faults_and_record(given, adapter.config)
    if config is None:
        raise FaultsError([ConfigError(f"{where}.{fault.where}", fault.what, fault.remedy) for fault in faults])
    try:
        check_base_url(getattr(config, "base_url", ""))
    except EduRagError as error:
        raise ConfigError(f"{where}.{error.where}", error.what, error.remedy) from None
    return config


def with_all_settings(adapters: Mapping[str, Any], chain: tuple[str, ...]) -> dict[str, Any]:
    """[search.adapters] with every setting of the installed engines that are named, defaults included.

    So a crawl store holds all that an engine was asked with, and its replay does not need the engine's package.
    """
    filled = dict(adapters)
    for name in (*adapters, *chain):
        if isinstance(name, str) and name not in SECTIONS and (adapter := adapter_of(name)) is not None:
            filled[name] = to_plain(_typed(name, adapter, adapters.get(name, {})))
    return filled


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


class _Confined:
    """An adapter's interface whose requests go to its base_url's origin only, and whose errors are failed answers."""

    def __init__(self, name: str, api: Api, read: ReadPage, base_url: str) -> None:
        self.name = name
        self._api = api
        self._read = read
        self._base_url = base_url

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        try:
            request = self._api.request(query, n, page)
        except Exception as error:  # a stranger's code may raise anything
            raise AskingError(f"its adapter cannot make a request: {type(error).__name__}") from error
        if not isinstance(request, SearchRequest):
            raise AskingError(f"its adapter makes no SearchRequest but {type(request).__name__}")
        if _origin(request.url) != _origin(self._base_url):
            raise AskingError(f"its adapter asks {urlsplit(request.url).hostname}, which is not in its base_url")
        if request.secrets and not (request.url.startswith("https://") or names_inside_address(request.url)):
            raise AskingError("its adapter sends a key without https")
        return request

    def read(self, raw: RawResponse) -> PageRead:
        return reader(self._read)(raw)


def reader(read: ReadPage) -> ReadPage:
    """An adapter's reader that never raises."""

    def read_safely(raw: RawResponse) -> PageRead:
        try:
            page = read(raw)
        except Exception as error:  # a stranger's code may raise anything
            return PageRead(state="failed", reason=f"a page that breaks its reader: {type(error).__name__}")
        if not isinstance(page, PageRead) or not all(isinstance(url, str) for url in page.urls):
            return PageRead(state="failed", reason="its adapter reads a page into something else than addresses")
        page = replace(page, urls=web_urls(page.urls))
        if page.state not in get_args(State) or (page.state == "hits") != bool(page.urls):
            return PageRead(state="failed", reason="its adapter reads a page in a way that makes no sense")
        return page

    return read_safely


def open_added(name: str, config: SearchConfig, user_agent: str, sleep: Sleep, proxy: str = "") -> SearchEngine:
    """The engine that a package brings under this name, opened. Raises ConfigError."""
    adapter = adapter_of(name)
    if adapter is None:
        raise ConfigError(f"engine {name}", "no installed package brings it", "install its package")
    settings = _typed(name, adapter, config.adapters.get(name, {}))
    base_url: str = getattr(settings, "base_url", "")
    try:
        api = adapter.api(settings, os.environ)
    except EduRagError:
        raise
    except Exception as error:  # a stranger's code may raise anything
        raise ConfigError(f"engine {name}", f"cannot be opened: {type(error).__name__}: {str(error)[:200]}") from error
    confined = _Confined(name, api, adapter.read, base_url)
    # An inside address is dialled only if base_url itself is one.
    guarded = not names_inside_address(base_url)
    return ApiEngine(confined, settings, user_agent, sleep, guarded=guarded, proxy=proxy)


def added_reader(name: str) -> ReadPages | None:
    """How the stored responses of an added engine are read."""
    adapter = adapter_of(name)
    return None if adapter is None else reading(reader(adapter.read))
