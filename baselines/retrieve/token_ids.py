"""Texts as counted token numbers, kept while the process runs: pages that many questions share are tokenised once."""

from __future__ import annotations

import re
import threading
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
MOST_CHARACTERS = 64_000_000
"""Of the texts that are remembered, and again of those in runs; about 400 MB with their numbers."""


def tokenise(text: str) -> list[str]:
    """Lower-cased runs of letters, digits and underscores; no stemming, no stop words."""
    return _WORD.findall(text.casefold())


START = 0
"""In place of a token's number, where a text begins; tokens have the numbers from 1 on."""


_NO_RUN: tuple[list[str], bytes] = ([], b"")
_LONGEST_RUN = 64


def _size(texts: Sequence[str]) -> int:
    return sum(map(len, texts)) + len(texts)


def _end_of_run(texts: Sequence[str], start: int) -> int:
    """Where the run of texts from `start` on ends: after one text in sixteen, chosen by its own length.

    So most runs of a page are the same ones wherever the page is among others.
    """
    for place in range(start, min(start + _LONGEST_RUN, len(texts))):
        if len(texts[place]) % 16 == 0:
            return place + 1
    return min(start + _LONGEST_RUN, len(texts))


class TokenIds:
    """Numbers of tokens, and for each text the numbers of its distinct tokens with their counts.

    When the texts together, or the runs of them, pass `most_characters`, all tables are replaced by empty ones, so that
    memory is bounded; numbers that were returned before stay valid, because a table in use never changes its numbers.
    """

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = most_characters
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tables: dict[str, bytes] = {}
        self._n_characters = 0
        self._runs: dict[str, tuple[list[str], bytes]] = {}
        self._n_in_runs = 0

    def of(self, texts: Sequence[str]) -> tuple[dict[str, int], NDArray[np.int32]]:
        """The numbers by token, and the texts' tokens one after the other: int32 of shape (n, 2).

        A text is a row (START, its length in tokens), then a row (number, count) for each distinct token, in the order
        in which they first appear in it. The numbers may grow while they are held.
        """
        import numpy as np

        with self._lock:
            if max(self._n_characters, self._n_in_runs) > self._most:
                self._forget()
            return self._numbers, np.frombuffer(self._joined(list(texts)), dtype=np.int32).reshape(-1, 2)

    def _joined(self, texts: list[str]) -> bytes:
        """The tables of all texts, whole runs at a time: another question with the same page finds its runs again."""
        found, start = [], 0
        while start < len(texts):
            run, joined = self._runs.get(texts[start], _NO_RUN)
            # Equal lists of the same strings are compared without a look at any string.
            if not run or texts[start : start + len(run)] != run:
                run = texts[start : _end_of_run(texts, start)]
                joined = b"".join([self._tables.get(text) or self._count(text) for text in run])
                self._n_in_runs += _size(run) - _size(self._runs.get(run[0], _NO_RUN)[0])
                self._runs[run[0]] = run, joined
            found.append(joined)
            start += len(run)
        return b"".join(found)

    def _count(self, text: str) -> bytes:
        numbers = self._numbers
        tokens = tokenise(text)
        row = array("i", (START, len(tokens)))
        for token, count in Counter(tokens).items():
            row.append(numbers.setdefault(token, len(numbers) + 1))
            row.append(count)
        self._tables[text] = table = row.tobytes()
        self._n_characters += len(text) + 1
        return table


SHARED = TokenIds()
"""The one of the process."""
