"""Power cuts, simulated: what a build writes and syncs, and every state of the disk that a cut could leave behind.

strace logs the build's writing calls. A file's content and a folder's names are durable as far as they were synced;
of what came after the last sync, a cut leaves any part: of a write, any of its sectors; of writes, any of them, in any
order; of names, the first few changes. `states` goes up to every sync and makes such states, by a seed.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder_crash import CALLS, REPOSITORY, run

SECTOR_BYTES = 512
MARKS = "acknowledged.jsonl"
"""Written by the traced build: a line for each commit, with its rows, after the commit has returned."""
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FILE = re.compile(r"^(?:\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")
_RUN = """
import json, os, sys
from builder.store.crawl_store import CrawlStore
marks = os.open(os.environ["MARKS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
flush = CrawlStore.flush
def marked(self):
    with self._turn:
        searches = [[s.question_id, s.engine, s.state, list(s.urls)] for s, _ in self._searches.values()]
        fetches = [[f.url, f.outcome, f.digest] for f in self._fetches.values()]
        flush(self)
        if searches or fetches:
            os.write(marks, json.dumps({"searches": searches, "fetches": fetches}).encode() + b"\\n")
CrawlStore.flush = marked
from edu_rag.__main__ import main
main(sys.argv[1:])
"""


@dataclass(frozen=True)
class Call:
    """One call that changed a file, a name, or synced one of them."""

    name: str
    path: str
    data: bytes = b""
    offset: int = 0
    to: str = ""


def traced(web: Path, out: Path, trace: Path) -> list[Call]:
    """Build a dataset under strace; return what it did to the files below the folder of `out`, in order."""
    words = [sys.executable, "-c", _RUN, "build", str(web / "build.toml"), "--questions", str(web / "questions.jsonl")]
    options = ["-f", "--seccomp-bpf", "-y", "-qq", "-xx", "-s", "100000000", "-e", f"trace={CALLS},openat"]
    out.parent.mkdir(parents=True)
    marks = out.with_name(MARKS)
    command = ["env", f"MARKS={marks}", *words, "--out", str(out), "--workers", "1"]
    done = run(["strace", *options, "-e", "signal=none", "-o", str(trace), *command])
    if done.returncode:
        raise RuntimeError(f"the traced build failed: {done.stderr}")
    with trace.open(encoding="ascii") as lines:
        return [call for line in _joined(lines) if (call := _call(line)) and call.path.startswith(str(out.parent))]


def _joined(lines: Iterator[str]) -> Iterator[str]:
    """Calls without their process ids; one that another thread interrupted is one line, where it ended."""
    begun: dict[str, str] = {}
    for line in lines:
        pid, _, text = line.rstrip("\n").partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[pid] = text.removesuffix("<unfinished ...>").rstrip()
        elif text.startswith("<... "):
            yield begun.pop(pid) + text.partition("resumed>")[2]
        else:
            yield text


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _call(line: str) -> Call | None:
    """The call of a line; None where it failed, or changes nothing."""
    name, _, rest = re.sub(r"\)\s+= ", ") = ", line).partition("(")
    result = line.rpartition(" = ")[2]
    if result.startswith("-") or not _:
        return None
    texts = [_bytes(found) for found in _TEXT.findall(rest)]
    opened = _FILE.match(rest)
    path = _bytes(opened[1]).decode() if opened else ""
    if opened and (opened[2] or path.endswith(" (deleted)")):
        return None
    if name == "openat":
        flags = re.findall(r"O_\w+", rest)
        kinds = [kind for kind in ("O_CREAT", "O_TRUNC") if kind in flags]
        return Call("openat", texts[0].decode(), ",".join(kinds).encode()) if kinds else None
    if name in ("write", "pwrite64"):
        # An appending write is at the end of the file: no writer of a store seeks.
        place = int(rest.rpartition(") = ")[0].rpartition(", ")[2]) if name == "pwrite64" else -1
        return Call("write", path, texts[0][: int(result)], place)
    if name in ("fsync", "fdatasync"):
        return Call("sync", path)
    if name == "ftruncate":
        return Call("cut", path, offset=int(rest.rpartition(") = ")[0].rpartition(", ")[2]))
    if name.startswith("rename"):
        return Call("rename", texts[0].decode(), to=texts[1].decode())
    return Call("unlink", texts[0].decode()) if name.startswith("unlink") and texts else None


@dataclass
class _File:
    durable: bytes = b""
    now: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Unsynced changes: (offset, bytes) of a write, (length, None) of a cut."""

    def change(self, offset: int, data: bytes | None) -> None:
        self.now = _changed(self.now, offset, data)
        self.pending.append((offset, data))

    def sync(self) -> None:
        self.durable = self.now
        self.pending.clear()

    def after_a_cut(self, chance: random.Random) -> bytes:
        content, changes = self.durable, list(self.pending)
        if chance.random() < 0.5:
            chance.shuffle(changes)
        share = chance.choice((0.0, 0.3, 0.7, 1.0))
        for offset, data in changes:
            if data is None:
                content = _changed(content, offset, None) if chance.random() < share else content
                continue
            first = -offset % SECTOR_BYTES
            edges = [0, *range(first or SECTOR_BYTES, len(data), SECTOR_BYTES), len(data)]
            for start, end in itertools.pairwise(edges):
                if chance.random() < share:
                    content = _changed(content, offset + start, data[start:end])
        return content


def _changed(content: bytes, offset: int, data: bytes | None) -> bytes:
    if data is None:
        return content[:offset].ljust(offset, b"\0")
    return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data) :]


