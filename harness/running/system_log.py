"""Keep a system's stderr next to its predictions, up to a size: the end is the part that explains a fault."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from harness.running.response_text import last_line

LOG_CAP_BYTES = 4_000_000
"""A log that grew beyond this is cut to its last half."""
CUT_MARK = b"(what came before was cut)\n"
_TAIL_BYTES = 4_096
_CHUNK = 65_536
_DRAIN_S = 1.0


class SystemLog:
    """A log file that child processes write to through pipes; `keep` goes on with the one of an interrupted run."""

    def __init__(self, path: Path, *, keep: bool, cap_bytes: int = LOG_CAP_BYTES) -> None:
        self.path = path
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
            while chunk := stream.read(_CHUNK):
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
