"""A single request to a host, within its bounds: what came back, or where it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from builder.fetch.addresses import NoRouteError, RefusedAddressError
from builder.fetch.answer_sign import look_of
from builder.fetch.body import BodyError, check_headers, check_length, check_start, check_type, read_body
from builder.fetch.connections import Connections
from builder.fetch.fetched import NOT_FOUND, STATUS, STOOD_STILL, Fetched
from builder.fetch.machine_use_signals import signals_in_headers, signals_in_page
from builder.fetch.proxies import NO_PROXY_REACHED, PROXY_ERROR, WANTS_PASSWORD, proxy_for
from builder.fetch.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from builder.sites.site_folders import SCHEME_HEADER
from builder.urls import host_of, literal_address

if TYPE_CHECKING:
    from builder.fetch.settings import FetchConfig
    from builder.sites.site_folders import HostMap


_LATE_S = 1.0
_ERROR_PAGE_BYTES, _ERROR_PAGE_S = 16_384, 1.0
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_URL_MARKS = "%/?:@!$&'()*+,;=~[]|"
Grow = Callable[[asyncio.Timeout], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HopResponse:
    """The result of a hop: the fetch so far, the redirect's target, the host's requests, whether it answered.

    `date` is the host's time, against which a time in `retry_after` counts.
    """

    got: Fetched
    target: str | None = None
    retry_after: str = ""
    date: str = ""
    answered: bool = True


async def _no_lane() -> None:
    """An error page is too small to need one of the lanes for large bodies."""


def _well_formed(text: str) -> str:
    # Bytes that are not UTF-8 arrive as lone surrogates, which neither WARC nor SQLite can take.
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def headers_of(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers in title case, repeated ones joined: servers spell their names as they like."""
    found: dict[str, str] = {}
    for spelled, raw in response.headers.items():
        name, value = spelled.title(), _well_formed(raw)
        mark = "\n" if name == "X-Robots-Tag" else ", "  # each of these may name its own agent
        found[name] = found[name] + mark + value if name in found and name != "Content-Type" else value
    return found


def target_of(here: str, location: str) -> str:
    """The target of a Location header: absolute, without fragment, percent-encoded as browsers do it.

    Raises ValueError if no URL can be made of it.
    """
    parts = urlsplit(urljoin(here, location.strip()))
    path, query = (quote(part, safe=_URL_MARKS, errors="surrogateescape") for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, _well_formed(parts.netloc).lower(), path, query, ""))


def dialled(url: str) -> URL:
    """The URL for the request; an address in an odd spelling is written plainly, as browsers do it."""
    asked = URL(url, encoded=True)
    literal = literal_address(host_of(url))
    return asked if literal is None else asked.with_host(str(literal))


def error_text(error: BaseException) -> str:
    """An error in a few words, without addresses of objects or whole tracebacks."""
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def no_address(error: OSError) -> tuple[str, str]:
    """Outcome and detail for a host that has no address, or one that must not be dialled."""
    if isinstance(error, RefusedAddressError):
        return "refused_address", error_text(error)
    if isinstance(error, NoRouteError):
        return "connection", str(error)
    return "dns", str(error)[:200] or type(error).__name__


class Hopper:
    """Makes single requests, within the bounds of the settings."""

    def __init__(self, connections: Connections, settings: FetchConfig, hosts: HostMap) -> None:
        self._connections = connections
        self._settings = settings
        self._hosts = hosts

    async def hop(
        self, got: Fetched, left_s: float, headers: Mapping[str, str], grow: Grow, *, page: bool, again: bool
    ) -> HopResponse:
        """Request `got.final_url`, in at most `left_s` seconds. Never raises because of the server's behaviour.

        `again`: over a new connection.
        """
        if got.final_url.startswith("https:") and host_of(got.final_url) in self._hosts:
            # Served by the engine, on loopback: no other host is ever asked without its TLS.
            headers = {**headers, SCHEME_HEADER: "https"}
        is_served = host_of(got.final_url) in self._hosts
        session = self._connections.session(is_new=again)
        request = _Request(session, self._settings, got, headers, grow, page, is_served)
        try:
            return await request.answer(left_s)
        except TimeoutError:
            limit = f"not done after {self._settings.timeout_s:g} s" if request.status else "no answer in time"
            return self._failed(request, "timeout", f"{limit}, {STOOD_STILL}" if request.is_late() else limit)
        except BodyError as error:
            return self._failed(request, error.outcome, error.detail)
        except (
            aiohttp.ClientHttpProxyError
        ) as error:  # its text holds the proxy's address, with a password if it has one
            return self._failed(request, "connection", f"{PROXY_ERROR}status {error.status}")
        except aiohttp.ClientProxyConnectionError as error:
            return self._without_proxy(request, error_text(error.os_error))
        except aiohttp.ClientConnectorDNSError as error:
            if request.proxy is not None:
                return self._without_proxy(request, f"its name has no address: {error_text(error.os_error)}")
            return self._failed(request, *no_address(error.os_error))  # it was forgotten since it was looked up
        except aiohttp.ClientConnectorError as error:
            refused = isinstance(error.os_error, RefusedAddressError)
            outcome = "refused_address" if refused else "connection"
            return replace(self._failed(request, outcome, error_text(error.os_error)), answered=refused)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return self._failed(request, "connection", error_text(error))

    def _without_proxy(self, request: _Request, why: str) -> HopResponse:
        return self._failed(request, "connection", f"{PROXY_ERROR}{NO_PROXY_REACHED}: {why}")

    @staticmethod
    def _failed(request: _Request, outcome: str, detail: str) -> HopResponse:
        got = replace(request.got, status=request.status, outcome=outcome, detail=detail)
        return HopResponse(got, answered=request.status is not None)


