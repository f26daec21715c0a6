"""Sentence vectors of a dataset, in its folder `vectors/`: the texts they are of, their keys, and how they are read.

A dataset that was built with `[label] vectors` has three files there: `encoder.json` (VectorFacts), `keys.bin` (32
bytes a text, in ascending order) and `vectors.bin` (float32, little endian, in the order of the keys). The manifest
lists their hashes, and a board pins the manifest. The content hash does not cover them: the last bits of a vector
differ between processors, and a dataset with vectors is the same dataset as without.

Why not Parquet, or SQLite: a question needs a thousand rows out of some hundred thousand, in any order. Parquet has to
be read as a whole for that (800 MB for 2,524 questions with ten pages), and zstd saves 14 % of it. SQLite finds rows,
but it is a large program to give a stranger's file to. In these files rows are found by binary search and read in
place. Nothing is parsed; only the sizes have to fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from msgspec import Meta

from edu_rag.errors import DataError, RecordError
from edu_rag.files.jsonl import read_json
from edu_rag.files.manifest import VECTORS
from edu_rag.files.table_rows import row_batches
from edu_rag.files.typed import to_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FACTS_FILE, KEYS_FILE, NUMBERS_FILE = (f"{VECTORS}/{name}" for name in ("encoder.json", "keys.bin", "vectors.bin"))
FILES = (FACTS_FILE, KEYS_FILE, NUMBERS_FILE)
VARIABLE = "EDU_RAG_VECTORS"
"""The folder of these files, as `edu-rag run` names it to a system."""
SETTING = "[label] vectors"
"""What asks a build for them."""
KEY_BYTES = 32
MAX_BYTES = 2 << 30
"""The most that the vectors of a dataset and their keys may take: 1.4 million texts of all-MiniLM-L6-v2."""
_MAX_FACTS_BYTES = 10_000
_REMEDY = "download the dataset again, or build it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFacts:
    """The encoder of the vectors. `fingerprint` is a hash over all that a vector depends on, but for the processor."""

    encoder: Annotated[str, Meta(min_length=1, max_length=200)]
    back_end: Annotated[str, Meta(min_length=1, max_length=40)]
    fingerprint: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    dimension: Annotated[int, Meta(ge=1, le=65_536)]


class LotEncoder(Protocol):
    """A loaded encoder."""

    @property
    def facts(self) -> VectorFacts:
        """What is loaded."""

    def encode_lot(self, texts: Sequence[str]) -> bytes:
        """The unit vectors of texts, float32, joined: a function of all of these texts together."""


class Encoders(Protocol):
    """The encoders that `[label] vectors` may name."""

    def check(self, name: str) -> None:
        """Raise MissingExtraError or ConfigError if this encoder cannot be opened, without loading it."""

    def open(self, name: str) -> LotEncoder:
        """Load an encoder."""


def statement(text: str, choice: str) -> str:
    """A question and one of its choices as one text, which systems compare with sentences."""
    return f"{text} {choice}"


def sentence_texts(folder: Path, files: Collection[str]) -> Iterator[str]:
    """The text of every sentence of every page; `files` are the dataset's tables. Some come several times."""
    for name in sorted(files):
        if name.startswith("pages/"):
            for _, rows in row_batches(folder / name):
                for row in rows:
                    yield from (row["text"][start:end] for start, end in row["sentences"])


def query_texts(folder: Path, files: Collection[str]) -> Iterator[str]:
    """The text of every question, alone and with each of its choices."""
    for name in sorted(files):
        if name.startswith("questions/"):
            for _, rows in row_batches(folder / name):
                for row in rows:
                    yield row["text"]
                    yield from (statement(row["text"], choice) for choice in row["choices"].values())


class TextKeys:
    """Keys of texts: hashes over what an encoder's vectors depend on, and the text. No file of vectors holds a text."""

    def __init__(self, fingerprint: bytes) -> None:
        self._digest = hashlib.sha256(fingerprint)

    def __call__(self, text: str) -> bytes:
        """The key of a text, KEY_BYTES long."""
        digest = self._digest.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()


