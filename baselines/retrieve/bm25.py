"""BM25 over the texts of one question, in two variants, in numpy: texts seen before are not tokenised again.

With one small corpus a question (some hundred sentences), libraries made for one large corpus are slower than scoring
only the query's terms over cached integer token ids (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, get_args

from baselines.parts import Rank, ScoredPassage
from baselines.retrieve import top
from baselines.retrieve.token_ids import SHARED, START, TokenIds, tokenise
from edu_rag.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["BM25", "Variant", "bm25", "check_parameters", "tokenise"]

Variant = Literal["lucene", "rank_bm25"]
_VARIANTS = get_args(Variant)
K1, B = 1.5, 0.75
EPSILON = 0.25
"""rank_bm25's: what share of the mean idf a token gets that is in more than half of the texts."""


@lru_cache(maxsize=8)
def _logs(n_bits: int) -> NDArray[np.float64]:
    """ln(i + 0.5) for i under 2^n_bits, by the C library: numpy's own logarithm may differ in the last bit."""
    import numpy as np

    return np.array([math.log(i + 0.5) for i in range(1 << n_bits)], dtype=np.float64)


def _places(numbers: NDArray[Any]) -> NDArray[np.intp]:
    """Where an array is not 0; of truth values, numpy finds these in a seventh of the time."""
    return numbers.astype("?").nonzero()[0]


def check_parameters(k1: float, b: float) -> None:
    """Raises ConfigError unless k1 is finite and at least 0, and b is in [0, 1]."""
    if not (math.isfinite(k1) and k1 >= 0):
        raise ConfigError("bm25.k1", f"{k1} is not a number from 0 on", "1.2 and 1.5 are usual")
    if not 0 <= b <= 1:
        raise ConfigError("bm25.b", f"{b} is not in 0 … 1", "0.75 is usual")


