"""Attacks on the proxy to granted hosts. Each returns the evidence that it succeeded, or None.

An attack succeeds if anything but the granted host's public address is dialled, or if a byte comes back from elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.named_network.forward_proxy import SOCKET_NAME, NetworkGrant, Traffic, proxy_in
from harness.named_network.named_host import NamedHost

GRANTED, PUBLIC = "api.example.org", "93.184.215.14"
_WAIT_S = 20.0
NETWORK_ATTACKS: dict[str, Callable[[Net], str | None]] = {}


def greeting(name: str | None) -> bytes:
    """What a TLS client sends first; `name` is the server that it names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def request(target: str, *headers: str) -> bytes:
    return "\r\n".join([f"CONNECT {target} HTTP/1.1", *headers, "", ""]).encode("utf-8", "surrogateescape")


class Net:
    """A proxy with one granted host, a name service, and one server that stands for all machines.

    The server answers with `own` if it was dialled as the granted host, else with `canary`.
    """

    def __init__(
        self,
        answers: Mapping[str, Sequence[Sequence[str]]] | None = None,
        *,
        head_s: float = 10.0,
        printable: Callable[[str], str] = str,
    ) -> None:
        self.own, self.canary = secrets.token_hex(8).encode(), secrets.token_hex(8).encode()
        self.answers = {GRANTED: [[PUBLIC]], **(answers or {})}
        self.asked: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.received: list[bytes] = []
        self.head_s = head_s
        self.printable = printable
        self.traffic = Traffic()
        self.folder = Path()

    @contextlib.contextmanager
    def running(self, folder: Path) -> Iterator[Net]:
        grant = NetworkGrant(
            hosts=(NamedHost(GRANTED, 443),),
            lookup=self.lookup,
            dial=self.dial,
            head_s=self.head_s,
            idle_s=_WAIT_S,
            printable=self.printable,
        )
        self.folder = folder
        with proxy_in(folder, grant) as self.traffic:
            yield self

    def lookup(self, name: str) -> Sequence[str]:
        """Each question gets the next answer; the last one stays."""
        self.asked.append(name)
        answers = self.answers.get(name)
        if answers is None:
            raise OSError("no such name")
        return answers[min(self.asked.count(name), len(answers)) - 1]

    def dial(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        ours, theirs = socket.socketpair()
        said = self.own if (address, port) == (PUBLIC, 443) else self.canary
        threading.Thread(target=self._serve, args=(theirs, said), daemon=True).start()
        return ours

    def _serve(self, end: socket.socket, said: bytes) -> None:
        with end, contextlib.suppress(OSError):
            while chunk := end.recv(65_536):
                self.received.append(chunk)
                end.sendall(said)

    def client(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        inside = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            client.connect(f"/proc/self/fd/{inside}/{SOCKET_NAME}")
        finally:
            os.close(inside)
        client.settimeout(_WAIT_S)
        return client

    def say(self, *parts: bytes) -> bytes:
        """Send parts, each after an answer to the one before; return everything that comes back."""
        back = b""
        with self.client() as client, contextlib.suppress(OSError):
            for part in parts:
                client.sendall(part)
                chunk = client.recv(65_536)
                back += chunk
                if not chunk:
                    break
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65_536):
                back += chunk
        return back

    def evidence(self, back: bytes = b"") -> str | None:
        odd = [place for place in self.dialled if place != (PUBLIC, 443)]
        if odd:
            return f"dialled {odd}"
        if self.canary in back:
            return "an answer from elsewhere came back"
        return None

    def refused(self, *parts: bytes) -> str | None:
        """Evidence where the granted host, too, must not be reached."""
        back = self.say(*parts)
        reached = "the granted host was reached" if self.own in back or self.received else None
        return self.evidence(back) or reached


def attack(one: Callable[[Net], str | None]) -> Callable[[Net], str | None]:
    """Register an attack."""
    NETWORK_ATTACKS[one.__name__] = one
    return one


def _target(target: str) -> Callable[[Net], str | None]:
    return lambda net: net.refused(request(target), greeting(GRANTED))


for _told, _to in {
    "a_name_that_is_not_granted": "evil.example.org:443",
    "a_name_that_ends_like_a_granted_one": "evilapi.example.org:443",
    "a_name_below_a_granted_one": "x.api.example.org:443",
    "a_name_above_a_granted_one": "example.org:443",
    "a_granted_name_as_the_start_of_another": "api.example.org.evil.example:443",
    "a_user_in_front_of_another_name": "api.example.org@evil.example:443",
    "a_granted_name_with_another_port": "api.example.org:22",
    "a_granted_name_with_the_port_of_http": "api.example.org:80",
    "a_granted_name_with_two_ports": "api.example.org:443:22",
    "a_port_with_a_zero_in_front": "api.example.org:0443",
    "a_port_that_overflows": "api.example.org:65979",
    "a_port_in_other_digits": "api.example.org:\u0664\u0664\u0663",
    "no_port": "api.example.org",
    "the_loopback": "127.0.0.1:443",
    "the_loopback_by_name": "localhost:443",
    "the_loopback_of_version_6": "[::1]:443",
    "the_loopback_in_one_number": "2130706433:443",
    "the_loopback_in_hex": "0x7f000001:443",
    "the_loopback_in_few_parts": "127.1:443",
    "an_address_of_a_cloud_machine": "169.254.169.254:443",
    "a_private_address": "10.0.0.1:443",
    "a_mapped_address": "[::ffff:10.0.0.1]:443",
    "the_granted_address_without_its_name": f"{PUBLIC}:443",
    "a_name_in_capitals": "API.example.org:443",
    "a_name_with_a_dot_behind_it": "api.example.org.:443",
    "a_name_in_other_letters": "\u0430pi.example.org:443",
    "a_name_in_wide_letters": "\uff41pi.example.org:443",
    "a_name_with_an_ideographic_dot": "api\u3002example.org:443",
    "a_name_with_an_escape": "%61pi.example.org:443",
    "a_name_with_a_null": "api.example.org\x00.evil.example:443",
    "a_name_with_a_tab": "api.example.org\t.evil.example:443",
    "an_empty_name": ":443",
}.items():
    NETWORK_ATTACKS[_told] = _target(_to)


def _head(head: bytes) -> Callable[[Net], str | None]:
    return lambda net: net.refused(head, greeting(GRANTED))


_GOOD = request(f"{GRANTED}:443")
_INNER = b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
for _told, _bytes in {
    "an_absolute_address_with_get": f"GET http://{GRANTED}/ HTTP/1.1\r\nHost: {GRANTED}\r\n\r\n".encode(),
    "an_absolute_address_inside": _INNER,
    "a_path_with_post": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
    "two_requests_in_one": _GOOD + request("127.0.0.1:443"),
    "a_request_behind_a_request": _GOOD + _INNER,
    "a_request_in_a_body": _GOOD[:-2] + f"Content-Length: {len(_INNER)}\r\n\r\n".encode() + _INNER,
    "a_body_that_is_announced": request(f"{GRANTED}:443", "Content-Length: 5"),
    "a_body_in_chunks": request(f"{GRANTED}:443", "Transfer-Encoding: chunked"),
    "an_upgrade": request(f"{GRANTED}:443", "Upgrade: h2c"),
    "line_ends_of_unix": _GOOD.replace(b"\r\n", b"\n") + b"\r\n\r\n",
    "a_bare_line_feed_in_a_header": request(f"{GRANTED}:443", "X: a\nCONNECT 127.0.0.1:443 HTTP/1.1"),
    "a_bare_carriage_return_in_a_header": request(f"{GRANTED}:443", "X: a\rHost: 127.0.0.1"),
    "a_folded_header": request(f"{GRANTED}:443", "X: a", " Host: 127.0.0.1"),
    "a_blank_before_the_colon": request(f"{GRANTED}:443", "Host : 127.0.0.1"),
    "a_null_in_a_header": request(f"{GRANTED}:443", "X: a\x00b"),
    "a_request_with_more_words": f"CONNECT 127.0.0.1:443 {GRANTED}:443 HTTP/1.1\r\n\r\n".encode(),
    "a_request_with_a_tab": f"CONNECT\t{GRANTED}:443\tHTTP/1.1\r\n\r\n".encode(),
    "a_request_of_version_0": f"CONNECT {GRANTED}:443\r\n\r\n".encode(),
    "a_request_of_version_2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a_method_in_small_letters": f"connect {GRANTED}:443 HTTP/1.1\r\n\r\n".encode(),
    "socks": b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb" + b"\r\n\r\n",
    "a_header_that_is_too_large": request(f"{GRANTED}:443", "X: " + "a" * 9_000),
    "too_many_headers": request(f"{GRANTED}:443", *[f"X{i}: a" for i in range(60)]),
}.items():
    NETWORK_ATTACKS[_told] = _head(_bytes)


@attack
def a_header_that_names_another_host(net: Net) -> str | None:
    """What is dialled is the target of the request, whatever its fields say."""
    return net.evidence(
        net.say(request(f"{GRANTED}:443", "Host: 127.0.0.1:443", "Forwarded: for=127.0.0.1"), greeting(GRANTED))
    )


@attack
def a_header_without_an_end(net: Net) -> str | None:
    """A megabyte is not kept."""
    with net.client() as client, contextlib.suppress(OSError):
        client.sendall(f"CONNECT {GRANTED}:443 HTTP/1.1\r\n".encode())
        for _ in range(1_000):
            client.sendall(b"X: " + b"a" * 1_000 + b"\r\n")
        return "a megabyte of header was taken"
    return net.evidence()


def _leads_to(*answers: Sequence[str]) -> Callable[[Net], str | None]:
    def one(net: Net) -> str | None:
        net.answers[GRANTED] = answers
        return net.refused(_GOOD, greeting(GRANTED))

    return one


for _told, _at in {
    "a_name_that_leads_to_the_loopback": ["127.0.0.1"],
    "a_name_that_leads_to_the_loopback_of_version_6": ["::1"],
    "a_name_that_leads_to_a_private_address": ["192.168.1.1"],
    "a_name_that_leads_to_a_shared_address": ["100.64.0.1"],
    "a_name_that_leads_to_a_cloud_machine": ["169.254.169.254"],
    "a_name_that_leads_to_a_mapped_address": ["::ffff:127.0.0.1"],
    "a_name_that_leads_to_a_translated_address": ["64:ff9b::7f00:1"],
    "a_name_that_leads_to_6to4": ["2002:7f00:1::"],
    "a_name_that_leads_to_a_local_address_with_a_zone": ["fe80::1%eth0"],
    "a_name_that_leads_to_a_unique_local_address": ["fd00::1"],
    "a_name_that_leads_to_nowhere": ["0.0.0.0"],
    "a_name_that_leads_to_a_group": ["224.0.0.1"],
    "a_name_with_one_inside_address_among_public_ones": [PUBLIC, "10.0.0.1"],
    "a_name_with_an_answer_that_is_no_address": ["0x7f.1"],
    "a_name_without_an_address": [],
}.items():
    NETWORK_ATTACKS[_told] = _leads_to(_at)


@attack
def a_name_that_moves_inside_after_it_was_checked(net: Net) -> str | None:
    """Rebinding: whoever looks up twice dials the second answer."""
    net.answers[GRANTED] = [[PUBLIC], ["127.0.0.1"]]
    back = net.say(_GOOD, greeting(GRANTED))
    first = net.evidence(back) or (None if net.own in back else "the granted host was not reached")
    return first or net.evidence(net.say(_GOOD, greeting(GRANTED)))


@attack
def a_greeting_that_names_another_server(net: Net) -> str | None:
    """Behind one address there are many servers."""
    return net.refused(_GOOD, greeting("evil.example"))


@attack
def a_greeting_without_a_name(net: Net) -> str | None:
    return net.refused(_GOOD, greeting(None))


@attack
def a_greeting_with_a_name_in_capitals(net: Net) -> str | None:
    return net.refused(_GOOD, greeting(GRANTED).replace(GRANTED.encode(), GRANTED.upper().encode()))


@attack
def a_request_where_a_greeting_belongs(net: Net) -> str | None:
    """Plain HTTP or another protocol to a granted host's port."""
    return net.refused(_GOOD, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")


@attack
def another_protocol_where_a_greeting_belongs(net: Net) -> str | None:
    return net.refused(_GOOD, b"SSH-2.0-evil\r\n")


@attack
def a_greeting_that_is_too_long(net: Net) -> str | None:
    record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + bytes(0x4000 - 4)
    return net.refused(_GOOD, record + b"\x16\x03\x01\x40\x00" + bytes(0x4000) * 4)


@attack
def a_slow_header(net: Net) -> str | None:
    """Others are served meanwhile, and the slow one is ended."""
    with net.client() as slow:
        slow.sendall(b"CONNECT ")
        if net.own not in net.say(_GOOD, greeting(GRANTED)):
            return "nobody else was served"
        with contextlib.suppress(OSError):
            if slow.recv(1_000).startswith(b"HTTP/1.1 408"):
                return net.evidence()
    return "it was not ended"


@attack
def a_slow_greeting(net: Net) -> str | None:
    with net.client() as slow:
        slow.sendall(_GOOD)
        slow.recv(1_000)
        slow.sendall(greeting(GRANTED)[:20])
        with contextlib.suppress(OSError):
            return net.evidence(slow.recv(1_000)) or ("it was served" if net.received else None)
    return "it was not ended"


@attack
def orders_for_a_terminal_in_a_refused_name(net: Net) -> str | None:
    """The names of refused hosts are printed."""
    for target in ("\x1b]0;owned\x07:443", "::stop-commands::x:443", "\u202eevil:443", "\x9b31m:443"):
        net.say(request(target))
    told = "\n".join(net.traffic.lines())
    return told if not (told.isascii() and told.replace("\n", "").isprintable()) else net.evidence()


@attack
def a_flood_of_refused_names(net: Net) -> str | None:
    """What is printed stays short."""
    for i in range(40):
        net.say(request(f"evil{i}.example:443"))
    told = list(net.traffic.lines())
    return f"{len(told)} lines" if len(told) > 12 else net.evidence()
