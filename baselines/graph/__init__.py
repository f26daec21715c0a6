"""Knowledge graphs: triplets from pages, and the ones that a question leads to (HyPA-RAG, section 8.2)."""
