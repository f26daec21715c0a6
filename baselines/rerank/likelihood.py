"""Reranking by a language model: how likely the query is after a text (Sachan et al. 2022, without their T0 model)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from baselines.parts import Rank, ScoredPassage
from baselines.prompts.generate import LanguageModel
from baselines.prompts.prompt import harmless, load_prompt
from baselines.retrieve import best
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemQuestion

MAX_CHARS = 1_500
"""Of one text: each candidate is a separate prompt, and the cost is in prompt tokens."""


def likelihood(model: LanguageModel, prompt: str = "rerank-likelihood-v1", max_chars: int = MAX_CHARS) -> Rank:
    """The reranker that orders texts by log P(query | text), the sum over the query's tokens, in nats.

    Sachan et al. (2022), "Improving Passage Retrieval with Zero-Shot Question Generation", eq. 4, take the mean; the
    query is the same for all texts, so the order is the same. No paper of the five has it. An empty query says nothing:
    all texts score 0 and keep their order.
    """
    if max_chars < 1:
        raise ConfigError("parts.rerank.max_chars", f"{max_chars} is under 1", "give a number of at least 1")
    template = load_prompt(prompt)

    def score(query: str, text: str) -> float:
        asked = SystemQuestion(id="", text=query, choices={}, kind="free_text", pages=())
        prefix = template.fill(asked, text[:max_chars]).plain
        return math.fsum(model.likelihoods(prefix, [f" {query}"]).logprobs[0])

    def rank(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        said = harmless(query)
        score_of = {text: score(said, text) if said else 0.0 for text in dict.fromkeys(texts)}
        return best({place: score_of[text] for place, text in enumerate(texts)}, k)

    return rank
