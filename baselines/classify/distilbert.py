"""Query complexity by a fine-tuned DistilBERT, HyPA-RAG's best classifier (section 7.2); an extra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from baselines.classify.marked import read_marked
from baselines.classify.training import N_PER_CLASS, SEED, Example, examples, merged
from baselines.embed import readable
from baselines.models import let_threads_sleep
from baselines.parts import Classify
from edu_rag.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import torch

DEFAULT_MODEL = "distilbert-base-uncased"
MAX_TOKENS = 128
"""Longest question read; the paper gives none. The longest generated question is about 80 word pieces."""


class Training(NamedTuple):
    """How it is fine-tuned: all of section 7.2 but the seed, which the paper does not give."""

    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    seed: int = SEED


AS_PAPER = Training()


def _open(name: str, n_classes: int, seed: int) -> tuple[Any, Any]:
    let_threads_sleep()
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise MissingExtraError(
            "parts.classify", "torch or transformers is not installed", "pip install 'edu-rag-bench[models]'"
        ) from None
    torch.manual_seed(seed)  # the new layer for the classes starts at random
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        # Weights that were tuned for another number of classes get a new layer for these.
        model = AutoModelForSequenceClassification.from_pretrained(
            name, num_labels=n_classes, ignore_mismatched_sizes=True
        )
    except (OSError, ValueError) as error:
        raise ConfigError(
            "parts.classify.encoder", f"{name} cannot be opened ({error})", "name a folder or a hub id that is cached"
        ) from None
    return tokenizer, model


def _fine_tune(
    model: Any, encoded: Callable[[Sequence[str]], Any], data: Sequence[tuple[str, int]], how: Training
) -> None:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=how.learning_rate, weight_decay=how.weight_decay)
    order = torch.Generator().manual_seed(how.seed)
    model.train()
    for _ in range(how.epochs):
        shuffled = torch.randperm(len(data), generator=order).tolist()
        for first in range(0, len(data), how.batch_size):
            batch = [data[i] for i in shuffled[first : first + how.batch_size]]
            labels: torch.Tensor = torch.tensor([label for _, label in batch])
            loss = model(**encoded([text for text, _ in batch]), labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()


def fine_tuned(name: str, data: Sequence[Example], n_classes: Literal[2, 3], how: Training = AS_PAPER) -> Classify:
    """The classifier that `name` (a folder or a hub id) becomes when fine-tuned on these examples.

    The same seed gives the same classifier on one machine; another number of threads may round differently.
    Raises ConfigError if the model cannot be opened and MissingExtraError without torch.
    """
    tokenizer, model = _open(name, n_classes, how.seed)

    def encoded(texts: Sequence[str]) -> Any:
        return tokenizer(
            [readable(text) for text in texts],
            padding=True,
            truncation=True,
            max_length=MAX_TOKENS,
            return_tensors="pt",
        )

    _fine_tune(model, encoded, [(one.text, merged(one.label, n_classes)) for one in data], how)

    def classify(query: str) -> int:
        import torch

        with torch.inference_mode():
            return int(model(**encoded([query])).logits[0].argmax())

    return classify


def distilbert(
    n_classes: Literal[2, 3] = 3,
    encoder: str = DEFAULT_MODEL,
    n_per_class: int = N_PER_CLASS,
    seed: int = SEED,
    epochs: int = AS_PAPER.epochs,
    marked: str | None = None,
) -> Classify:
    """DistilBERT, fine-tuned when made: minutes on a CPU. No registry package carries its weights (docs/papers)."""
    data = [*examples(n_per_class, seed), *read_marked(marked, n_classes)]
    return fine_tuned(encoder, data, n_classes, Training(epochs=epochs, seed=seed))
