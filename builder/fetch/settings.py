"""[fetch] of build.toml: the limits and the manners of downloads."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from builder.fetch.proxies import NO_PROXY, check_proxy
from edu_rag import __version__
from edu_rag.errors import RecordError

USER_AGENT = f"edu-rag-bench/{__version__} (builds a question-answering benchmark; obeys robots.txt)"
_CONTACT = re.compile(r"https?://[^\s()<>]+|[^\s@()<>:/]+@[^\s@()<>:/]+\.[^\s@()<>:/]+")

Seconds = Annotated[float, Meta(ge=0, le=3600)]
Deadline = Annotated[float, Meta(gt=0, le=600)]

MANNERS = (
    "workers",
    "per_host",
    "delay_s",
    "user_agent",
    "contact",
    "max_retry_wait_s",
    "breaker_failures",
    "give_up_after_s",
    "resolver",
    "proxy",
    "name_timeout_s",
)
"""Settings of how, not of what: a store that was begun with others may be gone on with."""

Server = tuple[str, int]
"""The address and the port of a name server."""


def server_of(text: str) -> Server:
    """A name server as a setting names it: `9.9.9.9`, `127.0.0.1:5353`, `2620:fe::fe`, `[::1]:5353`.

    Raises ValueError.
    """
    host, port = text, "53"
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") if rest else port
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536
    if not is_port or text.count("[") != text.count("]"):
        raise ValueError(f"{text[:60]!r} is not an address, or has no port that can be")
    return str(ipaddress.ip_address(host)), int(port)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchConfig:
    """[fetch]: limits of one download.

    `contact` is an e-mail address or a URL by which a site's owner reaches you: it goes into the user agent.
    `breaker_failures` is how many failures in a row end the asking of a host; 0 means never. `give_up_after_s` is how
    long the crawl waits for a network that is away. `resolver` is the name server's address, empty for the system's;
    `name_timeout_s` is how long a host's name may take, before and outside of the page's own time. `proxy` is a proxy's
    URL, `none`, or empty for the environment's.
    """

    timeout_s: Deadline = 5.0
    first_byte_s: Deadline = 5.0
    max_bytes: Annotated[int, Meta(ge=1_000, le=100_000_000)] = 5_000_000
    max_redirects: Annotated[int, Meta(ge=0, le=20)] = 5
    user_agent: Annotated[str, Meta(min_length=3, max_length=300)] = USER_AGENT
    contact: Annotated[str, Meta(max_length=200)] = ""
    workers: Annotated[int, Meta(ge=1, le=512)] = 192
    per_host: Annotated[int, Meta(ge=1, le=16)] = 2
    delay_s: Seconds = 0.0
    max_retry_wait_s: Seconds = 5.0
    breaker_failures: Annotated[int, Meta(ge=0, le=1_000)] = 8
    give_up_after_s: Annotated[float, Meta(ge=0, le=604_800)] = 600.0
    resolver: Annotated[str, Meta(max_length=100)] = ""
    proxy: Annotated[str, Meta(max_length=300)] = ""
    name_timeout_s: Deadline = 10.0

    def __post_init__(self) -> None:
        if not (self.user_agent.isascii() and self.user_agent.isprintable()):
            raise RecordError("user_agent", "must be printable ASCII: it is sent as a header")
        if self.contact and not (self.contact.isascii() and _CONTACT.fullmatch(self.contact)):
            raise RecordError("contact", "must be an e-mail address or an http(s) URL")
        if self.proxy not in ("", NO_PROXY):
            self._check_proxy()
        if self.resolver:
            try:
                server_of(self.resolver)
            except ValueError as error:
                raise RecordError("resolver", f"is not the address of a name server ({error})") from None

    def _check_proxy(self) -> None:
        if "@" in self.proxy:
            raise RecordError("proxy", "must not hold a password, since settings are stored", "use HTTPS_PROXY for it")
        try:
            check_proxy(self.proxy)
        except ValueError as error:
            raise RecordError("proxy", f"is no proxy: {error}") from None

    @property
    def agent_header(self) -> str:
        """The User-Agent header: who we are, and how to reach the person who runs us."""
        return f"{self.user_agent} (contact: {self.contact})" if self.contact else self.user_agent
