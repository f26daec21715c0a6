"""Serve a GGUF model on loopback in bfloat16, many requests at a time: for judges and writers of questions on a CPU.

    python bench/batch_server.py FILE.gguf [--port 8123] [--rows 24]

The server answers `POST /v1/chat/completions` (OpenAI's layout: messages, max_tokens; always temperature 0). It keeps
one batch: a finished request leaves it after any token, and a waiting one enters it. A prompt that begins as one
of the last did is read from the first difference on. A batch shares the weights, whose transfer from memory limits the
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
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from baselines.gguf_model import LocalModel
from baselines.prompts.prompt import FilledPrompt

STEPS_BETWEEN = 16
"""Tokens that are written between two admissions: prompts that wait for each other are read together."""
KEPT_PROMPTS = 128
"""The last prompts whose beginnings are not read again: several kinds of requests come in turn."""
MOST_TOKENS = 4_096
"""Of a prompt, and of a reply."""


_States = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer for one prompt."""


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
        self._kept: deque[tuple[list[int], _States]] = deque(maxlen=KEPT_PROMPTS)

    def _known(self, ids: list[int]) -> tuple[int, _States]:
        """How many tokens of a prompt one of the last prompts begins with, and that one's states."""
        n, states = max(
            ((_n_same(ids, other), states) for other, states in self._kept), key=itemgetter(0), default=(0, [])
        )
        return n, states

    def take_group(self, waiting: list[Asked]) -> list[Asked]:
        """Take rows that are to be read together: about as many tokens of each are not known yet.

        One alone, if the others begin as it does: then that beginning is read once.
        """
        unread = {id(row): len(row.ids) - self._known(row.ids)[0] for row in waiting}
        waiting.sort(key=lambda row: unread[id(row)])
        first = waiting[0]
        most = 2 * unread[id(first)] + 32
        group = [row for row in waiting if unread[id(row)] <= most]
        if any(_n_same(row.ids, first.ids) > len(row.ids) - unread[id(row)] + 16 for row in group[1:]):
            group = [first]
        waiting[:] = [row for row in waiting if row not in group]
        return group

    def _read(self, rows: list[Asked]) -> tuple[Any, torch.Tensor]:
        """The model's output for prompts, and which places of its cache hold a token; known beginnings are not read."""
        known = [self._known(row.ids) for row in rows]
        begin = max(n for n, _ in known)
        rest = max(len(row.ids) - n for row, (n, _) in zip(rows, known, strict=True))
        ids, mask = (torch.zeros(len(rows), size, dtype=torch.long) for size in (rest, begin + rest))
        for place, (row, (n, _)) in enumerate(zip(rows, known, strict=True)):
            new = torch.tensor(row.ids[n:])
            ids[place, rest - len(new) :] = new
            mask[place, begin - n : begin] = 1
            mask[place, begin + rest - len(new) :] = 1
        cache = DynamicCache()
        for layer in range(len(known[0][1]) if begin else 0):
            keys, values = (
                torch.cat([_on_left(states[layer][part][:, :, :n], begin) for n, states in known]) for part in (0, 1)
            )
            cache.update(keys, values, layer)
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, begin:]
        out = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        for place, row in enumerate(rows):
            held = mask[place].bool()
            layers = out.past_key_values.layers
            states = [(one.keys[place, None][:, :, held], one.values[place, None][:, :, held]) for one in layers]
            self._kept.append((row.ids, states))
        return out, mask

    def enter(self, rows: list[Asked]) -> None:
        """Read the prompts of rows and write the first token of each."""
        out, mask = self._read(rows)
        for row, token in zip(rows, out.logits[:, -1].argmax(dim=-1).tolist(), strict=True):
            self._write(row, token)
        going_on = [place for place, row in enumerate(rows) if not row.reason]
        if not going_on:
            return
        kept = torch.tensor(going_on, dtype=torch.long)
        mask = mask[kept]
        longest = max(self.mask.shape[1], mask.shape[1]) if self.rows else mask.shape[1]
        if not self.rows:
            self.cache, self.mask = DynamicCache(), torch.zeros(0, longest, dtype=torch.long)
        for number, other in enumerate(out.past_key_values.layers):
            keys, values = _on_left(other.keys[kept], longest), _on_left(other.values[kept], longest)
            if not self.rows:
                self.cache.update(keys, values, number)
                continue
            mine = self.cache.layers[number]
            mine.keys = torch.cat([_on_left(mine.keys, longest), keys])
            mine.values = torch.cat([_on_left(mine.values, longest), values])
        self.mask = torch.cat([_zeros_on_left(self.mask, longest), _zeros_on_left(mask, longest)])
        self.rows += [rows[place] for place in going_on]

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


def _n_same(ids: list[int], other: list[int]) -> int:
    """How many tokens two prompts begin with alike; the last one of the first is left to be read."""
    pairs = enumerate(zip(ids[:-1], other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(ids) - 1, len(other)))


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
    n_done, n_steps, since = 0, 0, time.monotonic()
    with torch.inference_mode():
        while True:
            rows: list[Asked] = []
            n_steps += 1
            is_turn = not batch.rows or n_steps % STEPS_BETWEEN == 0
            while (
                is_turn and len(batch.rows) + len(rows) < most_rows and not ((batch.rows or rows) and waiting.empty())
            ):
                rows.append(waiting.get())
            while rows:
                group = batch.take_group(rows)
                batch.enter(group)
                n_done += len(group)
                if n_done // 100 > (n_done - len(group)) // 100:
                    print(f"{n_done} requests in {time.monotonic() - since:.0f} s", file=sys.stderr, flush=True)
            if batch.rows:
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
    server = ThreadingHTTPServer(("127.0.0.1", given.port), handler(local, waiting), bind_and_activate=False)
    server.request_queue_size = 128
    server.server_bind()
    server.server_activate()
    server.daemon_threads = True
    batch = Batch(local.model, local._end_ids())
    threading.Thread(target=serve, args=(batch, waiting, given.rows), daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
