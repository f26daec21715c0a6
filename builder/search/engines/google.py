"""The `google` engine: googlesearch-python; it distinguishes refusals from "no results"."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

import requests

from builder.search.pace import Pace, Sleep
from builder.search.settings import GoogleConfig
from builder.search.web.http_question import Asker, AskingError, SearchRequest
from builder.search_results import RawResponse, SearchResult, State
from builder.sites.site_folders import HostMap
from builder.urls import canonical_or_none
from edu_rag.errors import MissingExtraError

NAME = "google"
Get = Callable[..., RawResponse]
WAY_OUT = (
    "Google answers browsers only: use `--engine serper` (Google's results as JSON, with a key), brave or searxng,"
    " or add an engine to the chain: `--engine google,ddgs`"
)
MAX_PAGES = 10
MAX_BARREN = 2
"""Result pages in a row without a new real result after which Google is taken to have no more."""
PAGE_SIZE = 10
_ENDLESS = 10_000
_TRAFFIC = ("unusual traffic from your computer network", "/sorry/index", 'id="captcha-form"')
_CONSENT = ("before you continue to google", "//consent.google.", "//consent.youtube.")
_NEEDS_SCRIPT = (
    "/httpservice/retry/enablejs",
    "enable javascript on your web browser",
    "please click here if you are not redirected",
)
_OLD_BROWSER = ("your browser isn't supported", "your browser is not supported", "websearch/answer/16515119")
_BLOCKS = (
    (_TRAFFIC, 'the "unusual traffic" page'),
    (_CONSENT, "the consent page"),
    (_OLD_BROWSER, 'the "your browser isn\'t supported" page'),
    (_NEEDS_SCRIPT, "the page that demands JavaScript"),
)
_RESULT_MARK = 'class="ezo2md"'
"""A block of googlesearch-python's markup: a page with one is a result page, with any words in its snippets."""
_NO_RESULTS = ("did not match any documents", "no results found for", "your search did not match")
_PATCHING = threading.Lock()


def _text(raw: RawResponse) -> str:
    text = raw.body.decode("utf-8", "replace").lower()
    for spelling in ("\u2019", "&#39;", "&#x27;", "&rsquo;", "&apos;"):
        text = text.replace(spelling, "'")
    return text


def _holds(text: str, marks: tuple[str, ...]) -> bool:
    return any(mark in text for mark in marks)


def _block(last: RawResponse) -> str | None:
    """The name of a page that Google sends instead of results; None for a result page."""
    if "/sorry/" in last.url:
        return _BLOCKS[0][1]
    if urlsplit(last.url).netloc.startswith("consent."):
        return _BLOCKS[1][1]
    text = _text(last)
    if last.status == 200 and _RESULT_MARK in text:
        return None
    return next((name for marks, name in _BLOCKS if _holds(text, marks)), None)


def _refusal(last: RawResponse) -> tuple[State, str] | None:
    """The state that a response stands for, or None if it is a result page of any kind."""
    block = _block(last)
    if block is not None:
        return "blocked", f"{block}: {WAY_OUT}"
    if last.status == 429:
        return "rate_limited", "429 Too Many Requests"
    if last.status != 200:
        return "failed", f"HTTP status {last.status}"
    return None


_OWN_PARTS = frozenset({"www", "m", "images", "maps", "accounts", "policies", "support", "consent", "news", "shopping"})
"""Subdomains of Google that hold its own pages; books, sites, scholar and others hold other people's."""
_GOOGLE = re.compile(r"(?:(?P<part>[a-z0-9-]+)\.)?google(?:\.[a-z]{2,3}){1,2}\Z")
_AD_HOSTS = ("googleadservices.com", "doubleclick.net", "googlesyndication.com", "webcache.googleusercontent.com")
_WRAPPED = re.compile(r"https?://(?:www\.)?google\.[a-z.]{2,6}(?=https?://)")
"""What googlesearch-python leaves of an absolute /url?q= link before the address itself."""


def _is_own(host: str) -> bool:
    found = _GOOGLE.match(host)
    if found is not None:
        return (found["part"] or "www") in _OWN_PARTS
    return any(host == own or host.endswith(f".{own}") for own in _AD_HOSTS)


