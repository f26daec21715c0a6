"""The classifier of query complexity, and the settings that depend on its classes (HyPA-RAG, section 7)."""
