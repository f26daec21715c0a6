"""Serve a GGUF model on loopback in bfloat16, many requests at a time: for judges and writers of questions on a CPU.

    python bench/batch_server.py FILE.gguf [--port 8123] [--rows 24]

The server answers `POST /v1/chat/completions` (OpenAI's layout: messages, max_tokens; always temperature 0). It keeps
one batch: a finished request leaves it after any token, and a waiting one enters it. A prompt that begins as the one
before it did is read from the first difference on. A batch shares the weights, whose transfer from memory limits the
speed of writing. Where two tokens are almost equally likely, a reply may differ from that of float32, and may depend
on the other requests of its batch.

Why not a library: vLLM's wheels in the package index are for GPUs, and transformers' own continuous batching needs
flash attention to be fast.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from baselines.gguf_model import LocalModel
from baselines.prompts.prompt import FilledPrompt

MOST_TOKENS = 4_096
"""Of a prompt, and of a reply."""


@dataclass(eq=False)
class Asked:
    """One request: its prompt's token ids, and the token ids of its reply so far."""

    ids: list[int]
    max_tokens: int
    new: list[int] = field(default_factory=list)
    reason: str = ""
    done: threading.Event = field(default_factory=threading.Event)


class Batch:
    """The rows that are being written, one KV cache for all, filled up with masked places on the left."""

    def __init__(self, model: Any, ends: set[int]) -> None:
        self.model, self.ends = model, ends
        self.rows: list[Asked] = []
        self.cache: Any = None
        self.mask = torch.zeros(0, 0, dtype=torch.long)
        self._last_ids: list[int] = []
        self._last_states: list[tuple[torch.Tensor, torch.Tensor]] = []

    def _read(self, ids: list[int]) -> Any:
        """The model's output for a prompt; what it begins with as the one before is not read again."""
        pairs = enumerate(zip(ids[:-1], self._last_ids, strict=False))
        same = next((place for place, (one, other) in pairs if one != other), min(len(ids) - 1, len(self._last_ids)))
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(self._last_states):
            cache.update(keys[:, :, :same], values[:, :, :same], layer)
        out = self.model(input_ids=torch.tensor([ids[same:]]), past_key_values=cache, use_cache=True, logits_to_keep=1)
        self._last_ids = ids
        self._last_states = [(layer.keys, layer.values) for layer in out.past_key_values.layers]
        return out

    def enter(self, row: Asked) -> None:
        """Read a row's prompt and write its first token."""
        out = self._read(row.ids)
        self._write(row, int(out.logits[0, -1].argmax()))
        if row.reason:
            return
        mask = torch.ones(1, len(row.ids), dtype=torch.long)
        if not self.rows:
            self.cache, self.mask = out.past_key_values, mask
        else:
            longest = max(self.mask.shape[1], mask.shape[1])
            for mine, other in zip(self.cache.layers, out.past_key_values.layers, strict=True):
                mine.keys = torch.cat([_on_left(mine.keys, longest), _on_left(other.keys, longest)])
                mine.values = torch.cat([_on_left(mine.values, longest), _on_left(other.values, longest)])
            self.mask = torch.cat([_zeros_on_left(self.mask, longest), _zeros_on_left(mask, longest)])
        self.rows.append(row)

    def step(self) -> None:
        """Write one more token of every row; the finished ones leave."""
        ids = torch.tensor([[row.new[-1]] for row in self.rows])
        self.mask = torch.cat([self.mask, torch.ones(len(self.rows), 1, dtype=torch.long)], dim=1)
        places = self.mask.sum(dim=1, keepdim=True) - 1
        out = self.model(
            input_ids=ids, attention_mask=self.mask, position_ids=places, past_key_values=self.cache, use_cache=True
        )
        for row, token in zip(self.rows, out.logits[:, -1].argmax(dim=-1).tolist(), strict=True):
            self._write(row, token)
        kept = [number for number, row in enumerate(self.rows) if not row.reason]
        if len(kept) < len(self.rows):
            self.rows = [self.rows[number] for number in kept]
            self._keep(torch.tensor(kept, dtype=torch.long))

    def _keep(self, kept: torch.Tensor) -> None:
        """Only these rows, and no places that are masked in all of them."""
        self.mask = self.mask[kept]
        first = int(self.mask.argmax(dim=1).min()) if len(kept) else 0
        self.mask = self.mask[:, first:]
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[kept, :, first:], layer.values[kept, :, first:]

    def _write(self, row: Asked, token: int) -> None:
        if token in self.ends:
            row.reason = "stop"
        else:
            row.new.append(token)
            row.reason = "length" if len(row.new) >= row.max_tokens else ""
        if row.reason:
            row.done.set()


def _on_left(values: torch.Tensor, length: int) -> torch.Tensor:
    return torch.nn.functional.pad(values, (0, 0, length - values.shape[2], 0))


def _zeros_on_left(mask: torch.Tensor, length: int) -> torch.Tensor:
    return torch.nn.functional.pad(mask, (length - mask.shape[1], 0))


def serve(batch: Batch, waiting: queue.Queue[Asked], most_rows: int) -> None:
    """Admit requests and write their replies. An error ends the process: otherwise every request would wait forever."""
    try:
        _serve(batch, waiting, most_rows)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _serve(batch: Batch, waiting: queue.Queue[Asked], most_rows: int) -> None:
    n_done, since = 0, time.monotonic()
    with torch.inference_mode():
        while True:
            while len(batch.rows) < most_rows and not (batch.rows and waiting.empty()):
                batch.enter(waiting.get())
                n_done += 1
                if n_done % 100 == 0:
                    print(f"{n_done} requests in {time.monotonic() - since:.0f} s", file=sys.stderr, flush=True)
            batch.step()


def handler(local: LocalModel, waiting: queue.Queue[Asked]) -> type[BaseHTTPRequestHandler]:
    """The door: one thread a request waits for its reply."""

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turns = {turn["role"]: turn["content"] for turn in body["messages"]}
            if "user" not in turns:
                self._answer(400, {"error": "no message of the user"})
                return
            prompt = FilledPrompt(system=turns.get("system", ""), user=turns["user"], made_from="request")
            ids = local.prompt_ids(prompt)
            if len(ids) > MOST_TOKENS:
                self._answer(400, {"error": f"the prompt has {len(ids)} tokens, more than {MOST_TOKENS}"})
                return
            asked = Asked(ids, min(MOST_TOKENS, int(body.get("max_tokens", 256))))
            waiting.put(asked)
            asked.done.wait()
            text = local.tokenizer.decode(asked.new, skip_special_tokens=True)
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": asked.reason}
            usage = {"prompt_tokens": len(ids), "completion_tokens": len(asked.new)}
            self._answer(200, {"object": "chat.completion", "choices": [choice], "usage": usage})

        def _answer(self, status: int, values: dict[str, Any]) -> None:
            data = json.dumps(values).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Nothing: a line a request hides the progress."""

    return Door


def main() -> None:
    """Load and serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--rows", type=int, choices=range(1, 129), default=24, metavar="N")
    given = parser.parse_args()
    local = LocalModel(str(given.model), precision="bfloat16")
    waiting: queue.Queue[Asked] = queue.Queue()
    server = ThreadingHTTPServer(("127.0.0.1", given.port), handler(local, waiting))
    server.daemon_threads = True
    batch = Batch(local.model, local._end_ids())
    threading.Thread(target=serve, args=(batch, waiting, given.rows), daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
