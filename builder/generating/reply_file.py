"""Replies that were paid for once: a file of JSON lines by request and model, so that no request is sent twice."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from builder.generating.chat_prompts import ChatRequest
from builder.generating.question_draft import MAX_REPLY_CHARACTERS
from edu_rag.errors import DataError
from edu_rag.files.jsonl import naming, read_records, to_line

FILE_NAME = "replies.jsonl"


class ChatReply(NamedTuple):
    """A model's text and its cost in tokens."""

    text: str
    n_input: int
    n_output: int


class ChatModel(NamedTuple):
    """A model to ask: what pins it, in plain values without addresses or keys, and how it is asked."""

    facts: Mapping[str, Any]
    ask: Callable[[ChatRequest], ChatReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """One line of the file."""

    key: str
    prompt: str
    text: str
    n_input: int
    n_output: int


def key_of(facts: Mapping[str, Any], request: ChatRequest) -> str:
    """SHA-256 over the model's facts and all of a request."""
    return hashlib.sha256(msgspec.json.encode([facts, request], order="deterministic")).hexdigest()


class ReplyFile:
    """Replies of one or more models, on the disk before they are used. Threads may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._kept: dict[str, KeptReply] = {}
        self.n_asked = 0
        if path.exists():
            _cut_half_line(path)
            self._kept = {kept.key: kept for _, kept in read_records(path, KeptReply)}

    def has(self, model: ChatModel, request: ChatRequest) -> bool:
        """Whether this reply is kept."""
        return key_of(model.facts, request) in self._kept

    def reply(self, model: ChatModel, request: ChatRequest) -> KeptReply:
        """The kept reply, or a new one. Of a huge text only as much is kept as shows that it is too long."""
        key = key_of(model.facts, request)
        with self._turn:
            kept = self._kept.get(key)
        if kept is not None:
            return kept
        said = model.ask(request)
        text = said.text[: MAX_REPLY_CHARACTERS + 1].encode("utf-8", "replace").decode()
        kept = KeptReply(key=key, prompt=request.made_from, text=text, n_input=said.n_input, n_output=said.n_output)
        with self._turn:
            self._append(kept)
            self._kept[key] = kept
            self.n_asked += 1
        return kept

    def _append(self, kept: KeptReply) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), self.path.open("ab") as stream:
            stream.write(to_line(kept))
            stream.flush()
            os.fsync(stream.fileno())


_BEGIN = b'{"key":"'
"""How every line of ours begins."""


def _cut_half_line(path: Path) -> None:
    """Cut off a last line that a kill left without its end. Raises DataError if it is not the beginning of ours."""
    with naming(path), path.open("r+b") as stream:
        data = stream.read()
        begin = data.rfind(b"\n") + 1
        rest = data[begin : begin + len(_BEGIN)]
        if rest and not _BEGIN.startswith(rest):
            raise DataError(path, "is not a file of replies: its last line is cut", "use another --out folder")
        stream.truncate(begin)
