"""The `ddgs` engine: the library of that name, which reads the result pages of several search engines, without a key.

The library says "no results" for a page that refuses it and for a page without results. So an empty answer counts only
if a control query, which always has results, finds some right after it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from builder.fetch.proxies import proxy_for
from builder.search.pace import Pace, Sleep
from builder.search.settings import DdgsConfig
from builder.search.web.api import web_urls
from builder.search.web.failure_causes import ONLINE
from builder.search_results import RawResponse, SearchResult
from builder.sites.site_folders import HostMap
from edu_rag.errors import ConfigError, MissingExtraError

NAME = "ddgs"
MAX_PAGES = 3
_BEHIND = "the search engines behind ddgs"
LIMITED = f"no result, and none for the control query either: {_BEHIND} limit or block this machine"
_OK, _LIMITED, _TIMEOUT, _FAILED = 200, 429, 504, 502
_ANY_URL = "https://duckduckgo.com/"
"""Decides on the proxy for all back ends."""
_NOTHING = "No results found."
_OFFLINE = ("dns error", "failed to lookup", "network is unreachable", "no route to host")
_REFUSED = ("connection refused",)


class Library(Protocol):
    """The part of `ddgs.DDGS` that is used."""

    def text(self, query: str, **options: Any) -> list[dict[str, Any]]:
        """Results with `href`; raises if there are none."""
        ...


class _Result(msgspec.Struct):
    href: str


class _Kept(msgspec.Struct):
    """One call of the library as it is stored: its results, or the reason for having none."""

    results: list[_Result]
    error: str = ""
    is_control: bool = False


def _decoded(raw: RawResponse) -> _Kept | None:
    try:
        return msgspec.json.decode(raw.body, type=_Kept)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _why_empty(calls: Sequence[_Kept], raw: tuple[RawResponse, ...]) -> SearchResult:
    if not calls[-1].is_control:
        return SearchResult(state="failed", reason="an empty answer without its control query", raw=raw)
    if web_urls([one.href for one in calls[-1].results]):
        return SearchResult(state="none", raw=raw)
    return SearchResult(state="rate_limited", reason=LIMITED, raw=raw)


def read_ddgs(raw: Sequence[RawResponse], n: int) -> SearchResult:
    """The stored calls of one query: its pages, and the control query if they were empty."""
    kept, calls = tuple(raw), [_decoded(one) for one in raw]
    if not calls:
        return SearchResult(state="failed", reason="no response")
    whole = [call for call in calls if call is not None]
    if len(whole) < len(calls):
        return SearchResult(state="failed", reason="a stored answer that is not one of ddgs", raw=kept)
    last = kept[-1]
    if last.status == _LIMITED:
        return SearchResult(state="rate_limited", reason=whole[-1].error or "limited", raw=kept)
    if last.status != _OK:
        return SearchResult(state="failed", reason=whole[-1].error or f"status {last.status}", raw=kept)
    found = [one.href for call in whole if not call.is_control for one in call.results]
    urls = tuple(dict.fromkeys(web_urls(found)))[:n]
    return SearchResult(state="hits", urls=urls, raw=kept) if urls else _why_empty(whole, kept)


def _failure(error: Exception, timeout_s: float) -> tuple[int, str]:
    """The status to store for an error of the library, and the reason; its text may hold the whole request."""
    kind, text = type(error).__name__, str(error)
    if kind == "RatelimitException":
        return _LIMITED, f"{_BEHIND} say that the rate is too high"
    if kind == "TimeoutException" or "timed out" in text.lower():
        return _TIMEOUT, f"{_BEHIND} gave no answer within {timeout_s:g} s"
    if kind == "DDGSException" and text == _NOTHING:
        return _OK, ""
    low = text.lower()
    if any(mark in low for mark in _OFFLINE):
        return _FAILED, f"{_BEHIND} cannot be reached: {ONLINE}"
    if any(mark in low for mark in _REFUSED):
        return _FAILED, f"{_BEHIND} refuse connections"
    return _FAILED, f"{_BEHIND} gave no answer: {text.partition(':')[0][:60] or kind}"


def _library(proxy: str | None, timeout_s: int) -> Library:
    """The library with this proxy or, for None, with none: it would take one from the environment on its own."""
    from ddgs.ddgs import DDGS  # `ddgs.DDGS` is a stand-in for this class, which cannot be derived from

    class Ours(DDGS):
        def _get_engines(self, category: str, backend: str) -> list[Any]:
            self._proxy = proxy  # DDGS_PROXY would count where there is none
            backends: list[Any] = super()._get_engines(category, backend)
            for one in backends:
                # A client that is made without a proxy reads HTTPS_PROXY; one whose proxy is taken away does not.
                one.http_client.client.proxy = proxy
            return backends

    return Ours(proxy=proxy, timeout=timeout_s)


class DdgsEngine:
    """The back ends of ddgs, asked in the order of the settings until there are enough results.

    The library opens its own connections: our address guard and size limit do not hold for them.
    """

    name = NAME

    def __init__(self, library: Callable[[], Library], config: DdgsConfig, sleep: Sleep = time.sleep) -> None:
        self._library = library
        self._config = config
        self._pace = Pace(config.pause_s, sleep)

    @classmethod
    def open(cls, config: DdgsConfig, sleep: Sleep = time.sleep, *, proxy: str = "") -> DdgsEngine:
        """Raises MissingExtraError without the library, ConfigError for a back end that it does not know."""
        try:
            import ddgs  # noqa: F401  # what an installation lacks as a whole
            from ddgs.engines import ENGINES as BACKENDS
        except ImportError:
            raise MissingExtraError("engine ddgs", "needs ddgs", "pip install 'edu-rag-bench[ddgs]'") from None
        known = sorted(BACKENDS["text"])
        for name in config.backends:
            if name not in known:  # the library would ask all of them instead
                what = f"ddgs has no back end {name!r} for text"
                raise ConfigError("search.ddgs.backends", what, f"known are {', '.join(known)}")
        timeout_s = max(1, round(config.timeout_s))
        through = proxy_for(_ANY_URL, proxy)
        return cls(lambda: _library(through, timeout_s), config, sleep)

    def _call(self, query: str, n: int, page: int) -> list[dict[str, Any]]:
        return self._library().text(
            query,
            region=self._config.region,
            safesearch=self._config.safesearch,
            max_results=n,
            page=page + 1,
            backend=",".join(self._config.backends),
        )

    def _in_time(self, query: str, n: int, page: int) -> list[dict[str, Any]]:
        """The library's results. Its time limit is one of each request: the whole call gets one from us."""
        answers: queue.SimpleQueue[list[dict[str, Any]] | Exception] = queue.SimpleQueue()

        def answer() -> None:
            try:
                answers.put(self._call(query, n, page))
            except Exception as error:  # the library raises whatever its parsers do
                answers.put(error)

        threading.Thread(target=answer, name="ddgs", daemon=True).start()
        limit_s = self._config.timeout_s * (len(self._config.backends) + 1)
        try:
            got = answers.get(timeout=limit_s)
        except queue.Empty:
            raise TimeoutError("timed out") from None
        if isinstance(got, Exception):
            raise got
        return got

    def _ask(self, query: str, n: int, page: int, *, is_control: bool = False) -> RawResponse:
        self._pace.turn()
        found: list[dict[str, Any]] = []
        status, error = _OK, ""
        try:
            found = self._in_time(query, n, page)
        except Exception as problem:  # see _in_time
            status, error = _failure(problem, self._config.timeout_s)
        results = [_Result(href=str(one.get("href", ""))[:10_000]) for one in found]
        where = urlencode({"q": query, "page": page + 1, "backend": ",".join(self._config.backends)})
        kept = _Kept(results=results, error=error, is_control=is_control)
        return RawResponse(url=f"ddgs:text?{where}", status=status, body=msgspec.json.encode(kept))

    def search(self, query: str, n: int) -> SearchResult:
        """Ask page after page until there are n URLs or no new ones; an empty answer is checked."""
        raw: list[RawResponse] = []
        query = " ".join(query.split())
        for page in range(MAX_PAGES):
            n_before = len(read_ddgs(raw, n).urls) if raw else 0
            raw.append(self._ask(query, n, page))
            result = read_ddgs(raw, n)
            if raw[-1].status != _OK or not n_before < len(result.urls) < n:
                break
        if raw[-1].status == _OK and not result.urls:
            raw.append(self._ask(self._config.control_query, n, 0, is_control=True))
        return read_ddgs(raw, n)

    def serving(self) -> AbstractContextManager[HostMap]:
        """Its results are on the real web: nothing is served here."""
        return nullcontext({})

    def source(self) -> Mapping[str, Any]:
        """The library that read the result pages, with its version."""
        from importlib.metadata import version

        return {"library": f"ddgs {version('ddgs')}"}
