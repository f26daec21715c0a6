"""The house's 1.5B model: llama.cpp's server, one slot for each family of prompts.

Each family begins with the same examples. A slot caches its last prompt, so that the examples are read once a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baselines.house.asking import CHOICE, STATEMENT, ModelReply
from baselines.llama_cpp import LlamaCppModel
from edu_rag.errors import SubmissionError

FAMILIES = (CHOICE, STATEMENT)
TOKENS_A_SLOT = 3_072
N_TOP = 200
"""Number of most likely next words that the server returns."""


class HouseModel(LlamaCppModel):
    """Returns the log-probabilities of next words. Settings: see baselines.llama_cpp."""

    n_context = TOKENS_A_SLOT * len(FAMILIES)
    n_slots = len(FAMILIES)

    def __call__(self, prompt: str, words: Sequence[str], family: str) -> ModelReply:
        """Log-probabilities of words that are one token each; one out of the likeliest 200 gets the last one's."""
        body: dict[str, Any] = {
            "prompt": prompt,
            "n_predict": 1,
            "n_probs": N_TOP,
            "temperature": 0,
            "cache_prompt": True,
            "post_sampling_probs": False,
            "samplers": ["temperature"],
            "id_slot": FAMILIES.index(family),
        }
        reply = self._post(f"{self._root}/completion", body)
        try:
            told = reply["completion_probabilities"][0]["top_logprobs"]
            known = {str(one["token"]): float(one["logprob"]) for one in reversed(told)}
            floor = min(known.values())
            return ModelReply([known.get(word, floor) for word in words], int(reply["tokens_evaluated"]))
        except (KeyError, IndexError, TypeError, ValueError):
            raise SubmissionError(
                self._root, f"answered in a form we do not know: {str(reply)[:200]}", "check xllamacpp's version"
            ) from None
