"""Pages that repeat a better-ranked page of the same question: word for word, or nearly.

Exact: the same words in the same order; case, spacing and punctuation do not matter. Near: the Jaccard similarity of
the sets of word 5-grams (Broder 1997, "On the resemblance and containment of documents") reaches a threshold.
MinHash signatures name the candidates; every candidate is verified on the sets themselves, so that no verdict hangs
on an estimate.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from typing import Any

N_HASHES = 128
SHINGLE_WORDS = 5
SEED = 20170707
DIGEST_BYTES = 32
SIGNATURE_BYTES = DIGEST_BYTES + 4 * N_HASHES
"""A hash of the words for exact repeats, then the MinHash sketch for near ones."""
MARGIN = 0.18
"""An estimate over 128 hashes is off by at most 0.045 (one standard deviation); four of them miss no candidate."""
_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _shingles(words: list[str]) -> set[str]:
    """Word 5-grams; a text of fewer words is one shingle."""
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    return {" ".join(words[start : start + SHINGLE_WORDS]) for start in range(last)} if words else set()


def signature(text: str) -> bytes:
    """The signature of a page's text: SIGNATURE_BYTES bytes, the same on every machine and in every process."""
    from rensa import RMinHash

    words = " ".join(_words(text)).encode("utf-8", "replace")
    sketch = RMinHash(num_perm=N_HASHES, seed=SEED)
    sketch.update(_shingle_bytes(words.split()))
    return hashlib.sha256(words).digest() + struct.pack(f"<{N_HASHES}I", *sketch.digest())


def _shingle_bytes(words: list[bytes]) -> list[bytes]:
    """The word 5-grams as they come: a sketch is the same for any order and for repeats."""
    if len(words) < SHINGLE_WORDS:
        return [b" ".join(words)] if words else []
    return [b" ".join(shingle) for shingle in zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)]


def estimated_similarity(one: bytes, other: bytes) -> float:
    """The estimate of two texts' Jaccard similarity from their signatures: the share of equal hashes."""
    return _share_of_equal(_hashes(one), _hashes(other))


def _hashes(signature: bytes) -> Any:
    import numpy as np

    return np.frombuffer(signature, dtype="<u4", offset=DIGEST_BYTES)


def _share_of_equal(left: Any, right: Any) -> float:
    import numpy as np

    return int(np.count_nonzero(left == right)) / N_HASHES


def similarity(one: str, other: str) -> float:
    """The exact Jaccard similarity of two texts' sets of word 5-grams, 0 to 1. Two empty texts are the same."""
    left, right = _shingles(_words(one)), _shingles(_words(other))
    union = len(left | right)
    return len(left & right) / union if union else 1.0


@dataclass(frozen=True, slots=True)
class _Seen:
    text: str
    digest: bytes
    hashes: Any


class SeenPages:
    """The pages of one question that were kept so far, asked in the order of their ranks."""

    def __init__(self) -> None:
        self._seen: list[_Seen] = []

    def verdict(self, text: str, signature: bytes, threshold: float) -> str | None:
        """`duplicate`, `near_duplicate`, or None: then the page is remembered. A threshold of 0 keeps near repeats.

        Only pages that were kept count: a chain of small changes does not drop a page unlike every kept one.
        """
        page = _Seen(text, signature[:DIGEST_BYTES], _hashes(signature))
        if any(page.digest == seen.digest for seen in self._seen):
            return "duplicate"
        if threshold > 0 and any(_repeats(page, seen, threshold) for seen in self._seen):
            return "near_duplicate"
        self._seen.append(page)
        return None


def _repeats(page: _Seen, seen: _Seen, threshold: float) -> bool:
    if _share_of_equal(page.hashes, seen.hashes) < threshold - MARGIN:
        return False
    return similarity(page.text, seen.text) >= threshold
