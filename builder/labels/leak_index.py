"""Which questions a page may hold: pairs of content words that are close together, then the shared words.

A lightly edited question keeps some of its word pairs, even if words elsewhere were changed, added or removed.
The index only nominates; builder.labels.leaks compares the texts. All of it runs on arrays, a page at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from builder.labels.leak_match import STOP_WORDS, weight_of

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

REACH = 3
"""How many meaning-bearing words apart the two words of a pair may be."""
MAX_QUESTIONS_PER_PAIR = 40
"""A pair that more questions share nominates none of them."""
MAX_DRIFT = 4
"""How far the pairs of one passage may drift from the question's own order, in meaning-bearing words."""
_N_STOP = len(STOP_WORDS)
_SHIFT = 32
_BEFORE_PAGE = 1 << 20
_SIEVE_BITS = 22


class Vocabulary:
    """Numbers for the words of the questions: function words first; -1 for any other word."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        words = dict.fromkeys(chain(sorted(STOP_WORDS), chain.from_iterable(texts)))
        self._numbers = {word: number for number, word in enumerate(words)}
        self.weights = np.array([weight_of(word) for word in words])

    def numbers(self, words: Sequence[str]) -> Ints:
        """One number a word."""
        return np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))


def content_places(numbers: Ints) -> Ints:
    """The places of the words that carry meaning: all but function words."""
    return np.flatnonzero((numbers < 0) | (numbers >= _N_STOP))


class PairIndex:
    """Pairs of words of many stems. `nominate` gives the passages of a page that share enough of a stem's pairs.

    `silent` are the stems that no page can nominate: they have no word pair.
    """

    def __init__(self, stems: Sequence[Ints]) -> None:
        content = [numbers[content_places(numbers)] for numbers in stems]
        lengths = np.array([len(numbers) for numbers in content], dtype=np.int64)
        owners = np.repeat(np.arange(len(stems)), lengths)
        firsts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        words = np.concatenate([*content, np.zeros(0, np.int64)])
        pairs = [(owners[at], at - firsts[at], keys) for at, keys in _pairs(words, owners)]
        owner, place, key = (np.concatenate([*part, np.zeros(0, np.int64)]) for part in zip(*pairs, strict=True))
        order = np.lexsort((place, owner, key))
        owner, place, key = owner[order], place[order], key[order]
        once = _is_new(key) | _is_new(owner)
        owner, place, key = owner[once], place[once], key[once]
        n_pairs = np.bincount(owner, minlength=len(stems))
        begins = np.flatnonzero(_is_new(key))
        sizes = np.diff(np.append(begins, len(key)))
        rare = sizes <= MAX_QUESTIONS_PER_PAIR
        n_rare = np.bincount(owner[np.repeat(rare, sizes)], minlength=len(stems))
        self._needed = np.clip(np.minimum(n_pairs // 5, n_rare), 1, 3)
        self.silent = np.flatnonzero(n_rare == 0).tolist()
        self._keys, self._begins, self._sizes = key[begins][rare], begins[rare], sizes[rare]
        self._owners, self._places = owner, place
        # Most pairs of a page are in no question: one look in a table of bits settles that.
        self._sieve = np.zeros(1 << _SIEVE_BITS, dtype=np.bool_)
        self._sieve[_slot(self._keys)] = True

    def nominate(self, content: Ints) -> tuple[Ints, Ints]:
        """(stems, indices into `content` where each would begin), once for each passage that shares enough pairs."""
        stems, starts, keys = self._votes(content)
        # Starts may be negative: a passage's first words may precede the page.
        line = (stems << _SHIFT) + starts + _BEFORE_PAGE
        order = np.argsort(line, kind="stable")
        stems, starts, keys, line = stems[order], starts[order], keys[order], line[order]
        first = np.searchsorted(line, line - MAX_DRIFT)
        enough = np.flatnonzero(np.arange(len(line)) - first + 1 >= self._needed[stems])
        begins = first[enough]
        kept: list[int] = []
        barred = -1
        rows = zip(
            enough.tolist(), begins.tolist(), line[begins].tolist(), self._needed[stems[enough]].tolist(), strict=True
        )
        for last, begin, start, needed in rows:
            if start > barred and (needed == 1 or len(set(keys[begin : last + 1].tolist())) >= needed):
                kept.append(begin)
                barred = start + MAX_DRIFT
        return stems[kept], starts[kept]

    def _votes(self, content: Ints) -> tuple[Ints, Ints, Ints]:
        """(stem, where it would begin, pair) for each pair of the page that a stem has."""
        pairs = list(_pairs(content, np.zeros_like(content)))
        place, key = np.concatenate([at for at, _ in pairs]), np.concatenate([keys for _, keys in pairs])
        maybe = np.flatnonzero(self._sieve[_slot(key)])
        place, key = place[maybe], key[maybe]
        pair = np.searchsorted(self._keys, key)
        pair[pair == len(self._keys)] = 0
        known = np.flatnonzero(self._keys[pair] == key) if len(self._keys) else pair[:0]
        place, pair = place[known], pair[known]
        postings = _spread(self._begins[pair], self._sizes[pair])
        place, pair = np.repeat(place, self._sizes[pair]), np.repeat(pair, self._sizes[pair])
        return self._owners[postings], place - self._places[postings], pair


class SharedWords:
    """How much of each stem's text a passage shares, word for word and in any order."""

    def __init__(self, stems: Sequence[Ints], weights: npt.NDArray[np.float64]) -> None:
        distinct = [np.unique(numbers) for numbers in stems]
        self._sizes = np.array([len(numbers) for numbers in distinct], dtype=np.int64)
        self._begins = np.cumsum(self._sizes) - self._sizes
        self._words = np.concatenate([*distinct, np.zeros(0, np.int64)])
        self._weights = weights[self._words]

    def shares(self, stems: Ints, lows: Ints, highs: Ints, page: Ints) -> npt.NDArray[np.float64]:
        """For each passage `page[low:high]` the share, by weight, of its stem's words that it holds."""
        places = np.sort((page << _SHIFT) + np.arange(len(page)))
        at = _spread(self._begins[stems], self._sizes[stems])
        passage = np.repeat(np.arange(len(stems)), self._sizes[stems])
        words, weights = self._words[at] << _SHIFT, self._weights[at]
        found = np.searchsorted(places, words + lows[passage])
        found[found == len(places)] = 0
        here = (places[found] >= words + lows[passage]) & (places[found] < words + highs[passage])
        total = np.bincount(passage, weights, len(stems))
        return np.bincount(passage, weights * here, len(stems)) / np.maximum(total, 1e-9)


def _pairs(words: Ints, owners: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Places and keys of the pairs of known words of one owner, 1, 2 … REACH apart; either word may come first."""
    for reach in range(1, REACH + 1):
        left, right = words[:-reach], words[reach:]
        places = np.flatnonzero((left >= 0) & (right >= 0) & (owners[:-reach] == owners[reach:]))
        one, other = left[places], right[places]
        yield places, (np.minimum(one, other) << _SHIFT) + np.maximum(one, other)


def _slot(keys: Ints) -> Ints:
    """The position of a pair in the table of bits."""
    slots: Ints = ((keys >> _SHIFT) * 40_503 + keys) & ((1 << _SIEVE_BITS) - 1)
    return slots


def _is_new(values: Ints) -> Flags:
    """Whether each value differs from the one before it."""
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = values[1:] != values[:-1]
    return new


def _spread(begins: Ints, sizes: Ints) -> Ints:
    """All indices of the ranges that begin and last as given, one range after the other."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    spread: Ints = np.arange(total) + np.repeat(begins - (ends - sizes), sizes)
    return spread
