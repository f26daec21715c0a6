"""Finding the addresses of a host name, all names at once: a silent name server delays no name but its own.

Neither of the usual ways does that. The system's resolver blocks one thread for each name, so that 64 silent names stop
all others. c-ares (aiodns) closes its socket after the first repeat, so that an answer after four seconds is lost, and
leaves a thread behind for as long as the process lives.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from builder.fetch.fetched import UNKNOWN_NAME
from builder.fetch.name_messages import AAAA, A, NameAnswer, Server, question, read_answer, wire_name

RESOLVER_FILE, HOSTS_FILE = Path("/etc/resolv.conf"), Path("/etc/hosts")
_PAUSES_S = (1.0, 2.0, 4.0)
"""How long a server has for its answer before the question is sent again: datagrams get lost."""
_OTHER_KIND_S = 0.1
"""How long the second kind of address is waited for once the first is there (RFC 8305 section 3 has 50 ms)."""
_N_SOCKETS = 8
"""Sockets per server: a port each that a forger has to guess, and few files."""
_FILE_BYTES = 1_000_000


class NameFaultError(OSError):
    """A name without an address; the text says why, in the words of a fetch's detail."""


def _lines(path: Path) -> list[list[str]]:
    """The words of each line of a system's file, without comments; none if it cannot be read."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [line.partition("#")[0].partition(";")[0].split() for line in text.splitlines()]


def system_servers(path: Path = RESOLVER_FILE) -> tuple[Server, ...]:
    """The name servers of this system; this machine itself if the file names none (resolv.conf(5))."""
    found: list[Server] = []
    for words in _lines(path):
        if len(words) >= 2 and words[0] == "nameserver":
            try:
                # A zone (`fe80::1%eth0`) is kept: a router on the link has no other address.
                ipaddress.ip_address(words[1])
            except ValueError:
                continue
            found.append((words[1], 53))
    return tuple(found[:3]) or (("127.0.0.1", 53),)


def hosts_file(path: Path = HOSTS_FILE) -> dict[str, list[str]]:
    """The addresses by name that this system keeps in a file."""
    found: dict[str, list[str]] = {"localhost": ["127.0.0.1", "::1"]}  # RFC 6761 section 6.3: never asked
    for address, *names in (words for words in _lines(path) if words):
        try:
            ipaddress.ip_address(address)
        except ValueError:
            continue
        for name in names:
            found.setdefault(name.lower(), []).append(address)
    return found


class _Lookup:
    """One name that is being looked up: what has been answered so far."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.answers: dict[int, NameAnswer] = {}
        self.n_failed = 0
        self.reason = ""
        self.changed = asyncio.Event()
        self.failed = asyncio.Event()

    def take(self, answer: NameAnswer) -> None:
        if answer.verdict == "failed":
            self.fail("the name server cannot find out")
        else:
            self.answers.setdefault(answer.kind, answer)
            self.changed.set()

    def fail(self, reason: str) -> None:
        self.n_failed += 1
        self.reason = reason
        self.failed.set()
        self.changed.set()

    async def another_failed(self, before: int, *, hurry: bool) -> None:
        """Return when a server has failed again; never without `hurry`: the one that failed needs its pause."""
        while not hurry or self.n_failed == before:
            self.failed.clear()
            await self.failed.wait()

    def addresses(self) -> list[str]:
        return [address for kind in (A, AAAA) if kind in self.answers for address in self.answers[kind].addresses]


class _Socket(asyncio.DatagramProtocol):
    """A socket to one name server, and the questions that wait for an answer on it by their number."""

    def __init__(self) -> None:
        self.waiting: dict[int, _Lookup] = {}
        self.transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not an isinstance: the loop's own transport for datagrams does not inherit from the class.
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, _: object) -> None:
        lookup = self.waiting.get(int.from_bytes(data[:2], "big"))
        if lookup is None:
            return
        try:
            lookup.take(read_answer(data, lookup.name))
        except ValueError:
            return  # a forged or damaged answer: the true one may still come

    def error_received(self, error: Exception) -> None:
        for lookup in set(self.waiting.values()):
            lookup.fail(_unreachable(error))

    def number(self, lookup: _Lookup) -> int:
        """A number for one more question of a lookup: free, and hard to guess."""
        chance = random.SystemRandom()
        while (number := chance.randrange(65_536)) in self.waiting:
            pass
        self.waiting[number] = lookup
        return number


