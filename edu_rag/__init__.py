"""EDU-RAG: the shared contract of the benchmark (records, files, errors) and the loop for system authors."""

from __future__ import annotations

# Imported at once, not on first use: importing the module edu_rag.serve later would put the module under this name.
from edu_rag.serve import serve as serve

__version__ = "0.1.0"
__all__ = ["__version__", "serve"]
