"""Parts of retrieval-augmented systems, and the systems of the papers made of them; no gold is ever in reach."""