def real_result(link: str) -> str | None:
    """The address of a result; None for junk: own links, advertisements, anchors, and what is not of the web."""
    url = _WRAPPED.sub("", link.strip())
    if not url.lower().startswith(("http://", "https://")):
        return None
    try:
        host = (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        return None
    return url if host and not _is_own(host) else None


def _identity(url: str) -> str:
    """One page under several anchors or spellings is one result."""
    return canonical_or_none(url) or url.partition("#")[0]


def _library() -> Any:
    """googlesearch-python. Raises MissingExtraError; responses of other engines are read without it."""
    try:
        import googlesearch
    except ImportError:
        remedy = "pip install 'edu-rag-bench[build]'"
        raise MissingExtraError("engine google", "needs googlesearch-python", remedy) from None
    return googlesearch


@contextmanager
def _library_asks(googlesearch: Any, get: Get) -> Iterator[None]:
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


class _NoMorePagesError(Exception):
    """Further result pages are not worth asking for."""


def _library_urls(query: str, n: int, language: str, get: Get) -> list[str]:
    """The first n real results, each page once, from as many result pages as that takes.

    The library counts every block of a page, junk too, so it is asked for more than n, and stopped here.
    """
    urls: dict[str, str] = {}
    before: list[int] = []
    most = max(MAX_PAGES, 2 * (n // PAGE_SIZE + 1))

    def next_page(url: str, options: Mapping[str, Any]) -> RawResponse:
        before.append(len(urls))
        if len(before) > most or before[-1:] == before[-1 - MAX_BARREN : -MAX_BARREN]:
            raise _NoMorePagesError
        return get(url, options)

    googlesearch = _library()
    with _library_asks(googlesearch, next_page):
        links = googlesearch.search(query, num_results=_ENDLESS, lang=language, sleep_interval=0, advanced=False)
        try:
            while len(urls) < n:
                url = real_result(next(links))
                if url is not None:
                    urls.setdefault(_identity(url), url)
        except (StopIteration, _NoMorePagesError, requests.HTTPError):
            pass  # a page without blocks; or a status, from which the state is read
        finally:
            links.close()
    return list(urls.values())


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
    if urls:
        return SearchResult(state="hits", urls=tuple(urls), raw=tuple(raw))
    if _holds(_text(raw[-1]), _NO_RESULTS):
        return SearchResult(state="none", raw=tuple(raw))
    reason = "a result page that we cannot read: its markup may have changed"
    return SearchResult(state="failed", reason=reason, raw=tuple(raw))


class GoogleEngine:
    """Google's result page through googlesearch-python. It breaks when Google changes its HTML, and then
    reports that.
    """

    name = NAME

    def __init__(self, config: GoogleConfig, sleep: Sleep = time.sleep, *, proxy: str = "") -> None:
        _library()  # before the crawl, not in the middle of it
        self._config, self._proxy = config, proxy
        self._pace = Pace(config.pause_s, sleep)

    def _ask(self, url: str, options: Mapping[str, Any]) -> RawResponse:
        headers = dict(options["headers"])
        agent = headers.pop("User-Agent", "googlesearch")
        asker = Asker(timeout_s=self._config.timeout_s, user_agent=agent, proxy=self._proxy)
        params = {name: str(value) for name, value in options["params"].items() if value is not None}
        params["num"] = str(PAGE_SIZE + 2)  # the library's own for ten results; its pages start ten apart
        place = f"{self._config.base_url.rstrip('/')}{urlsplit(url).path}"
        return asker.ask(SearchRequest(url=place, params=params, headers=headers, cookies=options["cookies"]))

    def search(self, query: str, n: int) -> SearchResult:
        """Ask Google for the best n URLs; the raw pages come with the result in every state."""
        raw: list[RawResponse] = []

        def get(url: str, options: Mapping[str, Any]) -> RawResponse:
            self._pace.turn()
            raw.append(self._ask(url, options))
            return raw[-1]

        try:
            _library_urls(" ".join(query.split()), n, self._config.language, get)
        except AskingError as error:
            raw += [error.raw] if error.raw is not None else []
            if "redirects to consent." in error.reason:
                return SearchResult(state="blocked", reason=f"{error.reason}: {WAY_OUT}", raw=tuple(raw))
            return SearchResult(state="failed", reason=error.reason, raw=tuple(raw))
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
