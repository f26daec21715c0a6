"""Serve a language model behind an OpenAI-compatible address, many requests at once, by transformers.

Usage: .venv/bin/python bench/batch_server.py MODEL [--port N] [--most N]

MODEL is a name, file or hub id as for the systems (`baselines.models.locate`). $EDU_RAG_DEVICE chooses the device, for
example `cuda`. It answers `POST /v1/chat/completions` greedily, with continuous batching; `seed` has no effect. Use it
to judge and to generate with `--workers`: a GPU that gets one request at a time is idle. It prints its address, and
ends when its standard input does. `--most` is the most tokens of one request, prompt and reply.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from baselines.gguf_model import LocalModel
from baselines.prompts.prompt import FilledPrompt
from edu_rag.errors import EduRagError


class Batches:
    """Requests that one model answers together. A thread gives each reply to the request that waits for it."""

    def __init__(self, name: str, most: int) -> None:
        from transformers import GenerationConfig

        self.model, self.most = LocalModel(name), most
        ends = sorted(self.model._end_ids())
        config = GenerationConfig(do_sample=False, eos_token_id=ends, pad_token_id=ends[0], max_new_tokens=most)
        self._manager: Any = self.model.model.init_continuous_batching(generation_config=config)
        self._manager.start()
        self._waiting: dict[str, Future[Any]] = {}
        self._turn = threading.Lock()
        threading.Thread(target=self._deliver, daemon=True).start()

    def _deliver(self) -> None:
        while True:
            reply = self._manager.get_result(timeout=0.05)
            if reply is not None and reply.is_finished():
                with self._turn:
                    waiting = self._waiting.pop(reply.request_id)
                waiting.set_result(reply)

    def chat(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request. Raises ValueError for a request that this server does not read."""
        turns = {turn["role"]: turn["content"] for turn in asked["messages"]}
        if asked.get("temperature", 0) != 0 or set(turns) - {"system", "user"} or "user" not in turns:
            raise ValueError("give temperature 0, and one user turn after at most one system turn")
        prompt = FilledPrompt(system=turns.get("system", ""), user=turns["user"], made_from="request")
        ids = self.model.prompt_ids(prompt)
        n_new = int(asked["max_tokens"])
        if len(ids) + n_new > self.most:
            raise ValueError(f"{len(ids)} + {n_new} tokens are over {self.most}")
        future: Future[Any] = Future()
        with self._turn:
            self._waiting[self._manager.add_request(ids, max_new_tokens=n_new)] = future
        reply = future.result()
        if reply.error:
            raise RuntimeError(str(reply.error))
        tokens = reply.generated_tokens
        reason = "length" if len(tokens) >= n_new and tokens[-1] not in self.model._end_ids() else "stop"
        text = self.model.tokenizer.decode(tokens, skip_special_tokens=True)
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(tokens)}
        return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def handler(batches: Batches) -> type[BaseHTTPRequestHandler]:
    """The HTTP side of a model."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != "/v1/chat/completions":
                self._send(404, {"error": f"there is no {self.path}"})
                return
            try:
                self._send(200, batches.chat(json.loads(data)))
            except (ValueError, KeyError) as error:
                self._send(400, {"error": f"{type(error).__name__}: {error}"})
            except RuntimeError as error:
                self._send(500, {"error": str(error)})

        def _send(self, status: int, values: dict[str, Any]) -> None:
            body = json.dumps(values).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Requests are not logged."""

    return Handler


class Server(ThreadingHTTPServer):
    """One thread a connection; as many as `--workers` allows may wait to be accepted."""

    daemon_threads, request_queue_size = True, 128


def main() -> None:
    """Load the model and serve it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--most", type=int, default=4_096)
    given = parser.parse_args()
    try:
        batches = Batches(given.model, given.most)
    except EduRagError as error:
        sys.exit(str(error))
    server = Server(("127.0.0.1", given.port), handler(batches))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
