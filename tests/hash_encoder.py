"""A sentence encoder without weights, for what is done with its vectors: a hash of the text is the direction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from builder_dataset import write

from builder.deriving.vector_writer import write_vectors
from edu_rag.files.manifest import FileEntry
from edu_rag.files.sentence_vectors import VectorFacts

DIMENSION = 4
FACTS = VectorFacts(encoder="hashes", back_end="tests", fingerprint="ab" * 32, dimension=DIMENSION)


def vector_of(text: str) -> bytes:
    """A unit vector that depends on the text alone."""
    numbers = np.frombuffer(hashlib.sha256(text.encode("utf-8", "replace")).digest()[: 2 * DIMENSION], dtype="<u2") + 1
    return (numbers / np.linalg.norm(numbers)).astype("<f4").tobytes()


class HashEncoders:
    """The encoders that a build may name; `lots` are the texts that were encoded together."""

    facts = FACTS

    def __init__(self) -> None:
        self.lots: list[list[str]] = []

    def check(self, name: str) -> None:
        """Every name is one."""

    def open(self, name: str) -> HashEncoders:
        """The encoder itself."""
        return self

    def encode_lot(self, texts: Sequence[str]) -> bytes:
        """The vectors of texts, joined."""
        self.lots.append(list(texts))
        return b"".join(map(vector_of, texts))


def attach(folder: Path, files: Mapping[str, FileEntry]) -> Mapping[str, FileEntry]:
    """Write the vectors of a dataset that is being written."""
    return write_vectors(folder, files, "hashes", HashEncoders())


write_with_vectors = partial(write, attach=attach)
"""As `write`, with vectors of all texts."""
