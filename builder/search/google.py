"""The `google` engine: googlesearch-python; it distinguishes refusals from "no results"."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

import googlesearch
import requests

from builder.search.http_question import Asker, AskingError, SearchRequest
from builder.search.settings import GoogleConfig
from builder.search_results import RawResponse, SearchResult, State
from builder.sites.site_folders import HostMap

NAME = "google"
Get = Callable[..., RawResponse]
_BLOCKED = ("unusual traffic from your computer network", "/sorry/index", 'id="captcha-form"')
_NEEDS_SCRIPT = (
    "/httpservice/retry/enablejs",
    "enable javascript on your web browser",
    "please click here if you are not redirected",
)
_NO_RESULTS = ("did not match any documents", "no results found for", "your search did not match")
_PATCHING = threading.Lock()


def _text(raw: RawResponse) -> str:
    return raw.body.decode("utf-8", "replace").lower()


def _holds(text: str, marks: tuple[str, ...]) -> bool:
    return any(mark in text for mark in marks)


def _refusal(last: RawResponse) -> tuple[State, str] | None:
    """The state that a response stands for, or None if it is a result page of any kind."""
    text = _text(last)
    if "/sorry/" in last.url or _holds(text, _BLOCKED):
        return "blocked", 'the "unusual traffic" page'
    if last.status == 429:
        return "rate_limited", "429 Too Many Requests"
    if last.status != 200:
        return "failed", f"HTTP status {last.status}"
    if _holds(text, _NEEDS_SCRIPT):
        return "blocked", "the page that demands JavaScript"
    return None


@contextmanager
def _library_asks(get: Get) -> Iterator[None]:
    """While entered, googlesearch gets its pages from `get` instead of the network."""

    def answer(url: str, **options: Any) -> requests.Response:
        raw = get(url, options)
        response = requests.Response()
        response.status_code, response.url, response.encoding = raw.status, raw.url, "utf-8"
        response._content = raw.body
        return response

    with _PATCHING:
        original = googlesearch.get
        googlesearch.get = answer
        try:
            yield
        finally:
            googlesearch.get = original


def _library_urls(query: str, n: int, language: str, get: Get) -> list[str]:
    urls: list[str] = []
    with _library_asks(get):
        found = googlesearch.search(query, num_results=n, lang=language, sleep_interval=0, advanced=False)
        try:
            urls.extend(found)
        except requests.HTTPError:
            return []  # its status gives the state
    return urls


def read_google(raw: Sequence[RawResponse], n: int) -> SearchResult:
    """The stored result pages of one query, read by googlesearch. A refusal on any page is the whole answer."""
    if not raw:
        return SearchResult(state="failed", reason="no response")
    refusal = _refusal(raw[-1])
    if refusal is not None:
        state, reason = refusal
        return SearchResult(state=state, reason=reason, retry_after_s=raw[-1].retry_after_s, raw=tuple(raw))
    pages = iter(raw)

    def replay(url: str, options: Mapping[str, Any]) -> RawResponse:
        # If today's library asks for more pages than were recorded, it gets an empty one.
        return next(pages, RawResponse(url=url, status=200, body=b""))

    try:
        urls = _library_urls("recorded", n, "en", replay)
    except (KeyError, AttributeError, RecursionError, AssertionError) as error:
        return SearchResult(
            state="failed", reason=f"a page that breaks its reader: {type(error).__name__}", raw=tuple(raw)
        )
    found = tuple(dict.fromkeys(url for url in urls if url.startswith(("http://", "https://"))))[:n]
    if found:
        return SearchResult(state="hits", urls=found, raw=tuple(raw))
    if _holds(_text(raw[-1]), _NO_RESULTS):
        return SearchResult(state="none", raw=tuple(raw))
    reason = "a result page that we cannot read: its markup may have changed"
    return SearchResult(state="failed", reason=reason, raw=tuple(raw))


class GoogleEngine:
    """Google's result page through googlesearch-python. It breaks when Google changes its HTML, and then
    reports that.
    """

    name = NAME

    def __init__(self, config: GoogleConfig, sleep: Callable[[float], None] = time.sleep) -> None:
        self._config = config
        self._sleep = sleep

    def _ask(self, url: str, options: Mapping[str, Any]) -> RawResponse:
        headers = dict(options["headers"])
        asker = Asker(timeout_s=self._config.timeout_s, user_agent=headers.pop("User-Agent", "googlesearch"))
        params = {name: str(value) for name, value in options["params"].items() if value is not None}
        place = f"{self._config.base_url.rstrip('/')}{urlsplit(url).path}"
        return asker.ask(SearchRequest(url=place, params=params, headers=headers, cookies=options["cookies"]))

    def search(self, query: str, n: int) -> SearchResult:
        """Ask Google for the best n URLs; the raw pages come with the result in every state."""
        raw: list[RawResponse] = []

        def get(url: str, options: Mapping[str, Any]) -> RawResponse:
            if raw and self._config.pause_s:
                self._sleep(self._config.pause_s)
            raw.append(self._ask(url, options))
            return raw[-1]

        try:
            _library_urls(" ".join(query.split()), n, self._config.language, get)
        except AskingError as error:
            raw += [error.raw] if error.raw is not None else []
            state: State = "blocked" if "redirects to consent." in error.reason else "failed"
            return SearchResult(state=state, reason=error.reason, raw=tuple(raw))
        except (KeyError, AttributeError, RecursionError, AssertionError):
            pass  # read again below, which says so
        return read_google(raw, n)

    def serving(self) -> AbstractContextManager[HostMap]:
        """Google's results are on the real web: nothing is served here."""
        return nullcontext({})

    def source(self) -> Mapping[str, Any]:
        """The library that read the result pages, with its version."""
        from importlib.metadata import version

        return {"library": f"googlesearch-python {version('googlesearch-python')}"}
