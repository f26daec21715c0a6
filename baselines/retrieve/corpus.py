"""One corpus for all questions: an index of many texts that is built once and searched often (bm25s beneath).

The other way, one corpus a question, is baselines.retrieve.sparse: idf and mean length are then those of a question's
own pages. What a word is worth differs between the two, and so do rankings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from baselines.bm25 import K1, B, check_parameters
from baselines.parts import Scored
from baselines.retrieve.top import top
from baselines.token_ids import START, TokenIds, tokenise
from edu_rag.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+"]
"""The variants of bm25s (Kamphuis et al. 2020 tell them apart)."""


class Corpus:
    """BM25 over a fixed list of texts. In `lucene`, its scores are those of baselines.bm25, to the last bits of idf."""

    def __init__(self, texts: Sequence[str], k1: float = K1, b: float = B, method: Method = "lucene") -> None:
        check_parameters(k1, b)
        if method not in get_args(Method):
            raise ConfigError("corpus.method", f"there is no {method!r}", f"known are {', '.join(get_args(Method))}")
        self.n_texts = len(texts)
        self._numbers, rows = TokenIds().of(texts)
        # bm25s cannot index nothing at all.
        self._index = _index(_token_lists(rows), self._numbers, k1, b, method) if self._numbers else None

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of every text for this query, float64 of shape (n_texts,). A repeated token counts each time."""
        import numpy as np

        asked = [self._numbers[token] for token in tokenise(query) if token in self._numbers]
        if self._index is None or not asked:
            return np.zeros(self.n_texts, dtype=np.float64)
        found: NDArray[np.float64] = self._index.get_scores_from_ids(asked)
        return found

    def search(self, query: str, k: int) -> list[Scored]:
        """The `k` best texts (all, where there are fewer), best first; ties go to the smaller place."""
        return top(self.scores(query), k)


def _token_lists(rows: NDArray[np.int32]) -> list[list[int]]:
    """The token numbers of each text, repeated as often as they are in it."""
    import numpy as np

    starts = rows[:, 0] == START
    flat = np.repeat(rows[:, 0], np.where(starts, 0, rows[:, 1]))
    ends = np.cumsum(rows[starts, 1]).tolist()
    return [flat[end - length : end].tolist() for end, length in zip(ends, rows[starts, 1].tolist(), strict=True)]


def _index(token_ids: list[list[int]], numbers: dict[str, int], k1: float, b: float, method: Method) -> Any:
    try:
        import bm25s
    except ImportError:
        raise MissingExtraError(
            "one corpus for all", "bm25s is not installed", "pip install 'edu-rag-bench[parts]'"
        ) from None
    # In double precision: singles would tie texts that are apart, or part texts that tie.
    index = bm25s.BM25(k1=k1, b=b, method=method, dtype="float64")
    index.index((token_ids, {"": START, **numbers}), create_empty_token=False, show_progress=False)
    return index
