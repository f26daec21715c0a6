"""The `serper` engine: Google's results as JSON, through Serper's API. The key comes from the environment and stays
there.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from builder.search.query_words import cut_to
from builder.search.settings import SerperConfig
from builder.search.web.api import PageRead, decoded, refusal_of, web_urls
from builder.search.web.api_key import key_from
from builder.search.web.http_question import SearchRequest
from builder.search_results import RawResponse

PAGE_SIZE = 10
"""Results of one page; a page of more costs a second credit."""
MAX_CHARACTERS = 2_048
BAD_KEY = "the key is not accepted; look at the environment variable that holds it (SERPER_API_KEY, or key_variable)"
NO_CREDIT = "the account has no credits left; buy some at https://serper.dev, or add another engine to the chain"


class _Result(Struct):
    link: str


class _Parameters(Struct):
    type: str = "search"


class _Answer(Struct):
    searchParameters: _Parameters  # noqa: N815 - the API's own name
    organic: list[_Result]


class _Error(Struct):
    message: str = ""


def _refusal(raw: RawResponse) -> PageRead | None:
    refusal = refusal_of(raw, BAD_KEY)
    if refusal is None:
        return None
    answer = decoded(raw, _Error)
    message = "" if isinstance(answer, PageRead) else answer.message[:200]
    # Spent credits come as 400, or as 429 like a rate that is too high; only the words differ.
    if "credit" in message.lower():
        return PageRead(state="blocked", reason=NO_CREDIT)
    if refusal.state == "failed" and message:
        return PageRead(state="failed", reason=f"{refusal.reason}: {message}")
    return refusal


def read_serper(raw: RawResponse) -> PageRead:
    """One response of POST /search. Only organic results count: no advertisement, box or related question is one."""
    refusal = _refusal(raw)
    if refusal is not None:
        return refusal
    answer = decoded(raw, _Answer)
    if isinstance(answer, PageRead):
        return answer
    if answer.searchParameters.type != "search":
        return PageRead(state="failed", reason=f"an answer of type {answer.searchParameters.type[:60]!r}")
    urls = web_urls([result.link for result in answer.organic])
    return PageRead(state="hits" if urls else "none", urls=urls, more=bool(urls))


class Serper:
    """POST /search, ten results a page."""

    name = "serper"

    def __init__(self, config: SerperConfig, key: str) -> None:
        self._config = config
        self._key = key

    @classmethod
    def with_key_from(cls, environment: Mapping[str, str], config: SerperConfig) -> Serper:
        """Raises ConfigError, which never shows the key, if the variable is not set or cannot be a header."""
        return cls(config, key_from(environment, config.key_variable, "serper", "https://serper.dev"))

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        """The request for one page, counted from 1 on the wire."""
        return SearchRequest(
            url=f"{self._config.base_url.rstrip('/')}/search",
            headers={"Accept": "application/json", "X-API-KEY": self._key},
            body={
                "q": cut_to(query, MAX_CHARACTERS),
                "num": PAGE_SIZE,
                "page": page + 1,
                "gl": self._config.country,
                "hl": self._config.language,
                "autocorrect": False,
            },
            secrets=(self._key,),
        )

    def read(self, raw: RawResponse) -> PageRead:
        """Read a response."""
        return read_serper(raw)
