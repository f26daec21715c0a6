"""Engines with a JSON interface: asked page by page, and each response read by a pure function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from builder.search import ReadPages
from builder.search.pace import Pace, Sleep
from builder.search.settings import WebEngineConfig
from builder.search.web.http_question import Asker, AskingError, SearchRequest
from builder.search_results import RawResponse, SearchResult, State
from builder.sites.site_folders import HostMap

MAX_PAGES = 10
_BLOCKED = frozenset({401, 402, 403, 407, 451})
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """The content of one response: URLs (`hits` or `none`) and whether a further page may hold more; or a refusal."""

    state: State
    urls: tuple[str, ...] = ()
    reason: str = ""
    more: bool = False


ReadPage = Callable[[RawResponse], PageRead]


class Api(Protocol):
    """One JSON interface: how a page of results is asked for, and how it is read."""

    @property
    def name(self) -> str:
        """The engine's name."""
        ...

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        """The request for the page `page`, counted from 0, of n results in all."""
        ...

    def read(self, raw: RawResponse) -> PageRead:
        """Read a response. Never raises, for any content."""
        ...


def refusal_of(raw: RawResponse, remedy: str = "") -> PageRead | None:
    """The refusal that a response's status alone shows; None if its body must be read."""
    if raw.status == 200:
        return None
    if raw.status == 429:
        return PageRead(state="rate_limited", reason="429 Too Many Requests")
    if raw.status in _BLOCKED:
        return PageRead(state="blocked", reason=f"HTTP status {raw.status}" + (f": {remedy}" if remedy else ""))
    if raw.status == 503 and raw.retry_after_s is not None:
        return PageRead(state="rate_limited", reason="503 Service Unavailable, to be asked later")
    return PageRead(state="failed", reason=f"HTTP status {raw.status}")


def decoded(raw: RawResponse, shape: type[T]) -> T | PageRead:
    """The JSON of a response as `shape`, or a failure that names its real content."""
    if raw.body.lstrip()[:1] == b"<":
        return PageRead(state="failed", reason="HTML instead of JSON")
    try:
        return msgspec.json.decode(raw.body, type=shape)
    except msgspec.ValidationError as error:
        return PageRead(state="failed", reason=f"its JSON has changed: {str(error)[:200]}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return PageRead(state="failed", reason="an answer that is no JSON")


def web_urls(urls: Sequence[str]) -> tuple[str, ...]:
    """The URLs that are http(s) addresses, in order; an engine's other results are not pages."""
    return tuple(url for url in urls if url.startswith(("http://", "https://")))


def reading(read: ReadPage) -> ReadPages:
    """All pages of one query read as one result. A refusal on any page is the whole answer: no short list passes."""

    def read_pages(raw: Sequence[RawResponse], n: int) -> SearchResult:
        urls: dict[str, None] = {}
        page = PageRead(state="failed", reason="no response")
        for response in raw:
            page = read(response)
            if page.state not in ("hits", "none"):
                return SearchResult(
                    state=page.state, reason=page.reason, retry_after_s=response.retry_after_s, raw=tuple(raw)
                )
            urls.update(dict.fromkeys(page.urls))
        if urls:
            return SearchResult(state="hits", urls=tuple(urls)[:n], raw=tuple(raw))
        return SearchResult(state=page.state, reason=page.reason, raw=tuple(raw))

    return read_pages


class ApiEngine:
    """A SearchEngine over one JSON interface."""

    def __init__(
        self,
        api: Api,
        config: WebEngineConfig,
        user_agent: str,
        sleep: Sleep = time.sleep,
        *,
        guarded: bool = False,
        proxy: str = "",
    ) -> None:
        self._api = api
        self._asker = Asker(timeout_s=config.timeout_s, user_agent=user_agent, guarded=guarded, proxy=proxy)
        self._pace = Pace(config.pause_s, sleep)

    @property
    def name(self) -> str:
        """The interface's name."""
        return self._api.name

    def search(self, query: str, n: int) -> SearchResult:
        """Ask page after page until there are n URLs, no more pages, or a refusal."""
        raw: list[RawResponse] = []
        read = reading(self._api.read)
        for page in range(MAX_PAGES):
            n_before = len(read(raw, n).urls)
            self._pace.turn()
            try:
                raw.append(self._asker.ask(self._api.request(query, n, page)))
            except AskingError as error:
                raw += [error.raw] if error.raw is not None else []
                return SearchResult(state="failed", reason=error.reason, raw=tuple(raw))
            result = read(raw, n)
            is_longer = n_before < len(result.urls) < n
            if not (is_longer and self._api.read(raw[-1]).more):
                break
        return result

    def serving(self) -> AbstractContextManager[HostMap]:
        """Its results are on the real web: nothing is served here."""
        return nullcontext({})

    def source(self) -> Mapping[str, Any]:
        """Nothing beyond the settings: only the engine knows its index."""
        return {}
