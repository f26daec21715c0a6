"""Find the best passages for each choice, and how well they match the choice's statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from baselines.chunk.sentences import sentences_of
from baselines.passages import PagePassage
from baselines.retrieve.bm25 import BM25
from edu_rag.serve import SystemQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_CANDIDATES = 16
"""Number of sentences that BM25 selects for the encoder: encoding costs 7 ms each."""
N_NOTES = 3
_RRF = 60
"""Cormack et al. 2009."""


class Encodes(Protocol):
    """Texts to unit vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 of shape (len(texts), d)."""
        ...


class Read(NamedTuple):
    """Signs by name, one number a choice (one in all for a true/false question), and the best passages."""

    signs: dict[str, list[float]]
    passages: list[PagePassage]


def _statements(question: SystemQuestion) -> list[str]:
    if question.kind == "true_false":
        return [question.text]
    return [f"{question.text} {text}" for text in question.choices.values()]


def _ranks(scores: Any) -> Any:
    import numpy as np

    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return ranks


def read(question: SystemQuestion, encoder: Encodes) -> Read:
    """The best passages by BM25 and cosine (reciprocal rank fusion), and three signs of each choice's statement.

    `bm25`: its best sentence's score as a share of the best choice's; `cosine`: with its closest candidate sentence;
    `near`: of the choice with the question. Without sentences: no passages, and zeros but for `near`.
    """
    import numpy as np

    statements = _statements(question)
    texts = [text or "-" for text in question.choices.values()]
    zeros = [0.0] * len(statements)
    vectors = encoder.encode([question.text, *statements, *texts])
    own, rest = vectors[0], vectors[1:]
    near = zeros if question.kind == "true_false" else (rest[len(statements) :] @ own).tolist()
    sentences = sentences_of(question)
    if not sentences:
        return Read({"bm25": zeros, "cosine": zeros, "near": near}, [])
    index = BM25([sentence.text for sentence in sentences])
    every = index.scores(" ".join([question.text, *texts]))
    places = np.argsort(-every, kind="stable")[:N_CANDIDATES]
    best = np.array([index.scores(statement).max() for statement in statements])
    close = encoder.encode([sentences[place].text for place in places]) @ rest[: len(statements)].T
    fused = 1 / (_RRF + _ranks(every[places])) + 1 / (_RRF + _ranks(close.max(axis=1)))
    chosen = [sentences[places[i]] for i in np.argsort(-fused, kind="stable")[:N_NOTES]]
    share = best / best.max() if len(best) > 1 and best.max() > 0 else best
    return Read({"bm25": share.tolist(), "cosine": close.max(axis=0).tolist(), "near": near}, chosen)
