"""The `wikipedia` engine: the full-text search of Wikipedia, or of any other MediaWiki, through its api.php."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from builder.search.query_words import cut_to, telling_words
from builder.search.settings import WikipediaConfig
from builder.search.web.api import PageRead, decoded, refusal_of, web_urls
from builder.search.web.http_question import SearchRequest
from builder.search_results import RawResponse

MAX_CHARACTERS = 300
"""The longest query that CirrusSearch accepts."""
_BUSY = ("ratelimited", "maxlag", "cirrussearch-too-busy-error", "actionthrottledtext", "readonly")
_BLOCKED = ("blocked", "autoblocked", "permissiondenied", "readapidenied", "globalblocking-ipblocked")


class _Page(Struct):
    index: int = 0
    fullurl: str | None = None
    missing: bool = False


class _Query(Struct):
    pages: list[_Page]


class _Error(Struct):
    code: Annotated[str, Meta(max_length=200)]


class _Answer(Struct):
    batchcomplete: bool = False
    query: _Query | None = None
    error: _Error | None = None
    warnings: object = field(default=None)


def _of_error(code: str) -> PageRead:
    if code in _BUSY:
        return PageRead(state="rate_limited", reason=code)
    if code in _BLOCKED:
        return PageRead(state="blocked", reason=f"the wiki refuses us: {code}")
    return PageRead(state="failed", reason=f"the wiki's error {code}")


def read_wikipedia(raw: RawResponse) -> PageRead:
    """One response of api.php (formatversion 2). Its errors come with status 200."""
    refusal = refusal_of(raw)
    if refusal is not None:
        return refusal
    answer = decoded(raw, _Answer)
    if isinstance(answer, PageRead):
        return answer
    if answer.error is not None:
        return _of_error(answer.error.code)
    if answer.query is None:
        if answer.batchcomplete:
            return PageRead(state="none")
        return PageRead(state="failed", reason="its JSON has changed: neither `query` nor `batchcomplete`")
    pages = sorted(answer.query.pages, key=lambda page: page.index)
    if any(page.fullurl is None and not page.missing for page in pages):
        return PageRead(state="failed", reason="its JSON has changed: a page without `fullurl`")
    urls = web_urls([page.fullurl for page in pages if page.fullurl is not None and not page.missing])
    return PageRead(state="hits" if urls else "none", urls=urls)


class Wikipedia:
    """GET api.php, search as a generator, so that every page comes with its address; one request for all results."""

    name = "wikipedia"

    def __init__(self, config: WikipediaConfig) -> None:
        self._config = config

    def _terms(self, query: str) -> str:
        if self._config.match == "all":
            return cut_to(query, MAX_CHARACTERS)
        words = cut_to(" ".join(telling_words(query)), MAX_CHARACTERS, 50).split()
        while words and len(" OR ".join(words)) > MAX_CHARACTERS:
            words.pop()
        return " OR ".join(words) or cut_to(query, MAX_CHARACTERS)

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        """The one request; MediaWiki gives up to 500 results at once."""
        params = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": self._terms(query),
            "gsrlimit": str(n),
            "gsrnamespace": "0",
            "prop": "info",
            "inprop": "url",
            "maxlag": "5",
        }
        return SearchRequest(url=self._config.base_url, params=params, headers={"Accept": "application/json"})

    def read(self, raw: RawResponse) -> PageRead:
        """Read a response."""
        return read_wikipedia(raw)
