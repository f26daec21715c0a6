"""Sentence embeddings: S-BERT, each distinct text encoded once, vectors kept on disk between runs.

Encoding is the expensive step (4-8 ms a sentence on one core), so the sentences of shared pages are encoded once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from baselines.embed.back_ends import BackEnd, open_back_end
from baselines.embed.vectors import FILE, open_dataset_vectors, open_store
from baselines.models import DEFAULT_MODEL, cache_folder, locate_encoder, models_folder
from edu_rag.errors import DataError
from edu_rag.files.sentence_vectors import VARIABLE, TextKeys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MANY = 50
"""Sentences rather than queries: their matrix is kept for the next question, which often has the same pages."""
__all__ = ["DEFAULT_MODEL", "Encoder", "locate_encoder", "readable"]


def readable(text: str) -> str:
    """A lone surrogate is not text to a tokeniser."""
    return text.encode("utf-8", "replace").decode()


def encoded(back_end: BackEnd, texts: Sequence[str]) -> list[bytes]:
    """Vectors of texts, which are sorted by length first, so that a batch is not padded to a stray long one."""
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
    vectors = back_end([readable(texts[i]) for i in order])
    by_place = dict(zip(order, vectors, strict=True))
    return [by_place[i].tobytes() for i in range(len(texts))]


class Encoder:
    """Texts to unit vectors.

    `name` is a name of baselines.models, a folder or a hub id; `back_end` one of
    baselines.embed.back_ends. Vectors are looked for in those of the dataset ($EDU_RAG_VECTORS, if they are this
    encoder's) and in $EDU_RAG_MODELS/embeddings.sqlite, which a run can only read, then in the folder `cache`, where
    new ones are kept.
    """

    def __init__(
        self,
        name: str = DEFAULT_MODEL,
        *,
        back_end: str = "torch",
        cache: Path | None = None,
        threads: int | None = None,
    ) -> None:
        models = models_folder()
        self._back_end = open_back_end(back_end, name, locate_encoder(name), threads)
        of_dataset = open_dataset_vectors(os.environ.get(VARIABLE), name, self._back_end.fingerprint, self.dimension)
        self._store = open_store(cache, None if models is None else models / FILE, of_dataset)
        self.key_of = TextKeys(self._back_end.fingerprint)
        self._last: tuple[list[str], NDArray[np.float32] | None] = ([], None)

    @classmethod
    def default(cls) -> Encoder:
        """The paper's encoder, all-MiniLM-L6-v2, with the user's cache."""
        return cls(cache=cache_folder())

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._back_end.dimension

    def vectors(self, texts: Sequence[str]) -> dict[bytes, bytes]:
        """Unit vectors of the distinct texts, as float32 bytes by key (see baselines.embed.vectors)."""
        return self._known({self.key_of(text): text for text in texts})

    def _known(self, wanted: Mapping[bytes, str]) -> dict[bytes, bytes]:
        known = self._store.read(list(wanted))
        if any(len(vector) != 4 * self.dimension for vector in known.values()):
            raise DataError(
                "stored sentence vectors", f"are not of {self.dimension} numbers", f"remove {FILE} and encode again"
            )
        missing = [key for key in wanted if key not in known]
        if missing:
            new = dict(zip(missing, encoded(self._back_end, [wanted[key] for key in missing]), strict=True))
            self._store.write(new)
            known |= new
        return known

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of texts, float32 of shape (len(texts), dimension); equal texts get equal vectors."""
        import numpy as np

        last, matrix = self._last
        if matrix is not None and last == list(texts):
            return matrix
        keys = [self.key_of(text) for text in texts]
        known = self._known(dict(zip(keys, texts, strict=True)))
        joined = b"".join([known[key] for key in keys])
        matrix = np.frombuffer(joined, dtype=np.float32).reshape(len(texts), self.dimension)
        if not np.isfinite(matrix).all():
            raise DataError("sentence vectors", "hold what is not a number", f"remove {FILE} and encode again")
        if len(texts) > _MANY:
            self._last = list(texts), matrix
        return matrix
