"""Read a GGUF file: its settings, and its weights as float32 arrays.

The package gguf turns the weights into numbers. Its own reader makes an array for each of the 98,000 words and merges
of a small model, which took three of the five seconds of loading it.
"""

from __future__ import annotations

import math
import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edu_rag.errors import MissingExtraError, SubmissionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32
ROWS_AT_ONCE = 8
"""Rows of weights that are given to the package gguf as one: it turns 16 rows at a time into numbers, which are too few
for NumPy, and took three times as long."""
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Types of values, by their number in the file, as struct writes them."""
_TEXT, _ARRAY = 8, 9


class _Place(NamedTuple):
    """Where a tensor is: its shape with the longest stride first, its type, and its first byte after the header."""

    shape: tuple[int, ...]
    kind: int
    start: int


class _Cursor:
    """Reads the header from its start on; struct.error where the file ends too early."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def number(self, kind: str) -> Any:
        (found,) = struct.unpack_from(f"<{kind}", self.data, self.at)
        self.at += struct.calcsize(f"<{kind}")
        return found

    def text(self) -> str:
        n = self.number("Q")
        if n > len(self.data) - self.at:
            raise struct.error("a text is longer than the file")
        self.at += n
        return self.data[self.at - n : self.at].decode("utf-8")

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            return self.number(_NUMBERS[kind])
        inner, n = self.number("I"), self.number("Q")
        if inner == _TEXT:
            return [self.text() for _ in range(n)]
        width = struct.calcsize(_NUMBERS[inner])  # KeyError: an array of arrays, which no file that we read has
        if n * width > len(self.data) - self.at:
            raise struct.error("an array is longer than the file")
        self.at += n * width
        return list(struct.unpack_from(f"<{n}{_NUMBERS[inner]}", self.data, self.at - n * width))

    def place(self) -> tuple[str, _Place]:
        name = self.text()
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return name, _Place(shape[::-1], self.number("I"), self.number("Q"))


class GgufFile:
    """A GGUF file: `settings` by name, and `tensor(name)`. Raises SubmissionError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._read()
        except (OSError, ValueError, KeyError, TypeError, ArithmeticError, struct.error) as error:
            raise self._broken(f"cannot be read ({error})") from None

    @property
    def names(self) -> frozenset[str]:
        """The names of the weights."""
        return frozenset(self._places)

    def _broken(self, what: str) -> SubmissionError:
        return SubmissionError(self.path, what, "give a whole GGUF file")

    def _read(self) -> None:
        cursor = _Cursor(self._data)
        if self._data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        cursor.at = 4
        version = cursor.number("I")
        if version not in VERSIONS:
            raise ValueError(f"version {version}")
        n_tensors, n_settings = cursor.number("Q"), cursor.number("Q")
        self.settings = {cursor.text(): cursor.value(cursor.number("I")) for _ in range(n_settings)}
        self._places = dict(cursor.place() for _ in range(n_tensors))
        alignment = int(self.settings.get("general.alignment", ALIGNMENT))
        if alignment < 1:
            raise ValueError(f"alignment {alignment}")
        self._start = -(-cursor.at // alignment) * alignment

    def tensor(self, name: str) -> Array:
        """The weights of a name as float32, of the shape that a linear layer has: (outputs, inputs)."""
        try:
            import gguf
            import numpy as np
        except ImportError as error:
            raise MissingExtraError(
                "language model", f"{error.name} is not installed", "pip install 'edu-rag-bench[llm]'"
            ) from None
        try:
            place = self._places[name]
            kind = gguf.GGMLQuantizationType(place.kind)
            width, n_bytes = gguf.GGML_QUANT_SIZES[kind]
            *rows, columns = place.shape
            shape = (*rows, columns // width * n_bytes)
            raw = np.frombuffer(self._data, np.uint8, math.prod(shape), self._start + place.start).reshape(shape)
            if rows:
                raw = raw.reshape(len(raw) // math.gcd(len(raw), ROWS_AT_ONCE), -1)
            found: Array = gguf.dequantize(raw, kind).reshape(place.shape)
        except (KeyError, ValueError, ArithmeticError, NotImplementedError) as error:
            raise self._broken(f"has no weights {name} that can be read ({error})") from None
        return found
