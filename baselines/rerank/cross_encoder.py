"""Reranking by a cross-encoder, which reads query and text together (Nautiyal et al., 3.6), or by a bi-encoder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from baselines.embed import readable
from baselines.models import device, let_threads_sleep, models_folder
from baselines.parts import Rank, ScoredPassage
from baselines.retrieve import best
from baselines.retrieve.dense import dense
from edu_rag.errors import MissingExtraError, SubmissionError

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
"""The paper's. No registry package carries its weights: they come from the hub, or from a folder."""
BATCH_SIZE = 32


def _where(name: str) -> str:
    """A folder of $EDU_RAG_MODELS by the model's name or its last part, or the name as given."""
    folder = models_folder()
    places = [] if folder is None else [folder / name, folder / name.rsplit("/", 1)[-1]]
    return next((str(place) for place in places if place.is_dir()), name)


def _load(name: str, max_tokens: int) -> Any:
    let_threads_sleep()
    try:
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise MissingExtraError(
            "cross-encoder", f"{error.name} is not installed", "pip install 'edu-rag-bench[models]'"
        ) from None
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        # Without Identity a model of one output goes through a sigmoid, where good texts tie at 1.0 in float32.
        model = CrossEncoder(_where(name), max_length=max_tokens, device=device(), activation_fn=torch.nn.Identity())
    except (OSError, ValueError, RuntimeError) as error:
        raise SubmissionError(
            f"cross-encoder {name}",
            f"cannot be loaded ({str(error).splitlines()[0]})",
            "put its folder into EDU_RAG_MODELS, name a folder, or let the hub be reached (HF_HUB_OFFLINE unset)",
        ) from None
    kinds = model.config.architectures or ["nothing"]
    if model.num_labels != 1 or not kinds[0].endswith("ForSequenceClassification"):
        # sentence-transformers would put an untrained head on an encoder, with no more than a warning.
        raise SubmissionError(
            f"cross-encoder {name}",
            f"is {kinds[0]} with {model.num_labels} output(s)",
            "name a cross-encoder with one output",
        )
    return model


def cross_encoder(encoder: str = DEFAULT_MODEL, max_tokens: int = 512) -> Rank:
    """The reranker that scores `[CLS] query [SEP] text [SEP]` with a cross-encoder of one output (section 4.5).

    Scores are logits, about -11 … +10 for the paper's model. A pair longer than `max_tokens` is cut: the paper does not
    say where; 512 is its model's limit. Raises SubmissionError if the weights are not found.
    """
    model = _load(encoder, max_tokens)

    def rank(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        # Each distinct text once: equal texts must tie at any place in a batch.
        distinct = list(dict.fromkeys(texts))
        if not distinct or k < 1:
            return []
        pairs = [(readable(query), readable(text)) for text in distinct]
        logits = model.predict(pairs, batch_size=BATCH_SIZE, show_progress_bar=False, convert_to_numpy=True)
        score_of = {text: float(logit) for text, logit in zip(distinct, logits, strict=True)}
        return best({place: score_of[text] for place, text in enumerate(texts)}, k)

    return rank


def bi_encoder(encoder: str = "all-mpnet-base-v2") -> Rank:
    """The reranker that orders candidates by the cosine of their vectors with the query's.

    No paper has it. It is dense retrieval among few texts, by an encoder that is too slow for all of them: it reads
    query and text apart, where a cross-encoder (Nautiyal et al., section 3.6) reads them together.
    """
    return dense(encoder)
