"""A proxy outside the sandbox: it passes TLS connections on to granted hosts, and counts their bytes.

It listens on a Unix socket in a folder that is mounted in the sandbox. The sandbox has its own network namespace, so no
port of ours is visible in it, and a socket in a file also serves a system that is started again. The proxy resolves
names itself, and dials exactly the addresses that it has checked.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edu_rag.network.public_addresses import is_public
from edu_rag.progress import say
from harness.named_network.connect_request import (
    MAX_HEAD_BYTES,
    RefusedRequestError,
    asked_host,
    greeted_name,
    is_whole,
)
from harness.named_network.named_host import NamedHost

SOCKET_NAME = "proxy"
HEAD_S = 10.0
"""Seconds for a whole request, and for the whole greeting after it."""
DIAL_S = 20.0
IDLE_S = 600.0
MAX_CONNECTIONS = 64
_CHUNK = 65_536
_MAX_REASONS = 10
_MAX_DIALS = 4
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"

Lookup = Callable[[str], Sequence[str]]
"""The addresses of a name. Raises OSError."""
Dial = Callable[[str, int], socket.socket]
"""A connection to an address and port, within DIAL_S. Raises OSError."""


def system_lookup(name: str) -> list[str]:
    """The addresses of a name, as this machine finds them."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def dial_address(address: str, port: int) -> socket.socket:
    """A connection to an address, which is not looked up again."""
    return socket.create_connection((address, port), DIAL_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkGrant:
    """The hosts that the person who runs a system lets it reach, and how they are reached.

    `printable` takes keys out of a text that a system wrote, before it is printed.
    """

    hosts: tuple[NamedHost, ...]
    lookup: Lookup = system_lookup
    dial: Dial = dial_address
    head_s: float = HEAD_S
    idle_s: float = IDLE_S
    printable: Callable[[str], str] = str

    @property
    def facts(self) -> Mapping[str, Any]:
        """The hosts as a run's record names them; empty where none is granted."""
        return {"network": [str(host) for host in self.hosts]} if self.hosts else {}


NO_NETWORK = NetworkGrant(hosts=())


@dataclass(slots=True)
class Traffic:
    """Counts: bytes to and from each host, connections, and refusals by reason."""

    sent: Counter[NamedHost] = field(default_factory=Counter)
    received: Counter[NamedHost] = field(default_factory=Counter)
    connections: Counter[NamedHost] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def lines(self) -> Iterator[str]:
        """One line a host, and one a reason of refusals."""
        for host in sorted(self.connections):
            n, out, back = self.connections[host], self.sent[host], self.received[host]
            yield f"network: {host}: connections {n:,}, bytes sent {out:,}, bytes received {back:,}"
        for reason, n in self.refused.most_common(_MAX_REASONS):
            yield f"network: refused {n:,}: {reason}"

    def refuse(self, reason: str) -> None:
        """Count a refusal; of a flood of different reasons only the first are kept."""
        with self.turn:
            known = reason in self.refused or len(self.refused) < _MAX_REASONS
            self.refused[reason if known else "other reasons"] += 1


@contextmanager
def proxy_in(folder: Path, grant: NetworkGrant, owner: int | None = None) -> Iterator[Traffic]:
    """A proxy that listens in a folder until the end of the block; `owner` is the user who may connect to it.

    At the end the bytes of each host are printed.
    """
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, inside)
        server.bind(f"/proc/self/fd/{inside}/{SOCKET_NAME}")  # a socket's own path may have 107 bytes only
        place = folder / SOCKET_NAME
        if owner is not None:
            os.chown(place, owner, owner)
        place.chmod(0o600)
        server.listen(MAX_CONNECTIONS)
        proxy = _Proxy(grant, Traffic())
        thread = threading.Thread(target=proxy.accept_from, args=(server,), daemon=True)
        thread.start()
        try:
            yield proxy.traffic
        finally:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
            thread.join()
            proxy.close()
            for line in proxy.traffic.lines():
                say(line)


