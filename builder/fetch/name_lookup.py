"""Find the addresses of a host name with dnspython, many names at once.

The system's resolver blocks a thread for each name, so that 64 silent names stop all others.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path

import dns.asyncresolver
import dns.exception
import dns.nameserver
import dns.resolver
from dns.rdtypes.IN.A import A
from dns.rdtypes.IN.AAAA import AAAA

from builder.fetch.addresses import without_route
from builder.fetch.fetched import UNKNOWN_NAME
from builder.fetch.settings import Server

HOSTS_FILE = Path("/etc/hosts")
_KINDS = ("A", "AAAA")
_OTHER_KIND_S = 0.1
"""How long the second kind of address is waited for once the first is there (RFC 8305 section 3 has 50 ms)."""
_CLOCK_FAULT_S = 0.05
"""A lookup that ends so long before its time is up ends because the wall clock was set."""
_LATE_S = 1.0
_FILE_BYTES = 1_000_000


class NameFaultError(OSError):
    """A name without an address; the text says why, in the words of a fetch's detail."""


def hosts_file(path: Path = HOSTS_FILE) -> dict[str, list[str]]:
    """The addresses by name that this system keeps in a file; name servers do not know them."""
    found: dict[str, list[str]] = {"localhost": ["127.0.0.1", "::1"]}  # RFC 6761 section 6.3: never asked
    try:
        with path.open("rb") as stream:
            lines = stream.read(_FILE_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return found
    for address, *names in filter(None, (line.partition("#")[0].split() for line in lines)):
        try:
            ipaddress.ip_address(address)
        except ValueError:
            continue
        for name in names:
            found.setdefault(name.lower(), []).append(address)
    return found


def _resolver(servers: Sequence[Server] | None) -> dns.asyncresolver.Resolver:
    """A resolver that asks these servers, or those of this system, or this machine if the system names none."""
    if servers is None:
        try:
            return dns.asyncresolver.Resolver()
        except dns.resolver.NoResolverConfiguration:
            servers = [("127.0.0.1", 53)]
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = [dns.nameserver.Do53Nameserver(address, port) for address, port in servers]
    return resolver


class NameServers:
    """Asks name servers for addresses; call it in a running loop, with a host name.

    `wait_s` bounds a lookup. Without `servers`, those of the system are asked. `known` are the addresses by name that
    need no server.
    """

    def __init__(
        self,
        servers: Sequence[Server] | None = None,
        wait_s: float = 10.0,
        known: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._resolver, self._wait_s = _resolver(servers), wait_s
        # A datagram may be lost, so each server is asked again; an answer may be late, so it has some seconds.
        self._resolver.timeout = wait_s / (len(self._resolver.nameservers) + 1)
        self._known = known if known is not None else hosts_file()
        self._is_trusted = False  # not before it has found a name: one that denies every name would be believed

    async def __call__(self, host: str) -> list[str]:
        """The addresses of a host. Raises NameFaultError."""
        known = self._known.get(host.lower().removesuffix("."))
        if known:
            return list(known)
        if not host.strip("."):
            raise NameFaultError(f"{UNKNOWN_NAME}: {host!r} is no host name")
        asked = [asyncio.create_task(self._ask(host, kind)) for kind in _KINDS]
        try:
            waits = set(asked)
            while waits and not any(_addresses(task) for task in asked if task.done()):
                _, waits = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if waits:
                await asyncio.wait(waits, timeout=_OTHER_KIND_S)
            found = [address for task in asked if task.done() for address in _addresses(task)]
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        if not found:
            fault = self._fault([task.exception() for task in asked])
            if str(fault) == UNKNOWN_NAME and not self._is_trusted and not await self._knows_com():
                raise NameFaultError("the name server denies every name")
            raise fault
        self._is_trusted = True
        return found

    async def _knows_com(self) -> bool:
        """Whether the server knows a domain that exists: who denies it denies all names below it (RFC 8020)."""
        try:
            await self._ask("com", "A")
        except dns.resolver.NXDOMAIN:
            return False
        except (dns.exception.DNSException, OSError):
            pass  # it denies nothing
        self._is_trusted = True
        return True

    async def _ask(self, host: str, kind: str) -> list[str]:
        """The addresses of one kind; asked again if the process did not run when the time was up."""
        loop = asyncio.get_running_loop()
        while True:
            end = loop.time() + self._wait_s
            try:
                return await self._ask_until(end, host, kind)
            except (dns.resolver.LifetimeTimeout, TimeoutError):
                if loop.time() - end < _LATE_S:
                    raise

    async def _ask_until(self, end: float, host: str, kind: str) -> list[str]:
        """The same in one try. dnspython measures time by the wall clock, which may be set meanwhile."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(end):
            while True:
                try:
                    answer = await self._resolver.resolve(
                        host, kind, search=False, lifetime=end - loop.time(), raise_on_no_answer=False
                    )
                except dns.resolver.LifetimeTimeout:
                    if end - loop.time() < _CLOCK_FAULT_S:
                        raise
                else:
                    return [str(record.address) for record in answer if isinstance(record, A | AAAA)]

    def _fault(self, faults: Sequence[BaseException | None]) -> NameFaultError:
        """Why a lookup has no address. That one kind of address does not exist says nothing about the other."""
        for fault in faults:
            if isinstance(fault, dns.resolver.LifetimeTimeout | TimeoutError):
                return NameFaultError(self._without_route() or f"the name server gave no answer in {self._wait_s:g} s")
            if isinstance(fault, dns.resolver.NoNameservers):
                return NameFaultError(self._without_route() or "the name server cannot find out")
            if fault is not None and not isinstance(fault, dns.resolver.NXDOMAIN):
                return NameFaultError(f"{UNKNOWN_NAME}: {fault}")  # it cannot be a host name
        return NameFaultError(UNKNOWN_NAME)

    def _without_route(self) -> str:
        """What to say if this machine has no route to a name server: a datagram to it may be lost without an error."""
        for server in self._resolver.nameservers:
            fault = without_route(str(getattr(server, "address", server)))
            if fault:
                return f"the name server cannot be reached: {fault}"
        return ""


def _addresses(task: asyncio.Task[list[str]]) -> list[str]:
    """What a finished lookup found; nothing where it failed."""
    return [] if task.cancelled() or task.exception() else task.result()
