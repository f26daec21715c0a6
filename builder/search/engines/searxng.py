"""The `searxng` engine: your own SearXNG instance, asked for JSON."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from builder.search.settings import SearxngConfig
from builder.search.web.api import PageRead, decoded, refusal_of, web_urls
from builder.search.web.http_question import SearchRequest
from builder.search_results import RawResponse
from edu_rag.errors import ConfigError

NO_JSON = "the instance refuses JSON: add `json` to search.formats in its settings.yml"
_LIMITED = ("too many requests", "rate limit")
_BLOCKED = ("captcha", "access denied", "blocked", "forbidden")


class _Result(Struct):
    url: str | None = None


class _Answer(Struct):
    results: list[_Result]
    unresponsive_engines: list[Any] = field(default_factory=list)


def _reason(backend: Any) -> str:
    """`name: reason` of one entry of unresponsive_engines, which is a pair of texts."""
    parts = backend if isinstance(backend, list) else [backend]
    return ": ".join(str(part)[:60] for part in parts[:2])


def _why_empty(backends: list[Any]) -> PageRead:
    """The state of an empty response; it is not `none` if backends were down or refused, so nothing was searched."""
    reasons = "; ".join(_reason(backend) for backend in backends[:5])
    low = reasons.lower()
    if any(mark in low for mark in _LIMITED):
        return PageRead(state="rate_limited", reason=f"its backends are limited: {reasons}")
    if any(mark in low for mark in _BLOCKED):
        return PageRead(state="blocked", reason=f"its backends are blocked: {reasons}")
    return PageRead(state="failed", reason=f"its backends do not answer: {reasons}")


def read_searxng(raw: RawResponse) -> PageRead:
    """One response of /search?format=json."""
    refusal = refusal_of(raw, NO_JSON if raw.status == 403 else "")
    if refusal is not None:
        return refusal
    answer = decoded(raw, _Answer)
    if isinstance(answer, PageRead):
        return answer
    urls = web_urls([result.url for result in answer.results if result.url is not None])
    if not urls and answer.unresponsive_engines:
        return _why_empty(answer.unresponsive_engines)
    return PageRead(state="hits" if urls else "none", urls=urls, more=bool(urls))


class Searxng:
    """GET /search; the size of a page is the instance's own."""

    name = "searxng"

    def __init__(self, config: SearxngConfig) -> None:
        if not config.base_url:
            remedy = 'give your instance: [search.searxng] base_url = "http://127.0.0.1:8080"'
            raise ConfigError("search.searxng.base_url", "is not set, and the engine searxng needs it", remedy)
        self._config = config

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        """The request for one page; `pageno` counts from 1."""
        params = {
            "q": query,
            "format": "json",
            "pageno": str(page + 1),
            "language": self._config.language,
            "categories": ",".join(self._config.categories),
        }
        if self._config.backends:
            params["engines"] = ",".join(self._config.backends)
        url = f"{self._config.base_url.rstrip('/')}/search"
        return SearchRequest(url=url, params=params, headers={"Accept": "application/json"})

    def read(self, raw: RawResponse) -> PageRead:
        """Read a response."""
        return read_searxng(raw)
