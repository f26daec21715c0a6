"""One HTTP question to a search engine, bounded: total deadline, bytes, and no way to another place."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from builder.clock import Clock
from builder.fetch.politeness import MAX_WAIT_S, retry_after_s
from builder.fetch.proxies import WANTS_PASSWORD, proxy_for
from builder.search.web.failure_causes import NO_WAY, failure_cause, host_in
from builder.search.web.guarded_connection import GuardedAdapter
from builder.search_results import RawResponse

MAX_BYTES = 4_000_000
MAX_REDIRECTS = 3
_CHUNK_BYTES = 65_536
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class AskingError(Exception):
    """No usable answer came: why, in a few words, and the response if there was the beginning of one."""

    def __init__(self, reason: str, raw: RawResponse | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A request to an engine: a GET, or a POST if there is a `body`, which is sent as JSON.

    `secrets` are values that may travel in `headers`, and must not be stored.
    """

    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _quota_reset_s(headers: Mapping[str, str]) -> float | None:
    """The seconds until a spent quota is filled again: `X-RateLimit-Reset`, one number a window, as Brave sends it."""
    try:
        left = [int(part) for part in headers.get("X-RateLimit-Remaining", "").split(",")]
        reset = [float(part) for part in headers.get("X-RateLimit-Reset", "").split(",")]
    except ValueError:
        return None
    waits = [seconds for seconds, n in zip(reset, left, strict=False) if n <= 0 and 0 <= seconds <= MAX_WAIT_S]
    return max(waits, default=None)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _without(body: bytes, secrets: tuple[str, ...]) -> bytes:
    for secret in filter(None, secrets):
        body = body.replace(secret.encode(), b"[key]")
    return body


class Asker:
    """Asks over HTTP: no password file of the environment, no cookies kept, no redirect to another origin.

    `guarded`: a host whose name leads to an inside address is not dialled; behind a proxy that is the proxy's to see.
    `proxy` is the setting of [fetch] (see builder.fetch.proxies).
    """

    def __init__(
        self,
        *,
        timeout_s: float,
        user_agent: str,
        max_bytes: int = MAX_BYTES,
        now: Clock = _utc_now,
        guarded: bool = False,
        proxy: str = "",
    ) -> None:
        self._guarded, self._proxy = guarded, proxy
        self._timeout_s = timeout_s
        self._user_agent = user_agent
        self._max_bytes = max_bytes
        self._now = now

    def ask(self, request: SearchRequest) -> RawResponse:
        """The response, with any status. Raises AskingError if none came whole, in time and within bounds."""
        answers: queue.SimpleQueue[RawResponse | AskingError] = queue.SimpleQueue()
        # requests' own time-out is per read: a header that drips would hold us for hours. A thread can be left behind.
        thread = threading.Thread(target=self._answer, args=(request, answers), name="search", daemon=True)
        thread.start()
        try:
            got = answers.get(timeout=self._timeout_s + 0.5)
        except queue.Empty:
            raise AskingError(self._late(request)) from None
        if isinstance(got, AskingError):
            raise got
        return got

    def _late(self, request: SearchRequest) -> str:
        return f"{host_in(request.url)}: no answer within {self._timeout_s:g} s"

    def _answer(self, request: SearchRequest, answers: queue.SimpleQueue[RawResponse | AskingError]) -> None:
        try:
            answers.put(self._follow(request))
        except AskingError as error:
            answers.put(error)
        except requests.Timeout:
            answers.put(AskingError(self._late(request)))
        except (requests.RequestException, OSError, ValueError) as error:
            # Only the cause: an error's text can hold the whole request.
            answers.put(AskingError(failure_cause(error, request.url, proxy_for(request.url, self._proxy))))

    def _follow(self, request: SearchRequest) -> RawResponse:
        deadline = time.monotonic() + self._timeout_s
        url, params = request.url, dict(request.params)
        with requests.Session() as session:
            session.trust_env = False
            proxy = proxy_for(url, self._proxy)
            if proxy is not None:
                session.proxies = {"http": proxy, "https": proxy}
            elif self._guarded:
                session.mount("https://", GuardedAdapter())
                session.mount("http://", GuardedAdapter())
            for _ in range(MAX_REDIRECTS + 1):
                with session.request(
                    "GET" if request.body is None else "POST",
                    url,
                    params=params,
                    json=request.body,
                    cookies=dict(request.cookies),
                    stream=True,
                    allow_redirects=False,
                    headers={"User-Agent": self._user_agent, **request.headers},
                    timeout=max(deadline - time.monotonic(), 0.001),
                ) as response:
                    if proxy is not None and response.status_code == WANTS_PASSWORD:
                        raise AskingError(f"{host_in(url)}: {NO_WAY} {host_in(proxy)}: status {WANTS_PASSWORD}")
                    location = response.headers.get("Location")
                    if response.status_code not in _REDIRECTS or not location:
                        return self._read(response, request, deadline)
                    target = urljoin(response.url, location)
                    if _origin(target) != _origin(request.url) or request.body is not None:
                        raise AskingError(f"redirects to {urlsplit(target).hostname or 'another place'}")
                    url, params = target, {}
        raise AskingError(f"over {MAX_REDIRECTS} redirects")

    def _read(self, response: requests.Response, request: SearchRequest, deadline: float) -> RawResponse:
        body = bytearray()
        fault = ""
        for chunk in response.iter_content(_CHUNK_BYTES):
            body += chunk
            if len(body) > self._max_bytes:
                fault = f"over {self._max_bytes:,} bytes"
            elif time.monotonic() > deadline:
                fault = self._late(request)
            if fault:
                break
        headers: Any = response.headers
        wait_s = retry_after_s(headers.get("Retry-After"), self._now(), headers.get("Date"))
        if wait_s is None and response.status_code == 429:
            wait_s = _quota_reset_s(headers)
        raw = RawResponse(
            url=_without(response.url.encode(), request.secrets).decode(),
            status=response.status_code,
            body=_without(bytes(body), request.secrets)[: self._max_bytes],
            retry_after_s=wait_s,
        )
        if fault:
            raise AskingError(fault, raw)
        return raw
