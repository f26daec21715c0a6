"""A GGUF model through llama.cpp: its real server, started inside this process on loopback (package xllamacpp).

For a model of a billion parameters and more: three times as fast as transformers on two cores, an eighth of the memory,
and seconds to load instead of a minute. It computes with eight-bit activations, so that an answer may differ from
transformers': a system names the back end it uses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baselines.llm import ServerModel
from baselines.models import let_threads_sleep, locate, n_threads
from edu_rag.errors import MissingExtraError, SubmissionError

N_CONTEXT = 8_192
"""Tokens that fit: 7,500 characters of context are about 2,000."""

N_TOP = 200
"""Number of most likely next tokens that are returned: a label that is not among them has a negligible share."""


def _settings(xllamacpp: Any, path: Path, threads: int, n_context: int, n_slots: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = n_context, n_slots
    params.port, params.warmup, params.verbosity = 0, False, 0
    params.cache_ram_mib = 0  # else it keeps up to 8 GB of old prompts, 10 MB a question, that never come again
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    return params


class LlamaCppModel(ServerModel):
    """A model file served by llama.cpp in this process; threads: EDU_RAG_THREADS, or all cores."""

    n_context, n_slots = N_CONTEXT, 1
    """Tokens that fit into all slots together, and how many prompts are kept at once."""

    def __init__(self, name: str, *, threads: int | None = None, timeout_s: float = 600.0) -> None:
        let_threads_sleep()
        try:
            import xllamacpp
        except ImportError:
            raise MissingExtraError("llama.cpp", "xllamacpp is not installed", "pip install xllamacpp") from None
        path = locate(name)
        if not isinstance(path, Path):
            raise SubmissionError(f"model {name}", "is not a GGUF file", "llama.cpp reads GGUF files only")
        settings = _settings(xllamacpp, path, n_threads(threads), self.n_context, self.n_slots)
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError as error:
            raise SubmissionError(path, f"llama.cpp cannot load it ({error})", "give a whole GGUF file") from None
        super().__init__(f"{self._server.listening_address}/v1", path.name, timeout_s=timeout_s, n_top=N_TOP)
