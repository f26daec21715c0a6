"""Which addresses may be dialled: public ones, and those loopback ports that the search engine itself serves."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from builder.urls import literal_address

if TYPE_CHECKING:
    from builder.search import HostMap

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# `is_global` is True for these: cloud metadata doors, local NAT64 prefixes, tunnels and retired ranges.
_DENIED = tuple(
    ipaddress.ip_network(network)
    for network in ("168.63.129.16/32", "192.88.99.0/24", "64:ff9b:1::/48", "2001::/32", "fec0::/10", "::/96")
)


class RefusedAddressError(OSError):
    """An address that we do not dial: an OSError, so that aiohttp hands it through as the cause."""


def _inner(address: Address) -> Address:
    """The IPv4 address inside a mapped, 6to4 or NAT64 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_public(address: Address) -> bool:
    """Whether the address is of the public internet, after unwrapping IPv4 in IPv6."""
    address = _inner(address)
    if any(address.version == network.version and address in network for network in _DENIED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def check_url(url: str) -> None:
    """Raise RefusedAddressError for another scheme, credentials, an odd port, or a literal inside address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        # No exception for served hosts: aiohttp dials a literal address without asking the resolver.
        literal = literal_address(host)
    except ValueError as error:
        raise RefusedAddressError(str(error)) from None
    if parts.scheme not in PORTS or not host:
        raise RefusedAddressError(f"scheme {parts.scheme!r} is not http or https")
    if "@" in parts.netloc:
        raise RefusedAddressError("the URL carries a user name")
    if port is not None and port not in PORTS.values():
        raise RefusedAddressError(f"port {port} is not 80 or 443")
    if literal is not None and not is_public(literal):
        raise RefusedAddressError(f"{literal} is not a public address")


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be dialled. What it returns is what is dialled: rebinding is no way in."""

    def __init__(self, hosts: HostMap) -> None:
        self._hosts = hosts
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises RefusedAddressError where one is not public."""
        if host in self._hosts:
            address, mapped = self._hosts[host]
            return [_result(host, address, mapped)]
        found = await self._system.resolve(host, port, family)
        for result in found:
            # One private address among public ones is a rebinding trick: refuse them all.
            if not is_public(ipaddress.ip_address(result["host"].split("%")[0])):
                raise RefusedAddressError(f"{host} is {result['host']}, which is not a public address")
        return found

    async def close(self) -> None:
        """Close the system's resolver."""
        await self._system.close()


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
