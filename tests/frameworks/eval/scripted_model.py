"""A model that answers by a checksum of its prompt, behind an OpenAI-compatible server on loopback."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLIES = (
    "A",
    "ANSWER: B",
    "It explains this well.\n\nThe answer is c.",
    "I don't know.",
    "The answer is A or B.",
    "d) because of the pages.",
    "",
    "I think it is **B**",
)
"""Choices in several forms, an abstention, two choices at once, and nothing at all."""


def reply_to(prompt: str) -> str:
    if "in a few words" in prompt:
        return "eight" if "planets" in prompt else "I don't know."
    number = zlib.crc32(prompt.encode())
    if "ANSWER: $LETTER" in prompt:
        return f"The pages say so.\n\nANSWER: {'ABCD'[number % 4]}" if number % 5 else "I don't know."
    return REPLIES[number % len(REPLIES)]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(str(message["content"]) for message in asked["messages"])
        self.server.prompts.append(prompt)  # type: ignore[attr-defined]
        body = json.dumps(_completion(asked["model"], reply_to(prompt))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _completion(model: str, text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


@contextmanager
def scripted_model() -> Iterator[tuple[str, list[str]]]:
    """The server's address, and the prompts that it was sent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.prompts = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server.prompts  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