class NameServers:
    """Asks name servers for addresses; call it in a running loop, with a host name.

    `wait_s` bounds a lookup. Without `servers`, those of the system are asked.
    """

    def __init__(
        self,
        servers: Sequence[Server] | None = None,
        wait_s: float = 10.0,
        known: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._servers = tuple(servers) if servers else system_servers()
        self._wait_s = wait_s
        self._known = known if known is not None else hosts_file()
        self._sockets: dict[tuple[Server, int], asyncio.Task[_Socket]] = {}

    async def __call__(self, host: str) -> list[str]:
        """The addresses of a host. Raises NameFaultError."""
        known = self._known.get(host.lower().removesuffix("."))
        if known:
            return list(known)
        try:
            lookup = _Lookup(wire_name(host))
        except ValueError as error:  # a UnicodeError is one
            raise NameFaultError(f"{UNKNOWN_NAME}: {error}") from None
        asking = asyncio.create_task(self._ask(lookup))
        try:
            async with asyncio.timeout(self._wait_s):
                await self._decided(lookup)
        except TimeoutError:
            if not lookup.addresses():
                raise _fault(lookup, self._wait_s) from None
        finally:
            asking.cancel()
        if truncated := [kind for kind, answer in lookup.answers.items() if answer.verdict == "truncated"]:
            await self._ask_by_tcp(lookup, truncated)
        if not lookup.addresses():
            raise _fault(lookup, self._wait_s)
        return lookup.addresses()

    async def _decided(self, lookup: _Lookup) -> None:
        """Return when both kinds are answered, one is and the other is late, or every server has failed twice."""
        limit = 2 * len(self._servers) * 2  # each time for both kinds
        while lookup.n_failed < limit and len(lookup.answers) < 2:
            lookup.changed.clear()
            try:
                async with asyncio.timeout(_OTHER_KIND_S if lookup.addresses() else None):
                    await lookup.changed.wait()
            except TimeoutError:
                return

    async def _ask(self, lookup: _Lookup) -> None:
        """Send the questions again and again, to one server after the other; at once where one has failed."""
        place = random.randrange(_N_SOCKETS)
        asked: dict[Server, tuple[_Socket, list[int]]] = {}
        try:
            for turn in range(len(_PAUSES_S) * len(self._servers)):
                n_failed, again = lookup.n_failed, turn // len(self._servers)
                await self._send(lookup, self._servers[turn % len(self._servers)], place, asked)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSES_S[again] / len(self._servers)):
                        await lookup.another_failed(n_failed, hurry=(turn + 1) % len(self._servers) > 0)
            await asyncio.sleep(self._wait_s)
        finally:
            for socket, numbers in asked.values():
                for number in numbers:
                    socket.waiting.pop(number, None)

    async def _send(
        self, lookup: _Lookup, server: Server, place: int, asked: dict[Server, tuple[_Socket, list[int]]]
    ) -> None:
        if server not in asked:
            try:
                socket = await self._socket(server, place)
            except OSError as error:
                lookup.fail(_unreachable(error))
                return
            asked[server] = socket, [socket.number(lookup), socket.number(lookup)]
        socket, numbers = asked[server]
        for number, kind in zip(numbers, (A, AAAA), strict=True):
            if kind not in lookup.answers and socket.transport is not None:
                socket.transport.sendto(question(number, lookup.name, kind))

    async def _socket(self, server: Server, place: int) -> _Socket:
        if (server, place) not in self._sockets:
            self._sockets[server, place] = asyncio.create_task(_open(server))
        opening = self._sockets[server, place]
        try:
            return await asyncio.shield(opening)
        except OSError:
            self._sockets.pop((server, place), None)  # the network may be back the next time
            raise

    async def _ask_by_tcp(self, lookup: _Lookup, kinds: Sequence[int]) -> None:
        """Ask for the answers that are too long for a datagram (RFC 7766); a fault leaves them as they are."""
        for server in self._servers:
            with suppress(OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
                async with asyncio.timeout(self._wait_s):
                    for kind in kinds:
                        lookup.answers[kind] = await _answer_by_tcp(server, lookup.name, kind)
                return

    async def close(self) -> None:
        """Close the sockets."""
        for opening in self._sockets.values():
            opening.cancel()
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                transport = opening.result().transport
                if transport is not None:
                    transport.close()
        self._sockets.clear()


def _unreachable(error: Exception) -> str:
    return f"the name server cannot be reached: {getattr(error, 'strerror', None) or error}"


def _fault(lookup: _Lookup, wait_s: float) -> NameFaultError:
    """Why a lookup has no address. That one kind of address does not exist says nothing about the other."""
    verdicts = {answer.verdict for answer in lookup.answers.values()}
    if len(lookup.answers) == 2 and verdicts == {"unknown"}:
        return NameFaultError(UNKNOWN_NAME)
    if lookup.reason:
        return NameFaultError(lookup.reason)
    return NameFaultError(f"the name server gave no answer in {wait_s:g} s")


async def _open(server: Server) -> _Socket:
    loop = asyncio.get_running_loop()
    _, socket = await loop.create_datagram_endpoint(_Socket, remote_addr=server)
    return socket


async def _answer_by_tcp(server: Server, name: bytes, kind: int) -> NameAnswer:
    reads, writes = await asyncio.open_connection(*server)
    try:
        number = random.SystemRandom().randrange(65_536)
        message = question(number, name, kind)
        writes.write(len(message).to_bytes(2, "big") + message)
        answer = read_answer(await reads.readexactly(int.from_bytes(await reads.readexactly(2), "big")), name)
    finally:
        writes.close()
    if (answer.number, answer.kind) != (number, kind):
        raise ValueError("answers another question")
    return answer
