"""An internet inside this machine: a name server and web servers at public addresses, driven by a script of events.

`within` runs commands in a network namespace of their own, whose loopback device has all of 11.0.0.0/8. So the product
runs unchanged: real name resolution, real sockets to ports 80 and 443, and the guard of addresses as it is. The script
is a JSON file:

    hosts   by name: {"name": "live", "unknown", "fails", "silent", "late", "inside", "moves", "truncated" (over UDP),
                               "six" (IPv6 alone, to which no route leads), "both" (that too), "chain" (of other
                               names), "loop" (of names) or "chain_inside",
                      "web": "live", "dead", "slow", "drip", "drip_head" or "bomb", "pages": n, "delay_s": s,
                      "tls": "live", "expired", "wrong_name" or "untrusted"}
    events  [{"after_pages": n, "what": one of EVENTS, "seconds": s or null, "hosts": [...] for "dead",
              "after_requests": n, if it begins before the first page,
              "clock_s": s, if the wall clock of the commands is wrong by so much meanwhile,
              "pause_s": s, if it begins so long after the end of the one before}]
    runs    the commands, one after the other, each a list of words

An event begins when so many pages have been served (and so many requests have come), and ends after its seconds, or
with the command. A `moves` name has a public address when it is first asked for, and an inside one from then on. A host
with `tls` answers on port 443 too: the commands trust the tests' authority (SSL_CERT_FILE), and nobody trusts a
portal's certificate. At PROXY there is an HTTP proxy, which knows all hosts.
"""

from __future__ import annotations

import asyncio
import fcntl
import gzip
import json
import math
import os
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch
from urllib.parse import urlsplit

from dnslib import AAAA, CNAME, QTYPE, RCODE, RR, A, DNSRecord

RESOLVER, PORTAL, LOGIN_HOST = "11.0.0.53", "11.0.0.80", "login.hotel-lan.com"
PROXY_HOST, PROXY_ADDRESS, PROXY_PORT = "proxy.school-lan.com", "11.0.0.31", 3128
PROXY = f"http://{PROXY_HOST}:{PROXY_PORT}"
_HERE, _CLOCK = "/login-here", "clock-s"
LOGIN = b"<html><title>Hotel network</title><body><p>Welcome. Log in to use this network.</p></body></html>"
_DEVICE, _WHOLE = "lo:1", "11.0.0.1"
_SIOCSIFADDR, _SIOCSIFFLAGS, _SIOCSIFNETMASK, _IP_FREEBIND = 0x8916, 0x8914, 0x891C, 15
_LATE_S, _SLOW_S, _DRIP_S = 1.5, 30.0, 0.05
_N_ALIASES = 6
_BOMB_BYTES = 20_000_000
_GATEWAY_STATUSES = (502, 503, 504)
EVENTS = {
    "away": "the device has no address, so that all dials fail at once",
    "silent": "packets get lost",
    "stopped": "the command does not run, as on a machine that sleeps",
    "clock": "nothing but what `clock_s` says",
    "names_down": "the name server is silent",
    "names_gone": "nothing listens on the name server's port",
    "names_garbage": "the name server answers what is no answer",
    "names_astray": "the name server has the portal's address for all names; the other addresses go on",
    "names_portal": "the same, and no other address answers",
    "names_fail": "the name server answers SERVFAIL",
    "names_refused": "the name server answers REFUSED",
    "names_unknown": "the name server says that no name exists",
    "names_empty": "the name server knows no address of any name",
    "names_inside": "the name server has one inside address for all names",
    "portal": "one page for every host",
    "portal_redirect": "a redirect to one host",
    "portal_here": "a redirect to the login page at the host's own address",
    "portal_loop": "a redirect to the address itself",
    "portal_404": "404 with a page that names the address",
    "portal_403": "403 for every host",
    "portal_511": "511 Network Authentication Required",
    "portal_json": "an answer that is not a page",
    "portal_empty": "an answer without a body",
    "gateway": "502, 503 or 504 for every host",
    "busy": "429 with Retry-After for every host",
    "cut": "every answer ends in its middle",
    "reset": "every connection is closed when the request has come",
    "mute": "every host takes the connection and says nothing",
    "babble": "something that is no HTTP answers for every host",
    "slow": "every answer takes longer than a page may",
    "expired": "every certificate has expired, as on a machine whose clock is wrong",
    "dead": "some hosts do not answer",
    "proxy_gone": "nothing listens on the proxy's port",
    "proxy_unknown": "the proxy's name does not exist",
    "proxy_mute": "the proxy takes the connection and says nothing",
    "proxy_407": "the proxy wants a password",
    "proxy_403": "the proxy lets nobody through",
    "proxy_502": "the proxy reaches no host",
    "proxy_login": "the proxy has its login page for every host",
}
_NAMES_FAIL = {
    "names_fail": RCODE.SERVFAIL,
    "names_refused": RCODE.REFUSED,
    "names_unknown": RCODE.NXDOMAIN,
    "names_empty": RCODE.NOERROR,
}
_PORTALS = {name for name in EVENTS if name.startswith("portal")}
_ADDRESS_6 = "2a00:1450:4001:80b::2003"
_OURS = (LOGIN_HOST, PROXY_HOST)
_LOST = {"silent", "away", "mute", "names_portal"}
_BAD = ("expired", "wrong_name", "untrusted")
_TEXT = (
    "the cell stores energy and water moves through every membrane of a plant while light heats rock in the sun and"
    " forces act on atoms that form metal waves carry sound across the earth because matter is made of particles"
)
_WORDS = _TEXT.split()


