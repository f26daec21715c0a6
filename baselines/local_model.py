"""The language model of a name in this process: SmolLM2 in NumPy, every other one by transformers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from baselines.gguf_file import GgufFile
from baselines.models import device, locate
from baselines.numpy_llama import NumpyLlama, can_read

if TYPE_CHECKING:
    from baselines.gguf_model import LocalModel


def local_model(name: str, *, threads: int | None = None) -> NumpyLlama | LocalModel:
    """A known model, a GGUF file or a hub model. On another device than the CPU always by transformers."""
    where = locate(name)
    if isinstance(where, Path) and where.is_file() and device() == "cpu":
        file = GgufFile(where)
        if can_read(file):
            return NumpyLlama(file, threads=threads)
    from baselines.gguf_model import LocalModel

    return LocalModel(name, threads=threads)
