"""Questions made from pages by a language model, filtered, and reviewed by people (HyPA-RAG, section 5.1)."""
