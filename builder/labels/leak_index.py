"""Which questions a page may hold: an index of pairs of meaning-bearing words that stand close together.

A lightly edited question keeps some of its word pairs, whatever words were changed, put in or left out elsewhere.
The index only nominates; builder.labels.leaks compares the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from builder.labels.leak_text import STOP_WORDS

REACH = 3
"""How many meaning-bearing words apart the two words of a pair may be."""
MAX_QUESTIONS_PER_PAIR = 40
"""A pair that more questions share nominates none of them."""
MAX_DRIFT = 4
"""How far the pairs of one passage may drift from the question's own order, in meaning-bearing words."""
_WIDTH = 1 << 20


class PairIndex:
    """Pairs of words of many stems. `nominate` gives (stem, place of its first word) for the passages of a page."""

    def __init__(self, stems: Sequence[Sequence[str]]) -> None:
        self._ids: dict[str, int] = {}
        self._n_pairs: list[int] = []
        pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for stem, words in enumerate(stems):
            ids = [self._ids.setdefault(word, len(self._ids)) for word in words if word not in STOP_WORDS]
            own = {
                key: place
                for places, keys in _pair_arrays(np.array(ids, dtype=np.int64))
                for place, key in zip(places.tolist(), keys.tolist(), strict=True)
            }
            self._n_pairs.append(len(own))
            for key, place in own.items():
                pairs[key].append((stem, place))
        self._pairs: Mapping[int, Sequence[tuple[int, int]]] = {
            key: tuple(postings) for key, postings in pairs.items() if len(postings) <= MAX_QUESTIONS_PER_PAIR
        }
        self._keys = np.array(sorted(self._pairs), dtype=np.int64)

    def nominate(self, content: Sequence[str]) -> list[tuple[int, int]]:
        """(stem, index into `content` where it would begin), once for each passage that shares enough pairs."""
        ids = [self._ids.get(word, -1) for word in content]
        votes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for place, key in self._known(ids):
            for stem, own in self._pairs[key]:
                votes[stem].append((place - own, key))
        return [(stem, start) for stem, found in votes.items() for start in self._passages(stem, found)]

    def _known(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """(place, key) of the pairs that some question has."""
        if not len(self._keys):
            return
        for places, keys in _pair_arrays(np.array(ids, dtype=np.int64)):
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            held = self._keys[at] == keys
            yield from zip(places[held].tolist(), keys[held].tolist(), strict=True)

    def _passages(self, stem: int, found: list[tuple[int, int]]) -> list[int]:
        needed = max(1, min(3, self._n_pairs[stem] // 5))
        if len(found) < needed:
            return []
        found.sort()
        passages: list[int] = []
        first = 0
        for last, (start, _) in enumerate(found):
            while found[first][0] < start - MAX_DRIFT:
                first += 1
            distinct = len({key for _, key in found[first : last + 1]})
            if distinct >= needed and (not passages or found[first][0] > passages[-1] + MAX_DRIFT):
                passages.append(found[first][0])
        return passages


def _pair_arrays(ids: npt.NDArray[np.int64]) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Places and keys of the pairs of known words 1, 2 … REACH apart; either word may come first."""
    for reach in range(1, min(REACH, len(ids) - 1) + 1):
        left, right = ids[:-reach], ids[reach:]
        places = np.flatnonzero((left >= 0) & (right >= 0))
        one, other = left[places], right[places]
        yield places, np.minimum(one, other) * _WIDTH + np.maximum(one, other)
