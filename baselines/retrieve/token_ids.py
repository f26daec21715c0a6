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
"""Of the texts that are remembered; about 300 MB with their numbers."""


def tokenise(text: str) -> list[str]:
    """Lower-cased runs of letters, digits and underscores; no stemming, no stop words."""
    return _WORD.findall(text.casefold())


START = 0
"""In place of a token's number, where a text begins; tokens have the numbers from 1 on."""


class TokenIds:
    """Numbers of tokens, and for each text the numbers of its distinct tokens with their counts.

    When the texts together pass `most_characters`, the table is replaced by an empty one, so that memory is
    bounded; numbers that were returned before stay valid, because a table in use never changes its numbers.
    """

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = most_characters
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tables: dict[str, bytes] = {}
        self._n_characters = 0

    def of(self, texts: Sequence[str]) -> tuple[dict[str, int], NDArray[np.int32]]:
        """The numbers by token, and the texts' tokens one after the other: int32 of shape (n, 2).

        A text is a row (START, its length in tokens), then a row (number, count) for each distinct token, in the order
        in which they first appear in it. The numbers may grow while they are held.
        """
        import numpy as np

        with self._lock:
            if self._n_characters > self._most:
                self._forget()
            try:
                found = list(map(self._tables.__getitem__, texts))
            except KeyError:
                found = [self._tables.get(text) or self._count(text) for text in texts]
            # Joining bytes takes a tenth of the time of joining as many small arrays.
            joined = b"".join(found)
            return self._numbers, np.frombuffer(joined, dtype=np.int32).reshape(-1, 2)

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