class _Request:
    """One request under way. `status` shows how far it came: None until the headers have arrived."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        settings: FetchConfig,
        got: Fetched,
        headers: Mapping[str, str],
        grow: Grow,
        page: bool,
        is_served: bool,
    ) -> None:
        self._session, self._settings, self.got, self._headers = session, settings, got, headers
        self._grow, self._page, self._is_served = grow, page, is_served
        self.status: int | None = None
        self._clock: asyncio.Timeout | None = None
        self.proxy = None if is_served else proxy_for(got.final_url, settings.proxy)

    def is_late(self) -> bool:
        """Whether its time was up long ago, so that this process cannot have run then."""
        ended_at = None if self._clock is None else self._clock.when()
        return ended_at is not None and asyncio.get_running_loop().time() - ended_at > _LATE_S

    async def answer(self, left_s: float) -> HopResponse:
        """The answer. Raises TimeoutError, BodyError, aiohttp.ClientError, OSError, ValueError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max(left_s, 0.001)
        url = dialled(self.got.final_url)
        if SCHEME_HEADER in self._headers:
            url = url.with_scheme("http")
        async with asyncio.timeout_at(min(deadline, loop.time() + self._settings.first_byte_s)) as clock:
            self._clock = clock
            async with self._session.get(
                url, allow_redirects=False, headers=self._headers, proxy=self.proxy
            ) as response:
                self.status = response.status
                clock.reschedule(deadline)
                return await self._read(response, clock)

    async def _read(self, response: aiohttp.ClientResponse, clock: asyncio.Timeout) -> HopResponse:
        got = replace(self.got, status=response.status)
        if self.proxy is not None and response.status == WANTS_PASSWORD:
            return HopResponse(replace(self.got, outcome="connection", detail=f"{PROXY_ERROR}status {WANTS_PASSWORD}"))
        location = response.headers.get("Location")
        if response.status in REDIRECTS and location:
            return HopResponse(got, target=target_of(got.final_url, location))
        if response.status == 304 and any(name.startswith("If-") for name in self._headers):
            headers = headers_of(response)
            return HopResponse(replace(got, outcome="kept", headers=headers, not_modified=True))
        if response.status not in (200, 203):
            got = replace(got, outcome="http_error", detail=f"{STATUS}{response.status}")
            if self._page and response.status in NOT_FOUND:
                got = replace(got, error_look=await self._look(response, clock))
            answered = response.status < 500 and response.status != 429
            after, date = (response.headers.get(name, "") for name in ("Retry-After", "Date"))
            return HopResponse(got, retry_after=after, date=date, answered=answered)
        return HopResponse(await self._body(replace(got, headers=headers_of(response)), response, clock))

    async def _look(self, response: aiohttp.ClientResponse, clock: asyncio.Timeout) -> str:
        """What the error page says; empty if that cannot be read soon: its status is the answer in any case."""
        chunks = response.content.iter_any()
        until, deadline = asyncio.get_running_loop().time() + _ERROR_PAGE_S, clock.when()
        clock.reschedule(None)  # the request's own deadline would end it as a time-out, without its status
        try:
            async with asyncio.timeout_at(until if deadline is None else min(until, deadline)):
                body = await read_body(chunks, headers_of(response), _ERROR_PAGE_BYTES, _no_lane, cut=True)
        except (BodyError, aiohttp.ClientError, OSError, ValueError):  # TimeoutError is an OSError
            return ""
        return look_of(body, self.got.final_url)

    async def _body(self, got: Fetched, response: aiohttp.ClientResponse, clock: asyncio.Timeout) -> Fetched:
        headers = got.headers
        max_bytes = self._settings.max_bytes if self._page else MAX_ROBOTS_BYTES
        check_headers(headers)
        if self._page:  # robots.txt comes under every media type
            check_type(headers)
            check_length(headers, max_bytes)
        chunks = response.content.iter_any()
        body = await read_body(chunks, headers, max_bytes, lambda: self._grow(clock), cut=not self._page)
        if not self._page:
            return replace(got, outcome="kept", body=body)
        check_start(body, headers)
        signals = signals_in_headers(headers) | signals_in_page(body)
        return replace(got, outcome="kept", body=body, signals=tuple(sorted(signals)))
