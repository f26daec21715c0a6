"""One passage a sentence, as the dataset cut them (EDU-RAG section 3.2)."""

from __future__ import annotations

from baselines.chunk.distinct import chunker
from baselines.parts import Chunk

sentences_of = chunker(lambda page: page.sentences)
"""All sentences of all pages, pages in rank order, those that say the same only once (EDU-RAG section 3.2)."""


def sentences() -> Chunk:
    """The chunker of one passage a sentence."""
    return sentences_of