class _Proxy:
    """The connections of one proxy, each with a thread."""

    def __init__(self, grant: NetworkGrant, traffic: Traffic) -> None:
        self.traffic = traffic
        self._grant = grant
        self._open: dict[socket.socket, threading.Thread] = {}
        self._turn = threading.Lock()

    def accept_from(self, server: socket.socket) -> None:
        """Take connections until the server is shut down."""
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with self._turn:
                if len(self._open) >= MAX_CONNECTIONS:
                    client.close()
                    self.traffic.refuse(f"over {MAX_CONNECTIONS} connections at a time")
                    continue
                self._open[client] = threading.Thread(target=self._serve, args=(client,), daemon=True)
                self._open[client].start()

    def close(self) -> None:
        """End all connections, and wait for their threads."""
        with self._turn:
            left = dict(self._open)
        for client in left:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        ends_at = time.monotonic() + DIAL_S  # a thread may still be looking up a name
        for thread in left.values():
            thread.join(max(0.0, ends_at - time.monotonic()))

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                self._answer(client)
        except RefusedRequestError as refusal:
            self.traffic.refuse(refusal.reason)
        except OSError:
            self.traffic.refuse("the connection broke before it was passed on")
        finally:
            with self._turn:
                self._open.pop(client, None)

    def _answer(self, client: socket.socket) -> None:
        """One connection: its request, the dial, the greeting, then bytes both ways."""
        try:
            host = self._asked(client)
            upstream = self._dialled(host)
        except RefusedRequestError as refusal:
            client.sendall(f"HTTP/1.1 {refusal.status}\r\nConnection: close\r\n\r\n{refusal.reason}\n".encode())
            raise
        with upstream:
            client.sendall(_ESTABLISHED)
            greeting = self._greeting(client, host)
            upstream.sendall(greeting)
            with self.traffic.turn:
                self.traffic.connections[host] += 1
                self.traffic.sent[host] += len(greeting)
            self._pass_on(client, upstream, host)

    def _asked(self, client: socket.socket) -> NamedHost:
        """The granted host that a client asks for. Raises RefusedRequestError."""
        head = b""
        for chunk in self._chunks(client, MAX_HEAD_BYTES + 1, "408 Request Timeout"):
            head += chunk
            if is_whole(head):
                host = asked_host(head, self._grant.printable)
                if host not in self._grant.hosts:
                    raise RefusedRequestError(
                        "403 Forbidden", f"{self._grant.printable(str(host))} is not a granted name"
                    )
                return host
        raise RefusedRequestError("400 Bad Request", "the request ended before it was whole")

    def _chunks(self, client: socket.socket, n_bytes: int, status: str) -> Iterator[bytes]:
        """The bytes from a client within `head_s`, in pieces. Raises RefusedRequestError if they take longer."""
        ends_at = time.monotonic() + self._grant.head_s
        while (left := ends_at - time.monotonic()) > 0:
            client.settimeout(left)
            try:
                chunk = client.recv(n_bytes)
            except TimeoutError:
                break
            if not chunk:
                return
            yield chunk
        raise RefusedRequestError(status, "the request took too long")

    def _dialled(self, host: NamedHost) -> socket.socket:
        """A connection to a host, by an address that was checked. Raises RefusedRequestError."""
        try:
            found = [ipaddress.ip_address(address.partition("%")[0]) for address in self._grant.lookup(host.name)]
        except (OSError, ValueError, UnicodeError):
            raise RefusedRequestError(
                "502 Bad Gateway", f"{host.name} has no address: is this machine online?"
            ) from None
        # One inside address among public ones is a rebinding trick: all of them are refused.
        if not found or not all(is_public(address) for address in found):
            raise RefusedRequestError("403 Forbidden", f"{host.name} leads to an address that is not public")
        for address in found[:_MAX_DIALS]:
            with contextlib.suppress(OSError):
                return self._grant.dial(str(address), host.port)
        raise RefusedRequestError("502 Bad Gateway", f"{host} does not answer: is this machine online?")

    def _greeting(self, client: socket.socket, host: NamedHost) -> bytes:
        """The client's TLS greeting, which must name the host. Raises RefusedRequestError."""
        data = b""
        for chunk in self._chunks(client, _CHUNK, ""):
            data += chunk
            name = greeted_name(data)
            if name is not None:
                if name != host.name:
                    raise RefusedRequestError("", f"TLS names another server than {host.name}")
                return data
        raise RefusedRequestError("", "the connection ended before its greeting was whole")

    def _pass_on(self, client: socket.socket, upstream: socket.socket, host: NamedHost) -> None:
        """Pass bytes both ways until both sides have ended, or neither has sent anything for `idle_s`."""
        sent, received = self.traffic.sent, self.traffic.received
        ends = _Ends(client, upstream, self._grant.idle_s)
        # A thread for each way: with one, two sides that both wait for the other to read would wait for ever.
        back = threading.Thread(target=self._copy, args=(upstream, client, ends, received, host), daemon=True)
        back.start()
        self._copy(client, upstream, ends, sent, host)
        back.join()

    def _copy(
        self, source: socket.socket, target: socket.socket, ends: _Ends, counter: Counter[NamedHost], host: NamedHost
    ) -> None:
        try:
            for chunk in ends.chunks(source):
                target.sendall(chunk)
                with self.traffic.turn:
                    counter[host] += len(chunk)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            ends.break_off()


class _Ends:
    """The two ends of a connection that is passed on."""

    def __init__(self, client: socket.socket, upstream: socket.socket, idle_s: float) -> None:
        self._both = (client, upstream)
        self._idle_s = idle_s
        self._used_at = time.monotonic()
        for end in self._both:
            end.settimeout(idle_s)

    def chunks(self, source: socket.socket) -> Iterator[bytes]:
        """The bytes from one end. Raises OSError if it breaks, or if both ends have been silent for too long."""
        while True:
            try:
                chunk = source.recv(_CHUNK)
            except TimeoutError:
                if time.monotonic() - self._used_at < self._idle_s:
                    continue
                raise
            if not chunk:
                return
            self._used_at = time.monotonic()
            yield chunk

    def break_off(self) -> None:
        """End both: the other thread's call returns."""
        for end in self._both:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
