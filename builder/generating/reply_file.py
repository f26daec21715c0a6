"""Replies that were paid for once: a file of JSON lines by request and model, so that no request is sent twice."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from builder.generating.chat_prompts import ChatRequest
from builder.generating.question_draft import MAX_REPLY_CHARACTERS, without_thinking
from edu_rag.errors import DataError, NoReplyError, RecordError
from edu_rag.files.jsonl import JsonFaultError, naming, parse_json, to_line
from edu_rag.files.typed import to_record
from edu_rag.processes.worker_threads import KeyLocks

FILE_NAME = "replies.jsonl"


class ChatReply(NamedTuple):
    """A model's text, its cost in tokens, and whether the limit of tokens cut it."""

    text: str
    n_input: int
    n_output: int
    is_cut: bool = False


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
    """SHA-256 over the model's facts and all of a request that the model gets, and its prompt's name."""
    sent = (request.system, request.user, request.max_tokens, request.made_from)
    return hashlib.sha256(msgspec.json.encode([facts, sent], order="deterministic")).hexdigest()


class ReplyFile:
    """Replies of one or more models, on the disk before they are used. Threads may share it; processes may not.

    `read_only` leaves the file as it is: another process may be writing it. Raises DataError if the file is no file of
    replies, or if it is to be written and another process has it.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._turn, self._locks = threading.Lock(), KeyLocks()
        self._kept: dict[str, KeptReply] = {}
        self.n_asked = 0
        self._stream: IO[bytes] | None = None if read_only else _locked(path)
        if path.exists():
            self._load()

    def _load(self) -> None:
        with naming(self.path):
            data = self.path.read_bytes()
        n_whole = _whole_bytes(self.path, data)
        for kept in _replies(self.path, data[:n_whole]):
            if not _is_empty(kept.text):
                self._kept.setdefault(kept.key, kept)  # the first one was used
        if self._stream is not None:
            with naming(self.path):
                self._stream.truncate(n_whole)

    def __enter__(self) -> ReplyFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()

    def has(self, model: ChatModel, request: ChatRequest) -> bool:
        """Whether this reply is kept."""
        return key_of(model.facts, request) in self._kept

    def reply(self, model: ChatModel, request: ChatRequest) -> KeptReply:
        """The kept reply, or a new one. Of a huge text only as much is kept as shows that it is too long.

        Raises NoReplyError for an empty reply, and for one that the limit of tokens cut too early. Neither is kept. Of
        threads with the same request, one asks.
        """
        key = key_of(model.facts, request)
        with self._locks.of(key):
            return self._kept.get(key) or self._asked(key, model, request)

    def _asked(self, key: str, model: ChatModel, request: ChatRequest) -> KeptReply:
        new = _usable(model, request)
        text = new.text[: MAX_REPLY_CHARACTERS + 1].encode("utf-8", "replace").decode()
        kept = KeptReply(key=key, prompt=request.made_from, text=text, n_input=new.n_input, n_output=new.n_output)
        with self._turn:
            self._append(kept)
            self._kept[key] = kept
            self.n_asked += 1
        return kept

    def _append(self, kept: KeptReply) -> None:
        if self._stream is None:
            raise ValueError(f"{self.path} was opened to be read only")
        with naming(self.path):
            self._stream.write(to_line(kept))
            self._stream.flush()
            os.fsync(self._stream.fileno())


def _is_empty(text: str) -> bool:
    return not without_thinking(text)


def _usable(model: ChatModel, request: ChatRequest) -> ChatReply:
    reply = model.ask(request)
    where = f"model {model.facts.get('model', '')}"
    if _is_empty(reply.text):
        raise NoReplyError(where, "the reply is empty", "look at the server's log")
    if not reply.is_cut:
        return reply
    text = _begun(without_thinking(reply.text), request.enough)
    if not text:
        what = f"the reply was cut after {request.max_tokens} tokens"
        raise NoReplyError(where, what, "use a model that replies without long thoughts")
    return reply._replace(text=text)


def _begun(text: str, enough: str) -> str:
    """A cut reply that begins as needed, without the line that is cut if it can do without; blank for another."""
    whole = text[: text.rfind("\n") + 1]
    return next((one for one in (whole, text) if enough and re.match(enough, one)), "")


def _locked(path: Path) -> IO[bytes]:
    """The file, open for appending, for this process alone."""
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a+b")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise DataError(path, "another process is writing it", "let it end, or use another --out folder") from None
    return stream


_BEGIN = b'{"key":"'
"""How every line of ours begins."""


def _whole_bytes(path: Path, data: bytes) -> int:
    """Where the last whole line ends: a kill, or a process that is writing now, leaves a line without its end.

    Raises DataError if that is not the beginning of one of our lines.
    """
    end = data.rfind(b"\n") + 1
    rest = data[end : end + len(_BEGIN)]
    if rest and not _BEGIN.startswith(rest):
        raise DataError(path, "is not a file of replies: its last line is cut", "use another --out folder")
    return end


def _replies(path: Path, data: bytes) -> Iterator[KeptReply]:
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            yield to_record(parse_json(line), KeptReply)
        except (JsonFaultError, RecordError) as error:
            raise DataError(f"{path}:{number}", str(error), "use another --out folder") from None
