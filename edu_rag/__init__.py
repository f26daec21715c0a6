"""EDU-RAG: the shared contract of the benchmark (records, files, errors) and the loop for system authors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edu_rag.serve import serve as serve

__version__ = "0.1.0"
__all__ = ["__version__", "serve"]


def __getattr__(name: str) -> object:
    """Load `serve` on first use, so that `import edu_rag` stays cheap for everyone else."""
    if name == "serve":
        from edu_rag.serve import serve

        return serve
    raise AttributeError(f"module 'edu_rag' has no attribute {name!r}")
