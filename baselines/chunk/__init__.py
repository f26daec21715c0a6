"""Chunkers: how pages are cut into passages (HyPA-RAG, section 6)."""
