"""Bytes by lesson page that do not fit into memory: one temporary file, and the positions of each page's pieces."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections import defaultdict


class DiskHeap:
    """Append pieces under a number; read them back in the order in which they came."""

    def __init__(self) -> None:
        # Gone with this object, or with the process.
        self._file = tempfile.TemporaryFile(prefix="edu-rag-board-")  # noqa: SIM115
        self._end = 0
        self._starts: dict[int, array[int]] = defaultdict(lambda: array("Q"))
        self._lengths: dict[int, array[int]] = defaultdict(lambda: array("Q"))

    def add(self, number: int, piece: bytes) -> None:
        """Append one piece."""
        self._file.write(piece)
        self._starts[number].append(self._end)
        self._lengths[number].append(len(piece))
        self._end += len(piece)

    def read(self, number: int) -> list[bytes]:
        """The pieces of a number."""
        self._file.flush()
        places = zip(self._starts.get(number, ()), self._lengths.get(number, ()), strict=True)
        return [os.pread(self._file.fileno(), length, start) for start, length in places]