def read_facts(path: Path) -> VectorFacts:
    """What encoder.json says. Raises DataError."""
    try:
        return to_record(read_json(path, _MAX_FACTS_BYTES), VectorFacts)
    except RecordError as error:
        raise DataError(path, f"{error.where}: {error.what}", _REMEDY) from None


def refuse_large(folder: Path) -> None:
    """Raise DataError if the files in a folder `vectors/` are larger than a build writes: a stranger's are hashed."""
    files = [folder / Path(name).name for name in FILES]
    if sum(path.stat().st_size for path in files if path.is_file()) > MAX_BYTES:
        raise DataError(folder, f"is larger than {MAX_BYTES >> 30} GiB", "remove the folder `vectors`")


class SentenceVectors:
    """The vectors in a dataset's folder `vectors/`, read in place. Raises DataError if sizes do not fit."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self.facts = read_facts(folder / Path(FACTS_FILE).name)
        keys, numbers = folder / Path(KEYS_FILE).name, folder / Path(NUMBERS_FILE).name
        self.path, width = numbers, 4 * self.facts.dimension
        sizes = [path.stat().st_size if path.is_file() else 0 for path in (keys, numbers)]
        n, rest = divmod(sizes[0], KEY_BYTES)
        if rest or not n or sizes[1] != n * width:
            what = f"{sizes[1]:,} bytes, and {keys.name} {sizes[0]:,}: not vectors of {self.facts.dimension} numbers"
            raise DataError(numbers, what, _REMEDY)
        refuse_large(folder)
        self.keys: NDArray[np.bytes_] = np.fromfile(keys, dtype=f"S{KEY_BYTES}")
        self.numbers = np.memmap(numbers, dtype="<f4", mode="r", shape=(n, self.facts.dimension))

    def __len__(self) -> int:
        return len(self.keys)

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors that are known among these keys, as float32 bytes. Raises DataError for what is not a number."""
        import numpy as np

        asked = np.array(keys, dtype=f"S{KEY_BYTES}")
        places = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        known = np.flatnonzero(self.keys[places] == asked).tolist()
        rows = self.numbers[places[known]]
        if not np.isfinite(rows).all():
            raise DataError(self.path, "holds what is not a number", _REMEDY)
        return {keys[i]: row.tobytes() for i, row in zip(known, rows, strict=True)}


def vector_faults(vectors: SentenceVectors, rows_at_once: int = 4_096) -> Iterator[str]:
    """What is wrong with the vectors themselves: their order, numbers that are none, lengths."""
    import numpy as np

    keys = vectors.keys
    if not (keys[:-1] < keys[1:]).all():
        yield "its keys are not in ascending order"
        return
    for start in range(0, len(keys), rows_at_once):
        with np.errstate(over="ignore"):  # infinity is a fault that is reported
            lengths = np.linalg.norm(vectors.numbers[start : start + rows_at_once], axis=1)
        if not np.allclose(lengths, 1, atol=1e-3):  # NaN and infinity are not close to anything
            yield f"the vectors from row {start:,} on are not all of length 1"
            return


def text_faults(vectors: SentenceVectors, texts: Iterable[str]) -> Iterator[str]:
    """Vectors that belong to none of these texts, and texts that have no vector."""
    import numpy as np

    keys = vectors.keys
    key_of = TextKeys(bytes.fromhex(vectors.facts.fingerprint))
    wanted = np.array(sorted({key_of(text) for text in texts}), dtype=f"S{KEY_BYTES}")
    n_other = int((~np.isin(keys, wanted)).sum())
    if n_other:
        yield f"{n_other:,} of {len(keys):,} vectors belong to no text of the dataset"
    n_without = int((~np.isin(wanted, keys)).sum())
    if n_without:
        yield f"{n_without:,} of {len(wanted):,} texts have no vector"
