"""The `google` engine: googlesearch-python, with refusals told apart from "no results"."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import googlesearch
import requests

from builder.search import HostMap, RawResponse, SearchResult, State
from builder.search.settings import GoogleConfig

NAME = "google"
MAX_RAW_BYTES = 2_000_000
_BLOCKED = ("unusual traffic from your computer network", "/sorry/index", 'id="captcha-form"')
_NEEDS_SCRIPT = (
    "/httpservice/retry/enablejs",
    "enable javascript on your web browser",
    "please click here if you are not redirected",
)
_NO_RESULTS = ("did not match any documents", "no results found for", "your search did not match")
_PATCHING = threading.Lock()


def _retry_after_s(response: requests.Response) -> float | None:
    value = response.headers.get("Retry-After", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 7 else None


def _holds(text: str, marks: tuple[str, ...]) -> bool:
    return any(mark in text for mark in marks)


def _refusal(responses: list[requests.Response]) -> SearchResult | None:
    """The state that the last response stands for, or None where it is a result page of any kind."""
    if not responses:
        return None
    last = responses[-1]
    text = last.text.lower()
    wait = _retry_after_s(last)
    if "/sorry/" in last.url or _holds(text, _BLOCKED):
        return SearchResult(state="blocked", reason='the "unusual traffic" page', retry_after_s=wait)
    if last.status_code == 429:
        return SearchResult(state="rate_limited", reason="429 Too Many Requests", retry_after_s=wait)
    if last.status_code != 200:
        return SearchResult(state="failed", reason=f"HTTP status {last.status_code}", retry_after_s=wait)
    if _holds(text, _NEEDS_SCRIPT):
        return SearchResult(state="blocked", reason="the page that demands JavaScript")
    return None


class GoogleEngine:
    """Google's result page through googlesearch-python. It breaks whenever Google changes its HTML, and says so."""

    name = NAME

    def __init__(self, config: GoogleConfig) -> None:
        self._config = config

    @contextmanager
    def _kept_responses(self) -> Iterator[list[requests.Response]]:
        """While entered, googlesearch's requests go to our base URL and every response is kept."""
        responses: list[requests.Response] = []

        def get(url: str, **options: Any) -> requests.Response:
            path = url.split("/", 3)[3]
            options["timeout"] = self._config.timeout_s
            response = requests.get(f"{self._config.base_url.rstrip('/')}/{path}", **options)  # noqa: S113 - given above
            responses.append(response)
            return response

        with _PATCHING:
            original = googlesearch.get
            googlesearch.get = get
            try:
                yield responses
            finally:
                googlesearch.get = original

    def _ask(self, query: str, n: int) -> tuple[list[str], str, list[requests.Response]]:
        """The URLs, the fault (or nothing) and the responses of one query."""
        urls: list[str] = []
        fault = ""
        with self._kept_responses() as responses:
            found = googlesearch.search(
                query, num_results=n, lang=self._config.language, timeout=self._config.timeout_s,
                sleep_interval=self._config.pause_s, advanced=False,
            )  # fmt: skip
            try:
                urls.extend(found)
            except requests.Timeout:
                fault = f"no answer within {self._config.timeout_s:g} s"
            except requests.RequestException as error:
                fault = f"{type(error).__name__}"
        return urls, fault, responses

    def search(self, query: str, n: int) -> SearchResult:
        """Ask Google for the best n URLs; the raw pages come with the result, whatever its state."""
        urls, fault, responses = self._ask(" ".join(query.split()), n)
        raw = tuple(
            RawResponse(url=response.url, status=response.status_code, body=response.content[:MAX_RAW_BYTES])
            for response in responses
        )
        refusal = _refusal(responses)
        if refusal is not None:
            return SearchResult(
                state=refusal.state, reason=refusal.reason, retry_after_s=refusal.retry_after_s, raw=raw
            )
        if fault:
            return SearchResult(state="failed", reason=fault, raw=raw)
        pages = tuple(dict.fromkeys(url for url in urls if url.startswith(("http://", "https://"))))[:n]
        if pages:
            return SearchResult(state="hits", urls=pages, raw=raw)
        return SearchResult(**_why_nothing(responses), raw=raw)

    def serving(self) -> AbstractContextManager[HostMap]:
        """Google's results lie on the real web: nothing is served here."""
        return nullcontext({})

    def source(self) -> Mapping[str, Any]:
        """The library that read the result pages, with its version."""
        from importlib.metadata import version

        return {"library": f"googlesearch-python {version('googlesearch-python')}"}


def _why_nothing(responses: list[requests.Response]) -> dict[str, Any]:
    text = responses[-1].text.lower() if responses else ""
    state: State = "none" if _holds(text, _NO_RESULTS) else "failed"
    reason = "" if state == "none" else "a result page that we cannot read: its markup may have changed"
    return {"state": state, "reason": reason}
