"""The classifier of query complexity, and what hangs on its classes (HyPA-RAG, section 7)."""
