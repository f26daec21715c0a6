"""The `brave` engine: the Brave Search API, which has its own index. The key comes from the environment and stays
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from builder.search.query_words import cut_to
from builder.search.settings import BraveConfig
from builder.search.web.api import PageRead, decoded, refusal_of, web_urls
from builder.search.web.api_key import key_from
from builder.search.web.http_question import SearchRequest
from builder.search_results import RawResponse

MAX_CHARACTERS, MAX_WORDS, PAGE_SIZE = 400, 50, 20
"""The interface's own limits of one query and one page."""
BAD_KEY = "the key is not accepted; look at the environment variable that holds it (BRAVE_API_KEY, or key_variable)"
_KEY_CODES = ("SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_TOKEN_MISSING", "SUBSCRIPTION_NOT_FOUND")
_LIMIT_CODES = ("RATE_LIMITED", "QUOTA_LIMITED", "USAGE_LIMIT_EXCEEDED")


class _Result(Struct):
    url: str


class _Web(Struct):
    results: list[_Result]


class _Query(Struct):
    more_results_available: bool = False


class _Answer(Struct):
    type: str
    query: _Query = field(default_factory=_Query)
    web: _Web | None = None


class _Error(Struct):
    code: Annotated[str, Meta(max_length=200)] = ""
    meta: Any = None


class _ErrorAnswer(Struct):
    error: _Error = field(default_factory=_Error)


def _refusal(raw: RawResponse) -> PageRead | None:
    refusal = refusal_of(raw, BAD_KEY)
    if refusal is None or refusal.state != "failed":
        return refusal
    answer = decoded(raw, _ErrorAnswer)
    if isinstance(answer, PageRead):
        return refusal
    code = answer.error.code
    # A bad key is a 422 here, and so is a missing one: VALIDATION of the header.
    if code in _KEY_CODES or (code == "VALIDATION" and "x-subscription-token" in str(answer.error.meta).lower()):
        return PageRead(state="blocked", reason=BAD_KEY)
    if code in _LIMIT_CODES:
        return PageRead(state="rate_limited", reason=code)
    return PageRead(state="failed", reason=f"{refusal.reason} {code}".strip())


def read_brave(raw: RawResponse) -> PageRead:
    """One response of /res/v1/web/search. An answer without `web` is the API's way to say that nothing was found."""
    refusal = _refusal(raw)
    if refusal is not None:
        return refusal
    answer = decoded(raw, _Answer)
    if isinstance(answer, PageRead):
        return answer
    if answer.type != "search":
        return PageRead(state="failed", reason=f"an answer of type {answer.type[:60]!r}")
    urls = web_urls([result.url for result in answer.web.results]) if answer.web is not None else ()
    return PageRead(state="hits" if urls else "none", urls=urls, more=answer.query.more_results_available)


class Brave:
    """GET /res/v1/web/search, 20 results a page."""

    name = "brave"

    def __init__(self, config: BraveConfig, key: str) -> None:
        self._config = config
        self._key = key

    @classmethod
    def with_key_from(cls, environment: Mapping[str, str], config: BraveConfig) -> Brave:
        """Raises ConfigError, which never shows the key, if the variable is not set or cannot be a header."""
        url = "https://api-dashboard.search.brave.com"
        return cls(config, key_from(environment, config.key_variable, "brave", url))

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        """The request for one page. `offset` counts pages, not results."""
        return SearchRequest(
            url=f"{self._config.base_url.rstrip('/')}/res/v1/web/search",
            params={
                "q": cut_to(query, MAX_CHARACTERS, MAX_WORDS),
                "count": str(min(n, PAGE_SIZE)),
                "offset": str(page),
                "country": self._config.country,
                "search_lang": self._config.language,
                "safesearch": self._config.safesearch,
                "result_filter": "web",
                "text_decorations": "0",
                "spellcheck": "0",
            },
            headers={"Accept": "application/json", "X-Subscription-Token": self._key},
            secrets=(self._key,),
        )

    def read(self, raw: RawResponse) -> PageRead:
        """Read a response."""
        return read_brave(raw)
