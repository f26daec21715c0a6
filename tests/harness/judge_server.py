"""A loopback server that speaks the chat protocol as scripted, one step a request, for tests of the model judge."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def said(text: str, reason: str | None = "stop") -> bytes:
    """A chat completion as a body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()


class Script:
    """What the server answers, in order (the last one for ever), and what it was asked."""

    def __init__(self, *steps: Any) -> None:
        self.steps, self.asked, self.headers = list(steps), [], []  # type: ignore[var-annotated]
        self.url = ""

    def next(self) -> Any:
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _drip(handler: BaseHTTPRequestHandler, total: int, pause_s: float, part: bytes) -> None:
    """Send a reply in small parts; `total` may promise more than ever comes."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(total))
    handler.end_headers()
    for _ in range(total // len(part)):
        handler.wfile.write(part)
        handler.wfile.flush()
        time.sleep(pause_s)


def _cut(handler: BaseHTTPRequestHandler) -> None:
    """Promise a body, and hang up in the middle of it."""
    handler.send_response(200)
    handler.send_header("Content-Length", "10000")
    handler.end_headers()
    handler.wfile.write(said("VERDICT: CORRECT"))
    handler.close_connection = True


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            self.asked = (self.path, json.loads(raw))
            script.asked.append(self.asked)
            script.headers.append(dict(self.headers))
            step = script.next()
            try:
                step(self) if callable(step) else send(self, *step) if isinstance(step, tuple) else send(
                    self, 200, step
                )
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *arguments: Any) -> None:
            pass

    return Handler


def dripping(pause_s: float) -> Any:
    """A reply whose bytes come one by one."""
    return lambda handler: _drip(handler, 400, pause_s, b" ")


def endless(handler: BaseHTTPRequestHandler) -> None:
    """A reply of two gigabytes, as fast as it is read."""
    _drip(handler, 2_000_000_000, 0, b" " * 100_000)


cut = _cut


def refusal(status: int, **headers: str) -> Any:
    """An error status with headers."""
    return lambda handler: send(handler, status, b"{}", **headers)


@contextmanager
def serving(steps: Sequence[Any]) -> Iterator[Script]:
    """While entered, the script is answered on `script.url`."""
    script = Script(*steps)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
