"""Connections to engines that dial public addresses alone: the address that is checked is the one that is dialled."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from builder.fetch.addresses import RefusedAddressError, system_lookup
from edu_rag.network.public_addresses import is_public


def names_inside_address(url: str) -> bool:
    """Whether an address names this machine or an inside network itself: its writer wants to go there."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return not is_public(ipaddress.ip_address(host.split("%")[0]))
    except ValueError:
        return False


def public_address_of(host: str) -> str:
    """An address of the host. Raises RefusedAddressError if any of them is not public, OSError if there is none."""
    found = system_lookup(host)
    for address in found:
        # One private address among public ones is a rebinding trick: refuse them all.
        if not is_public(ipaddress.ip_address(address.split("%")[0])):
            raise RefusedAddressError(f"{host} is {address}, which is not a public address")
    if not found:
        raise OSError(f"{host} has no address")
    return found[0]


class _Dialling:
    """Replaces the name by its checked address while the socket is opened; TLS still verifies the name."""

    _dns_host: str

    def _new_conn(self) -> Any:
        name = self._dns_host
        self._dns_host = public_address_of(name)
        try:
            return super()._new_conn()  # type: ignore[misc]  # urllib3's connection is the other base
        finally:
            self._dns_host = name


class _GuardedHTTPConnection(_Dialling, HTTPConnection):
    pass


class _GuardedHTTPSConnection(_Dialling, HTTPSConnection):
    pass


class _GuardedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _GuardedHTTPConnection


class _GuardedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _GuardedHTTPSConnection


class GuardedAdapter(HTTPAdapter):
    """A transport for a requests session that refuses names with inside addresses."""

    def init_poolmanager(self, *given: Any, **options: Any) -> None:
        """Make the pools of guarded connections."""
        super().init_poolmanager(*given, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _GuardedHTTPPool, "https": _GuardedHTTPSPool}
