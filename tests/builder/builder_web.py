"""A loopback web server for tests: a dict from path to an answer, or to a function that writes raw bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import BinaryIO
from urllib.parse import urlsplit

Answer = tuple[int, Mapping[str, str], bytes]
Writer = Callable[[BinaryIO], None]
HTML = {"Content-Type": "text/html; charset=utf-8"}


def page(text: str) -> Answer:
    return 200, HTML, f"<html><title>t</title><body><p>{text}</p></body></html>".encode()


def redirect(target: str, status: int = 302) -> Answer:
    return status, {"Location": target}, b""


class Web:
    """The server's answers, and what it was asked, in order."""

    def __init__(self, answers: Mapping[str, Answer | Writer | list[Answer]]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.queries: list[str] = []
        self.bodies: list[bytes] = []
        self.port = 0
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def n_asked(self, path: str) -> int:
        return self.asked.count(path)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = urlsplit(handler.path).path
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        with self._lock:
            self.queries.append(urlsplit(handler.path).query)
            self.bodies.append(body)
            self.asked.append(path)
            self.headers.append(dict(handler.headers))
            answer = self.answers.get(path, (404, {}, b"not here"))
            if isinstance(answer, list):
                answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer(handler.wfile)
            return
        status, headers, body = answer
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        out = _Counted(handler.wfile, self._answered)
        handler.wfile = out  # type: ignore[assignment]
        try:
            self._answer(handler)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True
        finally:
            out.told()
            handler.wfile = out.file

    def _answered(self) -> None:
        with self._lock:
            self.at_once -= 1


class _Counted:
    """A response's stream that says when its first byte goes out: the client may ask again before we have returned."""

    def __init__(self, file: BinaryIO, told: Callable[[], None]) -> None:
        self.file = file
        self._told: Callable[[], None] | None = told

    def told(self) -> None:
        told, self._told = self._told, None
        if told is not None:
            told()

    def write(self, data: bytes) -> int:
        self.told()
        return self.file.write(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


@contextmanager
def serving(answers: Mapping[str, Answer | Writer | list[Answer]]) -> Iterator[Web]:
    web = Web(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.handle(self)

        def do_CONNECT(self) -> None:
            web.handle(self)

        def do_POST(self) -> None:
            web.handle(self)

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    web.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