class _Disk:
    """Files and names, as they are and as far as they are durable."""

    def __init__(self) -> None:
        self._names: dict[str, _File] = {}
        self._durable: dict[str, _File] = {}
        self._pending: list[tuple[str, _File | None]] = []

    def do(self, call: Call) -> None:
        file = self._names.get(call.path)
        if call.name == "sync":
            self._sync(call.path, file)
        elif call.name == "openat":
            if file is None and b"O_CREAT" in call.data:
                self._name(call.path, _File())
            elif file is not None and b"O_TRUNC" in call.data:
                file.change(0, None)
        elif file is None:
            return
        elif call.name == "write":
            file.change(len(file.now) if call.offset < 0 else call.offset, call.data)
        elif call.name == "cut":
            file.change(call.offset, None)
        else:
            self._name(call.path, None)
            if call.to:
                self._name(call.to, file)

    def _name(self, path: str, file: _File | None) -> None:
        self._pending.append((path, file))
        _named(self._names, path, file)

    def _sync(self, path: str, file: _File | None) -> None:
        if file is not None:
            file.sync()
            return
        below = [change for change in self._pending if os.path.dirname(change[0]) == path]  # noqa: PTH120 - a string
        for change in below:
            _named(self._durable, *change)
        self._pending = [change for change in self._pending if change not in below]

    def after_a_cut(self, chance: random.Random) -> dict[str, bytes]:
        names = dict(self._durable)
        for path, file in self._pending[: chance.randint(0, len(self._pending))]:
            _named(names, path, file)
        return {path: file.after_a_cut(chance) for path, file in names.items()}


def _named(names: dict[str, _File], path: str, file: _File | None) -> None:
    if file is None:
        names.pop(path, None)
    else:
        names[path] = file


@dataclass
class State:
    """What a cut left of a store, and what the build had acknowledged before it."""

    files: dict[str, bytes]
    searches: dict[tuple[str, str], list[object]]
    fetches: dict[str, list[object]]

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        folder.mkdir(parents=True)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)


def states(calls: Sequence[Call], store: Path, n_seeds: int) -> Iterator[State]:
    """The states of a store's folder that a cut right before each sync, and after the last, could leave."""
    disk, state = _Disk(), State({}, {}, {})
    for number, call in enumerate([*calls, Call("sync", str(store))]):
        if Path(call.path).name == MARKS:
            if call.name == "write":
                _acknowledge(state, call.data)
            continue
        if call.name == "sync" and call.path.startswith(str(store)):
            for seed in range(n_seeds):
                files = disk.after_a_cut(random.Random(f"{number} {seed}"))
                # Of the store's own folder; the shared memory of SQLite is made again by who opens the index.
                here = {Path(path).name: data for path, data in files.items() if Path(path).parent == store}
                kept = {name: data for name, data in here.items() if not name.endswith("-shm")}
                yield State(kept, dict(state.searches), dict(state.fetches))
        disk.do(call)


def _acknowledge(state: State, line: bytes) -> None:
    marks = json.loads(line)
    state.searches |= {(row[0], row[1]): row[2:] for row in marks["searches"]}
    state.fetches |= {row[0]: row[1:] for row in marks["fetches"]}


def n_missing(state: State, folder: Path) -> int:
    """How many acknowledged rows a store does not hold as they were, or without the bytes of their page."""
    from builder.store.reader import StoreReader

    store = StoreReader(folder)
    try:
        n = 0
        for (question_id, engine), (answer, urls) in state.searches.items():
            search = store.search(question_id, engine)
            n += search is None or [search.state, list(search.urls)] != [answer, urls]
        for url, row in state.fetches.items():
            fetch = store.fetch(url)
            n += fetch is None or [fetch.outcome, fetch.digest] != row
            if fetch is not None and fetch.digest is not None:
                store.response(fetch)  # raises where it is not the page of the digest
        return n
    finally:
        store.close()


__all__ = ("MARKS", "REPOSITORY", "Call", "State", "n_missing", "states", "traced")
