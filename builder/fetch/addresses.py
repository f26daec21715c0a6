"""Which URLs and addresses may be dialled: only public ones. Names resolve and sockets open to nothing else."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from builder.urls import MAX_URL_CHARACTERS, literal_address
from edu_rag.network.public_addresses import is_public

if TYPE_CHECKING:
    from builder.sites.site_folders import HostMap


PORTS = {"http": 80, "https": 443}


class RefusedAddressError(OSError):
    """An address that we do not dial: an OSError, so that aiohttp keeps it as the cause."""


def check_url(url: str) -> None:
    """Raise RefusedAddressError for another scheme, credentials, an odd port, or a literal inside address.

    It also does so for a URL that is too long to be a page's: no canonical URL could name its target.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise RefusedAddressError(f"the URL has {len(url):,} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        # No exception for served hosts: aiohttp dials a literal address without asking the resolver.
        literal = literal_address(host)
    except ValueError as error:
        raise RefusedAddressError(str(error)) from None
    if parts.scheme not in PORTS or not host:
        raise RefusedAddressError(f"scheme {parts.scheme!r} is not http or https")
    if "@" in parts.netloc or "\\" in parts.netloc:
        raise RefusedAddressError("the URL carries a user name")
    if port is not None and port not in PORTS.values():
        raise RefusedAddressError(f"port {port} is not 80 or 443")
    if literal is not None and not is_public(literal):
        raise RefusedAddressError(f"{literal} is not a public address")


Lookup = Callable[[str], Awaitable[list[str]]]
"""Finds the addresses of a host. Raises OSError."""
NOT_PUBLIC = "which is not a public address"
"""How the detail ends where a name leads inside."""


def system_lookup(host: str) -> list[str]:
    """The addresses of a host, as the system finds them; it blocks. Raises OSError."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"no host name: {error}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def without_route(address: str) -> str:
    """What the system says if it has no route to an address; empty if it has one. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as door:
            door.connect((address, 53))
    except OSError as error:
        return error.strerror or str(error)
    return ""


class NoRouteError(OSError):
    """A host that has only IPv6 addresses, to which this machine has no route."""


def with_route(host: str, found: Sequence[str]) -> list[str]:
    """The addresses of a host that can be dialled: without those of IPv6 if this machine has no route to them.

    Else a dead host with both kinds of addresses would look as if this machine had lost its network. Raises
    NoRouteError.
    """
    sixes = [address for address in found if ":" in address]
    fault = without_route(sixes[0]) if sixes else ""
    if not fault:
        return list(found)
    others = [address for address in found if address not in sixes]
    if not others:
        raise NoRouteError(f"{host} has only IPv6 addresses, and this machine has no route to them")
    return others


Doors = set[tuple[str, int]]
"""Addresses and names, each with a port, that may be dialled although they are not public: those of proxies."""


def guarded_sockets(hosts: HostMap, proxies: Doors) -> Callable[[Any], socket.socket]:
    """A socket factory for aiohttp that checks the address to be dialled, whichever way it was found.

    It raises RefusedAddressError for an address that is neither public, on port 80 or 443, nor served by the engine,
    nor a proxy's.
    """
    served = frozenset((address, port) for address, port in hosts.values())

    def open_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        host, port = str(address[0]).split("%")[0], int(address[1])
        if (host, port) in served or (host, port) in proxies:
            return socket.socket(family=family, type=kind, proto=protocol)
        if not (is_public(ipaddress.ip_address(host)) and port in PORTS.values()):
            raise RefusedAddressError(f"{host} port {port} is not to be dialled")
        return socket.socket(family=family, type=kind, proto=protocol)

    return open_socket
