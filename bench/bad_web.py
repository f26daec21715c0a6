"""Loopback web servers for bench/fetch.py: good pages with a latency, some thirty kinds of bad answers, a canary.

Every server takes connections on the whole of 127.0.0.0/8, so that each host has its own address.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import Awaitable, Callable, Mapping

HTML = b"Content-Type: text/html; charset=utf-8\r\n"
ROBOTS = (
    b"User-agent: *\nDisallow: /private/\nDisallow: /*?session=\nCrawl-delay: 0\n\nUser-agent: BadBot\nDisallow: /\n"
)
ROBOTS_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(ROBOTS), ROBOTS)
INSIDE = (
    "http://127.0.0.1:{port}/canary",
    "http://127.0.0.1/canary",
    "http://127.1:{port}/canary",
    "http://0x7f000001/canary",
    "http://localhost:{port}/canary",
    "http://2130706433/canary",
    "http://[::ffff:127.0.0.1]/canary",
    "http://0.0.0.0:{port}/canary",
)


class PageServer(asyncio.Protocol):
    """Answers /robots.txt and one page after a latency: as lean as can be, it shares the cores with the client."""

    latency_s = 0.2
    pages: Mapping[bytes, bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            asyncio.get_running_loop().call_later(
                self.latency_s, self._send, path, b"connection: close" in head.lower()
            )

    def _send(self, path: bytes, close: bool) -> None:
        if self.transport.is_closing():
            return
        body = self.pages.get(path)
        if path == b"/robots.txt":
            self.transport.write(ROBOTS_OK)
        elif body is None:
            self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        else:
            length = b"Content-Length: %d\r\n\r\n" % len(body)
            self.transport.write(b"HTTP/1.1 200 OK\r\n" + HTML + length + body)
        if close:
            self.transport.close()


MAX_ANSWER_S = 60
"""Endless answers end then, so that a client without deadlines ends too."""
Writer = asyncio.StreamWriter
Bad = Callable[[Writer], Awaitable[None]]


def _sends(data: bytes, then_hold: bool = False) -> Bad:
    async def send(out: Writer) -> None:
        out.write(data)
        await out.drain()
        if then_hold:
            await asyncio.sleep(120)

    return send


def _repeats(start: bytes, again: bytes, pause_s: float = 0.002) -> Bad:
    # The pause keeps one endless answer from starving the others: they all come from one process.
    async def send(out: Writer) -> None:
        out.write(start)
        while True:
            out.write(again)
            await out.drain()
            await asyncio.sleep(pause_s)

    return send


def _answer(body: bytes, headers: bytes = HTML, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)


def _moved(target: str) -> Bad:
    return _sends(_answer(b"", b"Location: %s\r\n" % target.encode("latin-1"), b"302 Found"))


OK = b"HTTP/1.1 200 OK\r\n" + HTML


def bad_kinds(canary_port: int) -> dict[str, Bad]:
    """The faulty servers by name: how each writes to a connection that sent its request."""
    bomb = gzip.compress(b"<html>" + b"0" * 300_000_000, 9)
    inside = {f"inside-{place}": _moved(target.format(port=canary_port)) for place, target in enumerate(INSIDE)}
    return inside | {
        "endless-body": _repeats(OK + b"\r\n<html>", b"x" * 60_000),
        "endless-chunks": _repeats(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"3e8\r\n" + b"x" * 1_000 + b"\r\n"),
        "drip": _repeats(OK + b"\r\n<html>", b"x", 0.1),
        "drip-headers": _repeats(b"HTTP/1.1 200 OK\r\n", b"X", 0.1),
        "never": _sends(b"", then_hold=True),
        "silent-close": _sends(b""),
        "half-headers": _sends(b"HTTP/1.1 200 OK\r\nContent-Ty"),
        "gzip-bomb": _sends(_answer(bomb, HTML + b"Content-Encoding: gzip\r\n")),
        "gzip-twice": _sends(_answer(gzip.compress(bomb), HTML + b"Content-Encoding: gzip, gzip\r\n")),
        "gzip-cut": _sends(
            _answer(gzip.compress(b"<html>" + b"ab" * 9_000)[:-9], HTML + b"Content-Encoding: gzip\r\n")
        ),
        "gzip-members": _sends(_answer(gzip.compress(b"") * 100_000, HTML + b"Content-Encoding: gzip\r\n")),
        "unknown-encoding": _sends(_answer(b"\x1b", HTML + b"Content-Encoding: br\r\n")),
        "loop": _moved("/"),
        "deep-redirects": _moved("/deeper"),
        "to-file": _moved("file:///etc/passwd"),
        "to-nonsense": _moved("http://[::bad"),
        "length-too-long": _sends(OK + b"Content-Length: 100000\r\n\r\n<html>", then_hold=True),
        "length-huge": _sends(OK + b"Content-Length: 99999999999\r\n\r\n<html>", then_hold=True),
        "length-no-number": _sends(OK + b"Content-Length: many\r\n\r\n<html>"),
        "wrong-chunks": _sends(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n<html>\r\n0\r\n\r\n"),
        "header-flood": _repeats(OK, b"X-Flood: yes\r\n" * 100),
        "header-line": _repeats(OK + b"X-Long: ", b"y" * 10_000),
        "early-hints": _repeats(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
        "no-http": _sends(b"\x16\x03\x01 hello\r\n\r\n"),
        "binary-as-html": _sends(_answer(b"\x89PNG\r\n\x1a\n" + bytes(50_000))),
        "pdf": _sends(_answer(b"%PDF-1.7 " + bytes(50_000), b"Content-Type: application/pdf\r\n")),
        "error-500": _sends(_answer(b"oops", status=b"500 Internal Server Error")),
        "limited": _sends(_answer(b"", b"Retry-After: 3600\r\n", b"429 Too Many Requests")),
        "come-back": _sends(_answer(b"", b"Retry-After: 1\r\n", b"503 Service Unavailable")),
        "many-megabytes": _sends(_answer(b"<html>" + b"m" * 30_000_000)),
        "robots-endless": _sends(_answer(b"<html>not for us")),
        "robots-never": _sends(_answer(b"<html>not for us")),
    }


class BadServer:
    """Answers with the kind that the path names: `/KIND/N`. Redirects without a host stay with their kind."""

    def __init__(self, canary_port: int) -> None:
        self.kinds = bad_kinds(canary_port)

    async def handle(self, reader: asyncio.StreamReader, out: Writer) -> None:
        """Serve one connection."""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            await asyncio.wait_for(self._answer(head.decode("latin-1"), out), MAX_ANSWER_S)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            out.close()

    async def _answer(self, head: str, out: Writer) -> None:
        path = head.split(" ")[1]
        host = next((line[6:] for line in head.split("\r\n") if line.lower().startswith("host: ")), "")
        if path == "/robots.txt":
            await self._robots(host)(out)
        elif "/deep-redirects/" in path:
            await _moved(path + "x")(out)
        elif "/loop/" in path:
            await _moved(path)(out)
        else:
            await self.kinds[path.split("/")[1]](out)

    @staticmethod
    def _robots(host: str) -> Bad:
        if host.startswith("robots-endless"):
            return _repeats(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /\n", b"Disallow: /x\n" * 999)
        if host.startswith("robots-never"):
            return _sends(b"", then_hold=True)
        return _sends(ROBOTS_OK)


class Canary:
    """Counts what reaches it: nothing should. It listens where no host map points, on 127.0.0.1 and on [::1]."""

    def __init__(self) -> None:
        self.n_hits = 0

    async def handle(self, reader: asyncio.StreamReader, out: Writer) -> None:
        """Count a connection; give the count to who asks for it by its own name."""
        head = await reader.read(4_096)
        if head.startswith(b"COUNT"):
            out.write(b"%d" % self.n_hits)
        else:
            self.n_hits += 1
            out.write(_answer(b"<html>secret"))
        out.close()


async def _on(handle: Callable[..., Awaitable[None]], host: str, port: int) -> int:
    server = await asyncio.start_server(handle, host, port, limit=65_536, backlog=4_096)
    return int(server.sockets[0].getsockname()[1])


async def _canaries() -> int:
    canary = Canary()
    port = await _on(canary.handle, "127.0.0.1", 0)
    for host, other in (("127.0.0.1", 80), ("::1", port), ("::1", 80)):
        try:
            await _on(canary.handle, host, other)
        except OSError:
            print(f"no canary on {host} port {other}: not permitted here", file=sys.stderr)
    return port


async def serve(role: str, pages: Mapping[str, str], latency_s: float, canary_port: int) -> None:
    """Run one server (`pages`, `bad` or `canary`) until killed; its port is the first line on stdout."""
    if role == "canary":
        port = await _canaries()
    elif role == "bad":
        port = await _on(BadServer(canary_port).handle, "0.0.0.0", 0)
    else:
        PageServer.latency_s = latency_s
        PageServer.pages = {path.encode(): body.encode() for path, body in pages.items()}
        server = await asyncio.get_running_loop().create_server(PageServer, "0.0.0.0", 0, backlog=4_096)
        port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await asyncio.Event().wait()