def can_run() -> bool:
    """Whether this machine lets us have a network namespace."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode == 0


_UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--kill-child", "--"]


def page_of(host: str, path: str) -> bytes:
    """A page of English words, another one for every address."""
    rng = random.Random(f"{host}{path}")
    text = "".join(f"<p>{' '.join(rng.choices(_WORDS, k=40)).capitalize()}.</p>\n" for _ in range(12))
    return f"<html><head><title>{host}{path}</title></head><body>\n{text}</body></html>".encode()


def _interface(name: str, address: str) -> None:
    """Give a device an address; 0.0.0.0 takes it away."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        place = struct.pack("16sH2s4s8s", name.encode(), socket.AF_INET, b"", socket.inet_aton(address), b"")
        fcntl.ioctl(door, _SIOCSIFADDR, place)
        if address != "0.0.0.0":
            mask = struct.pack("16sH2s4s8s", name.encode(), socket.AF_INET, b"", socket.inet_aton("255.0.0.0"), b"")
            fcntl.ioctl(door, _SIOCSIFNETMASK, mask)
            fcntl.ioctl(door, _SIOCSIFFLAGS, struct.pack("16sH", name.encode(), 0x41))  # up and running


@dataclass
class World:
    """The hosts and the events of a script, and what was asked."""

    hosts: Mapping[str, Mapping[str, Any]]
    events: list[dict[str, Any]]
    n_pages: int = 0
    n_requests: int = 0
    n_inside: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    names_asked: Counter[str] = field(default_factory=Counter)
    running: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    last_ended_at: float = -math.inf
    log: list[str] = field(default_factory=list)
    served_at: dict[str, float] = field(default_factory=dict)
    clock: Path | None = None
    """Where the commands read how wrong their wall clock is."""
    command: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        self.address_of = {
            name: f"11.{1 + place // 62_500}.{1 + place // 250 % 250}.{1 + place % 250}"
            for place, name in enumerate(self.hosts)
        }

    @property
    def has_tls(self) -> bool:
        """Whether any host answers on port 443."""
        return any(host.get("tls", "none") != "none" for host in self.hosts.values())

    def now(self) -> set[str]:
        """What is going on: events that are due begin, and those whose time is over end."""
        while self.events and self._is_due(self.events[0]):
            event = self.events.pop(0)
            self.running.append((math.inf if event["seconds"] is None else time.monotonic() + event["seconds"], event))
            self.log.append(f"{event['what']} after {self.n_pages} pages")
            self._set_clock(event.get("clock_s"))
            self._signal(event, signal.SIGSTOP)
            if event["what"] == "away":
                _interface(_DEVICE, "0.0.0.0")
        for until, event in list(self.running):
            if until <= time.monotonic():
                self.running.remove((until, event))
                self.last_ended_at = time.monotonic()
                self.log.append(f"end of {event['what']} after {self.n_pages} pages")
                self._set_clock(event.get("clock_s") and 0.0)
                self._signal(event, signal.SIGCONT)
                if event["what"] == "away":
                    _interface(_DEVICE, _WHOLE)
        return self.kinds()

    def _signal(self, event: Mapping[str, Any], kind: signal.Signals) -> None:
        if event["what"] == "stopped" and self.command is not None:
            self.command.send_signal(kind)

    def _set_clock(self, wrong_s: float | None) -> None:
        if self.clock is not None and wrong_s is not None:
            new = self.clock.with_suffix(".new")
            new.write_text(str(wrong_s), encoding="ascii")
            new.replace(self.clock)

    def _is_due(self, event: Mapping[str, Any]) -> bool:
        # The seconds of an event at the very beginning count from the first question to the name server.
        has_begun = event["seconds"] is None or event["after_pages"] > 0 or bool(self.names_asked)
        has_come = self.n_pages >= event["after_pages"] and self.n_requests >= event.get("after_requests", 0)
        has_rested = time.monotonic() >= self.last_ended_at + event.get("pause_s", 0.0)
        return has_begun and has_come and has_rested and not self.running

    def end_of_run(self) -> None:
        """End the events without an end: the next command finds the network as it should be."""
        self.running = [(0.0 if until == math.inf else until, event) for until, event in self.running]

    def kinds(self) -> set[str]:
        """The events that are going on."""
        return {event["what"] for _, event in self.running}

    def is_dead(self, host: str) -> bool:
        """Whether a host does not answer: for good, or until its event ends."""
        events = (event for _, event in self.running if event["what"] == "dead")
        return self.hosts.get(host, {}).get("web") == "dead" or any(host in event["hosts"] for event in events)


