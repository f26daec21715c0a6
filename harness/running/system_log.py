"""A system's stderr, kept up to a size next to its predictions, and hints for the errors that systems meet first."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path

from harness.running.replies import ID
from harness.running.withheld_keys import NO_KEYS, WithheldKeys

MAX_CHARS = 300
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def last_line(said: bytes) -> str:
    """The last line that says something, or nothing."""
    lines = said.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def fit_to_print(line: str, random_id: str = "", home: Path | None = None) -> str:
    """A line without the question's random id, addresses, control characters, and our home's name."""
    if home is not None and len(home.parts) > 1:
        line = line.replace(str(home), "~")
    if random_id:
        line = line.replace(random_id, ID)
    line = _ADDRESS.sub("0x(address)", line)
    return "".join(char if char.isprintable() else " " for char in line)[:MAX_CHARS].strip()


LOG_CAP_BYTES = 4_000_000
"""A log that grew beyond this is cut to its last half."""
CUT_MARK = b"(what came before was cut)\n"
_TAIL_BYTES = 4_096
_CHUNK = 65_536
_DRAIN_S = 1.0


class SystemLog:
    """A log file that child processes write to through pipes; `keep` goes on with the one of an interrupted run."""

    def __init__(self, path: Path, *, keep: bool, cap_bytes: int = LOG_CAP_BYTES, keys: WithheldKeys = NO_KEYS) -> None:
        self.path = path
        self._keys = keys
        self._cap_bytes = cap_bytes
        self._turn = threading.Lock()
        self._copying: threading.Thread | None = None
        self._tail = bytearray()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("a+b" if keep else "w+b", buffering=0)

    def open_pipe(self) -> int:
        """A descriptor for a child to write to; close ours once the child has it.

        Output is copied until every writer has closed the pipe, or has been ended.
        """
        reader, writer = os.pipe()
        self._tail = bytearray()
        self._copying = threading.Thread(target=self._copy, args=(reader, self._tail), daemon=True)
        self._copying.start()
        return writer

    def _copy(self, reader: int, tail: bytearray) -> None:
        with open(reader, "rb", buffering=0) as stream:
            for chunk in self._keys.filtered(iter(lambda: stream.read(_CHUNK), b"")):
                tail += chunk
                del tail[:-_TAIL_BYTES]
                # A full disk must not stop the reading, which would hold up the system.
                with self._turn, contextlib.suppress(OSError, ValueError):
                    self._stream.write(chunk)
                    self._cut()

    def _cut(self) -> None:
        size = self._stream.seek(0, os.SEEK_END)
        if size > self._cap_bytes:
            self._stream.seek(size - self._cap_bytes // 2)
            tail = self._stream.read()
            self._stream.seek(0)
            self._stream.truncate()
            # A progress bar may go on for megabytes in one line: its end is better than nothing.
            self._stream.write(CUT_MARK + (tail.partition(b"\n")[2] or tail))

    def drain(self) -> None:
        """Wait until all that an ended child wrote is in the file; a grandchild that escaped is not waited for."""
        if self._copying is not None:
            self._copying.join(_DRAIN_S)

    def last_line(self) -> str:
        """The last line that says something, or nothing."""
        with self.path.open("rb") as stream:
            stream.seek(max(0, self.path.stat().st_size - _TAIL_BYTES))
            return last_line(stream.read())

    def last_words(self) -> str:
        """As `last_line`, of the last process alone."""
        return last_line(bytes(self._tail))

    def close(self) -> None:
        """Drain and close."""
        self.drain()
        with self._turn:
            self._stream.close()


ENDED_BY_ITSELF = "the process ended with exit code 0"
_ANYWHERE: tuple[tuple[str, str], ...] = (
    (
        re.escape(ENDED_BY_ITSELF),
        "it ended before it answered: end a Python script with `edu_rag.serve(answer)`, or read stdin to its end",
    ),
    (r"is not a JSON answer", "stdout is for answers alone: print anything else on stderr"),
)
_BOXED: tuple[tuple[str, str], ...] = (
    (
        r"Name or service not known|name resolution|Network is unreachable|getaddrinfo|EAI_AGAIN|couldn't connect to",
        "there is no network in the sandbox: have all that it needs in its folder, or grant hosts with --allow-network",
    ),
    (
        r"Tunnel connection failed|(?i:proxy) ?error|407 Proxy|CONNECT tunnel failed",
        "only hosts that --allow-network names are reached; the lines `network: refused` give the reason",
    ),
    (r"Read-only file system|EROFS", "in the sandbox only /tmp can be written to"),
    (r"File too large|No space left on device", "`edu-rag sandbox` shows how much may be written"),
    (
        r"No module named|cannot import name|Cannot find module|cannot open shared object|\.so[.\d]*: cannot open",
        "it has the packages of edu-rag's environment, and those that it brings; docs/submit.md says which CI has",
    ),
    (
        r"(?:No such file or directory:? ?|can't open file |ENOENT.*)['\"]/(?!app/)",
        "the sandbox has none of your files but the submission's own: name them by paths relative to its folder",
    ),
    (
        r"KeyError: '[A-Z][A-Z0-9_]*'|unbound variable",
        "if that is a variable of your environment, pass it with --pass-env NAME; CI passes none",
    ),
    (r"(?i)cuda|nvidia", "there is no GPU in the sandbox: run without one, or hand in predictions only"),
    (r"the memory cap of", "CI gives no more; --memory-gb sets another cap for a run of yours"),
)


def hint_for(reason: str, *, boxed: bool) -> str:
    """A hint for a fault with this text, or nothing; `boxed`: it ran in the sandbox."""
    for pattern, remedy in (*_ANYWHERE, *(_BOXED if boxed else ())):
        if re.search(pattern, reason):
            return remedy
    return ""