class BM25:
    """BM25 scores of a fixed list of texts. A token that the query repeats counts each time.

    Both variants sum, over the query's tokens, idf * tf * c / (tf + k1 (1 - b + b |d| / avgdl)).

    `lucene` (Robertson and Zaragoza 2009, as Lucene and bm25s have it): c = 1, idf = ln(1 + (N - df + 0.5) /
    (df + 0.5)); never negative.

    `rank_bm25` (the package of that name, bit for bit): c = k1 + 1, idf = ln(N - df + 0.5) - ln(df + 0.5), and where
    that is negative, 0.25 times the mean idf of all tokens, which may be negative itself: a text that shares a word
    with the query may score below one that shares none. Where the package divides 0 by 0 (an empty text under b = 1,
    k1 = 0) the score here is 0, and no text or no token at all is not an error.
    """

    def __init__(
        self,
        texts: Sequence[str],
        k1: float = K1,
        b: float = B,
        variant: Variant = "lucene",
        *,
        tokens: TokenIds = SHARED,
    ) -> None:
        import numpy as np

        check_parameters(k1, b)
        if variant not in _VARIANTS:
            raise ConfigError("bm25.variant", f"there is no {variant!r}", f"known are {', '.join(_VARIANTS)}")
        self.variant = variant
        self.n_texts = len(texts)
        self._numbers, rows = tokens.of(texts)
        # As wide as a place in an array, because numpy widens a narrower one at each use.
        self._tokens, self._counts = rows[:, 0].astype(np.intp), rows[:, 1]
        self._starts = (self._tokens == START).nonzero()[0]
        lengths = self._counts[self._starts].astype(np.float64)
        mean = float(lengths.sum()) / self.n_texts if len(self._tokens) > self.n_texts else 1.0
        self._norms = k1 * (1 - b + b * lengths / mean)
        self._factor = k1 + 1
        self._hits: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}

    @cached_property
    def _log_odds(self) -> NDArray[np.float64]:
        """rank_bm25's idf by the number of texts that hold a token."""
        logs = _logs(self.n_texts.bit_length())[: self.n_texts + 1]
        found: NDArray[np.float64] = logs[::-1] - logs
        return found

    @cached_property
    def _floor(self) -> float:
        """rank_bm25's idf of frequent tokens. The mean is added in the order in which tokens first appear, as there."""
        import numpy as np

        first = np.empty(len(self._numbers) + 1, dtype=np.intp)
        # From the last token to the first, because of values for one place the last stays.
        first[self._tokens[::-1].copy()] = np.arange(len(self._tokens) - 1, -1, -1)
        dfs = np.bincount(first.take(self._tokens))
        dfs = dfs.take(_places(dfs)[1:])  # the first of all is START
        # A running sum is added one by one, where a plain sum is added in pairs, with other last bits.
        return EPSILON * (float(self._log_odds.take(dfs).cumsum()[-1]) / len(dfs))

    def _idfs(self, dfs: NDArray[np.intp]) -> NDArray[np.float64]:
        import numpy as np

        if self.variant == "lucene":
            return np.log1p((self.n_texts - dfs + 0.5) / (dfs + 0.5))
        idfs = self._log_odds.take(dfs)
        frequent = idfs < 0
        if frequent.any():
            idfs[frequent] = self._floor
        return idfs

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of every text for this query, float64 of shape (n_texts,)."""
        return next(self.scores_of([query]))

    def scores_of(self, queries: Sequence[str]) -> Iterator[NDArray[np.float64]]:
        """The scores for each query, as `scores` gives them; the texts are searched once for the tokens of them all."""
        asked = [list(filter(None, map(self._numbers.get, tokenise(query)))) for query in queries]
        self._find([number for number in dict.fromkeys(chain.from_iterable(asked)) if number not in self._hits])
        return map(self._sum, asked)

    def _sum(self, numbers: Sequence[int]) -> NDArray[np.float64]:
        """The contributions of these tokens to each text, added one by one in this order: last bits depend on it."""
        import numpy as np

        if not numbers:
            return np.zeros(self.n_texts, dtype=np.float64)
        texts, parts = zip(*map(self._hits.__getitem__, numbers), strict=True)
        sums = np.bincount(np.concatenate(texts), weights=np.concatenate(parts), minlength=self.n_texts)
        return sums.astype(np.float64, copy=False)

    def _find(self, new: Sequence[int]) -> None:
        """Find the texts that hold each of these tokens, and its contribution to their scores."""
        import numpy as np

        if not new:
            return
        turn = np.zeros(len(self._numbers) + 1, dtype=np.int16 if len(new) < 2**15 else np.int32)
        turn[list(new)] = np.arange(1, len(new) + 1)
        turns = turn.take(self._tokens)
        at = _places(turns)
        turns = turns[at]
        texts = self._starts.searchsorted(at, side="right") - 1
        order = turns.argsort(kind="stable")
        at, texts = at[order], texts[order]
        dfs = np.bincount(turns, minlength=len(new) + 1)[1:]
        parts = self._parts(self._idfs(dfs).repeat(dfs), self._counts[at], self._norms[texts])
        start = 0
        for number, end in zip(new, dfs.cumsum().tolist(), strict=True):
            self._hits[number] = texts[start:end], parts[start:end]
            start = end

    def _parts(
        self, idf: NDArray[np.float64], tf: NDArray[np.int32], norms: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        # The order of operations is that of bm25s and of rank_bm25: another one changes last bits, and so near ties.
        if self.variant == "lucene":
            return idf * tf / (tf + norms)
        return idf * (tf * self._factor / (tf + norms))


def bm25(k1: float = K1, b: float = B, variant: Variant = "lucene") -> Rank:
    """The retriever that ranks texts by BM25 with these parameters. Raises ConfigError on parameters out of range.

    `variant` is `lucene` or `rank_bm25` (see BM25). A text that shares no word with the query scores 0 and still has
    its rank, by place: which texts are worth reading is for the rest of the system to say.
    """
    check_parameters(k1, b)
    # The queries of one question (its rewrites, its choices) come with the same texts: the last index is kept.
    last: tuple[tuple[str, ...], BM25] = ((), BM25((), k1, b, variant))

    def rank(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        nonlocal last
        given, (known, index) = tuple(texts), last
        if given != known:
            index = BM25(given, k1, b, variant)
            last = given, index
        return top(index.scores(query), k)

    return rank