class _Names(asyncio.DatagramProtocol):
    """The name server: authoritative for everything."""

    def __init__(self, world: World) -> None:
        self._world = world

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        question = DNSRecord.parse(data)
        answer, delay_s = self._answer_to(question)
        if "names_garbage" in self._world.now():
            self._transport.sendto(data[:2] + b"\xff" * 20, sender)
        elif answer is not None and not {"silent", "names_down", "away"} & self._world.now():
            if self._is_long(question):
                answer.header.tc, answer.rr = 1, []
            packet = answer.pack()
            asyncio.get_running_loop().call_later(delay_s, self._transport.sendto, packet, sender)

    async def serve(self, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        """Answer a question that came over TCP."""
        try:
            (length,) = struct.unpack("!H", await reads.readexactly(2))
            answer, _ = self._answer_to(DNSRecord.parse(await reads.readexactly(length)))
            if answer is not None:
                packet = answer.pack()
                writes.write(struct.pack("!H", len(packet)) + packet)
                await writes.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writes.close()

    def _is_long(self, question: DNSRecord) -> bool:
        return self._world.hosts.get(_name_of(question), {}).get("name") == "truncated"

    def _answer_to(self, question: DNSRecord) -> tuple[DNSRecord | None, float]:
        name = _name_of(question)
        self._world.names_asked[name] += 1
        return self._answer(question, name)

    def _answer(self, question: DNSRecord, name: str) -> tuple[DNSRecord | None, float]:
        how = self._how(name)
        answer = question.reply()
        wrong = _NAMES_FAIL.keys() & self._world.now()
        if wrong:
            answer.header.rcode = _NAMES_FAIL[wrong.pop()]
            return answer, 0.0
        if how == "silent":
            return None, 0.0
        if "names_inside" in self._world.now():
            how = "inside"
        if how == "unknown":
            answer.header.rcode = RCODE.NXDOMAIN
        elif how == "fails":
            answer.header.rcode = RCODE.SERVFAIL
        elif how in ("chain", "loop", "chain_inside"):
            self._add_chain(answer, question, name, how)
        elif question.q.qtype == QTYPE.A and how not in ("domain", "six"):
            address = self._address_of(name)
            if how == "inside" or (how == "moves" and self._world.names_asked[name] > 2):
                address = "127.0.0.1"
            answer.add_answer(RR(question.q.qname, QTYPE.A, rdata=A(address), ttl=60))
        elif question.q.qtype == QTYPE.AAAA and how in ("inside", "six", "both"):
            address = "::1" if how == "inside" else _ADDRESS_6
            answer.add_answer(RR(question.q.qname, QTYPE.AAAA, rdata=AAAA(address), ttl=60))
        return answer, _LATE_S if how == "late" else 0.0

    def _address_of(self, name: str) -> str:
        if name == PROXY_HOST:
            return PROXY_ADDRESS
        is_portals = name == LOGIN_HOST or {"names_astray", "names_portal"} & self._world.now()
        return PORTAL if is_portals else self._world.address_of[name]

    def _how(self, name: str) -> Any:
        """The kind of a name."""
        if "." not in name:
            return "domain"
        if name == PROXY_HOST and "proxy_unknown" in self._world.now():
            return "unknown"
        host = self._world.hosts.get(name)
        return host.get("name", "live") if host is not None else "live" if name in _OURS else "unknown"

    def _add_chain(self, answer: DNSRecord, question: DNSRecord, name: str, how: str) -> None:
        """Other names for a name, up to its address or back to itself."""
        links = [name, *(f"alias{n}.{name}" for n in range(_N_ALIASES))]
        for link, following in zip(links, [*links[1:], name] if how == "loop" else links[1:], strict=how == "loop"):
            answer.add_answer(RR(link, QTYPE.CNAME, rdata=CNAME(following), ttl=60))
        if how != "loop" and question.q.qtype == QTYPE.A:
            address = "127.0.0.1" if how == "chain_inside" else self._world.address_of[name]
            answer.add_answer(RR(links[-1], QTYPE.A, rdata=A(address), ttl=60))


def _name_of(question: DNSRecord) -> str:
    return str(question.q.qname).rstrip(".").lower()


class _Web:
    """The web servers of all hosts, behind one socket for all addresses."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def serve(self, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        try:
            here = str(writes.get_extra_info("sockname")[0])
            if here.startswith("127."):
                self._world.n_inside += 1
            while head := await reads.readuntil(b"\r\n\r\n"):
                host, path = _request(head)
                answer = _message(200, LOGIN) if here == PORTAL else await self.answer(host, path)
                if answer is None:
                    break
                if path != "/robots.txt" and self._world.hosts.get(host, {}).get("web") in ("drip", "drip_head"):
                    await _drip(answer, writes)
                writes.write(answer)
                await writes.drain()
                if b"\r\nconnection: close\r\n" in head.lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            pass  # the client has gone
        finally:
            writes.close()

    async def answer(self, host: str, path: str) -> bytes | None:
        """What a host answers; None if it closes the connection."""
        world = self._world
        world.asked[f"{host}{path}"] += 1
        world.n_requests += 1
        known = world.hosts.get(host, {})
        if known.get("web") == "slow" or "slow" in world.now():
            await asyncio.sleep(_SLOW_S)
        await asyncio.sleep(known.get("delay_s", 0.02))
        now = world.now()
        if _LOST & now:  # also what was on its way gets lost
            while _LOST & world.now():
                await asyncio.sleep(0.05)
            return None
        if world.is_dead(host) or "reset" in now:
            return None
        instead = _instead(host, path, now)
        if instead is not None:
            return instead
        if path == "/robots.txt" or host not in world.hosts:
            return _message(404, b"")
        return _hostile(known) or self._page(host, path)

    def _page(self, host: str, path: str) -> bytes:
        world = self._world
        world.n_pages += 1
        world.served_at.setdefault(f"{host}{path}", time.monotonic())
        return _message(200, page_of(host, path))


def _hostile(known: Mapping[str, Any]) -> bytes | None:
    """The answer of a host that harms who asks; None if it does not."""
    if known.get("web") == "bomb":
        return _message(200, _bomb(), "Content-Encoding: gzip\r\n")
    if known.get("web") == "drip":
        return _message(200, b"", "X-Body: one byte after the other\r\n").replace(b"h: 0\r", b"h: 900000\r")
    if known.get("web") == "drip_head":
        return b"HTTP/1.1 200 X\r\nX-Head: "
    return None


async def _drip(head: bytes, writes: asyncio.StreamWriter) -> None:
    """An answer without an end, one byte after the other."""
    writes.write(head)
    while True:
        writes.write(b"x")
        await writes.drain()
        await asyncio.sleep(_DRIP_S)


@cache
def _bomb() -> bytes:
    """A few bytes that are very many when they are unpacked."""
    return gzip.compress(bytes(_BOMB_BYTES), 9)


def _instead(host: str, path: str, now: set[str]) -> bytes | None:
    """The answer of a portal or a gateway for the host; None if the host answers itself."""
    if host == LOGIN_HOST or path == _HERE:
        return _message(200, LOGIN)
    if "gateway" in now:
        return _message(_GATEWAY_STATUSES[len(host + path) % 3], b"")
    answers: dict[str, Callable[[], bytes]] = {
        "babble": lambda: b"SSH-2.0-OpenSSH_9.9\r\n",
        "cut": lambda: _message(200, page_of(host, path))[:-1_000],
        "busy": lambda: _message(429, b"", "Retry-After: 1\r\n"),
        "portal": lambda: _message(200, LOGIN),
        "portal_redirect": lambda: _message(302, b"", f"Location: http://{LOGIN_HOST}/\r\n"),
        "portal_here": lambda: _message(302, b"", f"Location: {_HERE}\r\n"),
        "portal_loop": lambda: _message(302, b"", f"Location: {path}\r\n"),
        "portal_404": lambda: _message(
            404, b"<html><title>Not found</title><p>Log in, then ask for %s again." % path.encode()
        ),
        "portal_403": lambda: _message(403, b"<html><p>Log in first.</p></html>"),
        "portal_511": lambda: _message(511, LOGIN),
        "portal_json": lambda: _message(200, b'{"captive": true}', kind="application/captive+json"),
        "portal_empty": lambda: _message(200, b""),
    }
    return next((answer() for what, answer in answers.items() if what in now), None)


def _request(head: bytes) -> tuple[str, str]:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return headers.get("host", ""), first.split(" ")[1]


def _message(status: int, body: bytes, more: str = "", kind: str = "text/html") -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


class _Proxy:
    """An HTTP proxy, which dials the hosts itself."""

    def __init__(self, world: World, web: _Web) -> None:
        self._world, self._web = world, web

    async def serve(self, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        """Answer requests until the client goes, or a tunnel ends."""
        try:
            while head := await reads.readuntil(b"\r\n\r\n"):
                if "proxy_gone" in self._world.now():
                    break
                method, target, _ = head.decode("latin-1").split(" ", 2)
                while "proxy_mute" in self._world.now():
                    await asyncio.sleep(0.05)
                instead = _of_proxy(self._world.now())
                if instead is not None:
                    writes.write(instead)
                elif method == "CONNECT":
                    await self._tunnel(target.partition(":")[0], reads, writes)
                    break
                else:
                    parts = urlsplit(target)
                    writes.write(await self._web.answer(parts.netloc, parts.path) or _message(502, b""))
                await writes.drain()
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            pass  # the client has gone
        finally:
            writes.close()

    async def _tunnel(self, host: str, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        there, out = await asyncio.open_connection(self._world.address_of[host], 443)
        writes.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pipe(reads, out), _pipe(there, writes))


async def _pipe(reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
    try:
        while data := await reads.read(65_536):
            writes.write(data)
            await writes.drain()
    finally:
        writes.close()


def _of_proxy(now: set[str]) -> bytes | None:
    """What the proxy itself answers, whatever it is asked for; None if it does its work."""
    answers = {
        "proxy_407": _message(407, b"", 'Proxy-Authenticate: Basic realm="school"\r\n'),
        "proxy_403": _message(403, b"<html><p>Access denied by the policy of this school.</p></html>"),
        "proxy_502": _message(502, b""),
        "proxy_login": _message(200, LOGIN),
    }
    return next((answer for what, answer in answers.items() if what in now), None)


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=True)


def _certificates(folder: Path, hosts: Mapping[str, Mapping[str, Any]]) -> dict[str, ssl.SSLContext]:
    """Make an authority, `ca.pem`, and the certificates of the kinds of hosts."""
    key = "key.pem"
    _openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    for name in ("ca", "stranger"):
        _openssl(
            folder, "req", "-x509", "-new", "-key", key, "-subj", f"/CN={name}", "-days", "30", "-out", f"{name}.pem"
        )
    _openssl(folder, "req", "-new", "-key", key, "-subj", "/CN=simulated", "-out", "request.pem")
    contexts = {}
    for kind in ("live", *_BAD, "all_expired"):
        of = "live" if kind in ("wrong_name", "all_expired") else kind
        names = [name for name, host in hosts.items() if host.get("tls") == of] or ["www.nobody.com"]
        (folder / "names").write_text(f"subjectAltName={','.join(f'DNS:{name}' for name in names)}", encoding="ascii")
        ends = ["-days", "-1" if "expired" in kind else "30"]
        by = "stranger.pem" if kind == "untrusted" else "ca.pem"
        words = ["-req", "-in", "request.pem", "-CA", by, "-CAkey", key, "-set_serial", "7", *ends, "-extfile", "names"]
        _openssl(folder, "x509", *words, "-out", f"{kind}.pem")
        contexts[kind] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts[kind].load_cert_chain(folder / f"{kind}.pem", folder / key)
    return contexts


def _tls(world: World, folder: Path) -> ssl.SSLContext:
    """The context of port 443: each host has the certificate of its kind."""
    contexts = _certificates(folder, world.hosts)

    def choose(connection: ssl.SSLObject, name: str, _: ssl.SSLContext) -> None:
        kind = world.hosts.get(name, {}).get("tls", "untrusted")
        kind = "all_expired" if "expired" in world.now() else kind
        connection.context = contexts["untrusted" if _PORTALS & world.now() else kind]

    contexts["untrusted"].sni_callback = choose
    return contexts["untrusted"]


class _Doors:
    """The sockets of the name server and of the proxy, which some events close."""

    def __init__(self, world: World, web: _Web) -> None:
        self._world, self._proxy = world, _Proxy(world, web)
        self._names: asyncio.BaseTransport | None = None
        self._names_tcp: asyncio.Server | None = None
        self._proxies: asyncio.Server | None = None

    async def keep(self) -> None:
        """Open what should be open now, and close what should not."""
        now = self._world.now()
        if "names_gone" in now and self._names and self._names_tcp:
            self._names.close()
            self._names_tcp.close()
            self._names = self._names_tcp = None
        elif "names_gone" not in now and self._names is None:
            names = _Names(self._world)
            loop = asyncio.get_running_loop()
            self._names, _ = await loop.create_datagram_endpoint(lambda: names, sock=_door(socket.SOCK_DGRAM))
            self._names_tcp = await asyncio.start_server(names.serve, sock=_door(socket.SOCK_STREAM))
        if "proxy_gone" in now and self._proxies:
            self._proxies.close()
            self._proxies = None
        elif "proxy_gone" not in now and self._proxies is None:
            self._proxies = await asyncio.start_server(self._proxy.serve, "0.0.0.0", PROXY_PORT, backlog=1024)


def _door(kind: socket.SocketKind) -> socket.socket:
    """A socket of the name server, which stays while the device has no address."""
    door = socket.socket(socket.AF_INET, kind)
    door.setsockopt(socket.SOL_IP, _IP_FREEBIND, 1)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    door.bind((RESOLVER, 53))
    return door


async def _keep(world: World, folder: Path, ready: threading.Event, ended: threading.Event) -> None:
    web = _Web(world)
    doors = _Doors(world, web)
    await asyncio.start_server(web.serve, "0.0.0.0", 80, backlog=1024)
    if world.has_tls:
        await asyncio.start_server(web.serve, "0.0.0.0", 443, backlog=1024, ssl=_tls(world, folder))
    await doors.keep()
    ready.set()
    while not ended.is_set():
        await doors.keep()
        await asyncio.sleep(0.05)


def main(script: Path) -> None:
    """Inside of the namespace: serve, run the commands, and print what happened as JSON."""
    values = json.loads(script.read_text(encoding="utf-8"))
    _interface("lo", "127.0.0.1")
    _interface(_DEVICE, _WHOLE)
    events = sorted(values["events"], key=lambda event: event["after_pages"])
    world = World(values["hosts"], events, clock=script.with_name(_CLOCK))
    ready, ended = threading.Event(), threading.Event()
    _bomb()  # made now: while it is made no host would answer
    folder = script.parent
    server = threading.Thread(target=lambda: asyncio.run(_keep(world, folder, ready, ended)), daemon=True)
    server.start()
    if not ready.wait(30):
        raise SystemExit("the servers did not start")
    runs, trust = [], {"SSL_CERT_FILE": str(folder / "ca.pem")} if world.has_tls else {}
    for words in values["runs"]:
        started = time.monotonic()
        command = subprocess.Popen(
            words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=os.environ | trust
        )
        world.command = command
        _, err = command.communicate()
        world.end_of_run()
        runs.append({"code": command.returncode, "err": err, "seconds": time.monotonic() - started})
    ended.set()
    server.join()
    sys.stdout.write(
        json.dumps(
            {
                "runs": runs,
                "asked": world.asked,
                "names_asked": world.names_asked,
                "n_inside": world.n_inside,
                "log": world.log,
                "served_s": [at - min(world.served_at.values()) for at in world.served_at.values()],
            }
        )
    )


def within(
    folder: Path, hosts: Mapping[str, Any], events: Sequence[Mapping[str, Any]], runs: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Run commands in a simulated internet; what happened, as `main` prints it."""
    script = folder / "internet.json"
    script.write_text(json.dumps({"hosts": hosts, "events": list(events), "runs": list(runs)}), encoding="utf-8")
    done = subprocess.run(
        [*_UNSHARE, sys.executable, __file__, str(script)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the simulated internet broke: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_questions(folder: Path, urls: Sequence[str], **fetch: object) -> list[str]:
    """Questions whose recorded search results are these URLs, ten each; the words of a build from them."""
    lots = [urls[place : place + 10] for place in range(0, len(urls), 10)]
    questions = [
        {"id": f"Q{n}", "split": "test", "type": "Free Text", "question": f"What is thing {n}?", "answer": ["x"]}
        for n in range(len(lots))
    ]
    recorded = [{"query": f"What is thing {n}?", "urls": lot} for n, lot in enumerate(lots)]
    for name, lines in (("questions.jsonl", questions), ("recorded.jsonl", recorded)):
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fetch.items())
    text = (
        '[search]\nengine = "recorded"\n[search.recorded]\nfile = "recorded.jsonl"\n[fetch]\ncontact = "a@b.example"\n'
    )
    (folder / "build.toml").write_text(f"{text}{settings}[filter]\nnear_duplicate = 0.0\n", encoding="utf-8")
    words = [sys.executable, "-m", "edu_rag", "build", str(folder / "build.toml"), "--resolver", RESOLVER]
    return [*words, "--questions", str(folder / "questions.jsonl"), "--out", str(folder / "ds"), "--workers", "1"]


def _wall_clock(folder: Path) -> Callable[[], float]:
    """The wall clock of a command, which an event of the script may make go wrong."""
    right, wrong_s = time.time, folder / _CLOCK
    return lambda: right() + (float(wrong_s.read_text(encoding="ascii")) if wrong_s.exists() else 0.0)


def crawl_only(folder: Path) -> int:
    """The crawl of a build without what comes after it: searches and fetches into the store."""
    from builder.config import read_config
    from builder.crawl import crawl
    from builder.question_sets.question_files import read_questions
    from builder.search.combine import open_chain
    from builder.store.crawl_store import CrawlStore
    from edu_rag.errors import EduRagError
    from edu_rag.progress import say

    config = read_config(folder / "build.toml", {"fetch": {"resolver": RESOLVER}})
    questions, _ = read_questions([folder / "questions.jsonl"], None)
    chain = open_chain(config.search)
    assert chain is not None
    wall = _wall_clock(folder)
    try:
        with patch("time.time", wall), CrawlStore(folder / "ds.crawl", create=True) as store:
            crawl(questions, store, chain, config, lambda: datetime.fromtimestamp(wall(), UTC))
    except EduRagError as error:
        say(str(error))
        return 1
    return 0


def crawling(folder: Path) -> list[str]:
    """The words of a command for `within` that crawls without building."""
    return [sys.executable, __file__, "--crawl", str(folder)]


if __name__ == "__main__":
    if sys.argv[1] == "--crawl":
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        sys.exit(crawl_only(Path(sys.argv[2])))
    main(Path(sys.argv[1]))
