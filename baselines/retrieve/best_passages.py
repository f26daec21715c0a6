"""The passages of a question's pages that BM25 ranks first: for the adapters, whose pipelines bring their own model."""

from __future__ import annotations

from collections.abc import Callable

from baselines.chunk.sentences import windows
from baselines.parts import PagePassage
from baselines.retrieve.bm25 import bm25
from edu_rag.serve import SystemQuestion


def best_passages(n: int = 5, tokens: int = 128) -> Callable[[SystemQuestion], list[PagePassage]]:
    """A function from a question to its `n` best windows of whole sentences, each of at most `tokens` tokens."""
    cut, rank = windows(tokens=tokens, overlap=0), bm25()

    def find(question: SystemQuestion) -> list[PagePassage]:
        passages = cut(question)
        return [passages[one.place] for one in rank(question.text, [passage.text for passage in passages], n)]

    return find
