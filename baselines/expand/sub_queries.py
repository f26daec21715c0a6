"""Query rewriting by rules, for systems whose language model is too small to rewrite (HyPA-RAG, Table 6)."""

from __future__ import annotations

import re
from itertools import pairwise

from baselines.parts import Expand
from edu_rag.errors import ConfigError

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_CLAUSE = re.compile(r"[,;:.?!]+\s|\s(?:and|or|but|because|while|when|if|than|with|from|between)\s", re.IGNORECASE)
_EMPTY = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "been", "being", "both", "but", "by", "can", "could", "did", "do",
    "does", "each", "following", "for", "from", "had", "has", "have", "how", "if", "in", "into", "is", "it", "its",
    "may", "might", "most", "must", "no", "not", "of", "on", "one", "or", "other", "shall", "should", "so", "some",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "true", "false",
    "was", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would",
    "you", "your", "all", "any", "also", "only", "such", "very", "statement", "statements", "called", "known",
))  # fmt: skip
"""Words that carry no topic. A question's "true" and "which of the following" find nothing in a page."""


def content_words(text: str) -> list[str]:
    """The words of a text that carry its topic, each once, in order."""
    words = [word for word in _WORD.findall(text) if word.casefold() not in _EMPTY and len(word) > 1]
    return list(dict.fromkeys(words))


def _rewrites(query: str) -> list[str]:
    words = content_words(query)
    clauses = [" ".join(content_words(clause)) for clause in _CLAUSE.split(query)]
    halves = [" ".join(words[: (len(words) + 1) // 2]), " ".join(words[len(words) // 2 :])] if len(words) > 3 else []
    pairs = [f"{one} {two}" for one, two in pairwise(words)]
    return [" ".join(words), *clauses, *halves, *pairs, *words]


def sub_queries(n: int = 3) -> Expand:
    """The query and at most `n` rewrites of it (Q), by rules: no language model is asked.

    In this order, those that say the same only once: its content words; those of each clause; their first and second
    half; neighbouring pairs; single words. Table 6 calls Q the "number of sub-queries generated for the original
    query", section 3 "reformulated queries": these are sub-queries. The paper's rewriter is GPT-4o
    (baselines.expand.rewrite is one for any language model).
    """
    if n < 0:
        raise ConfigError("parts.expand.n", f"{n} is negative", "give 0 or more")
    usual = n

    def expand(query: str, n: int | None = None) -> list[str]:
        wanted = usual if n is None else n
        found: dict[str, str] = {query.casefold(): query}
        for rewrite in _rewrites(query):
            if len(found) > wanted:
                break
            if rewrite:
                found.setdefault(rewrite.casefold(), rewrite)
        return list(found.values())

    return expand
