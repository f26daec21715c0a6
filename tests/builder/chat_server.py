"""A loopback server that speaks the chat protocol: a function of system and user turn gives the text of each reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Asked:
    """What the server was asked, in order, and its address."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.url = ""


def _handler(answer: Callable[[str], str], asked: Asked) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                said = {"message": {"role": "assistant", "content": answer(request["messages"][-1]["content"])}}
            except ValueError:
                status, body = 400, b"{}"
            else:
                asked.requests.append(request)
                usage = {"prompt_tokens": 100, "completion_tokens": 10}
                status, body = 200, json.dumps({"choices": [said], "usage": usage}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    return Handler


@contextmanager
def chatting(answer: Callable[[str], str]) -> Iterator[Asked]:
    """While entered, `answer` gives the replies on `asked.url`; it gets the user's turn. ValueError is a refusal."""
    asked = Asked()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(answer, asked))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    asked.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
