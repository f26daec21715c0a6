"""Sentence windows: whole sentences up to a number of tokens, each starting some tokens back (HyPA-RAG, section 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from baselines.parts import Chunk
from baselines.passages import Passage
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemPage, SystemQuestion

_TOKEN = re.compile(r"\w+|[^\w\s]")
"""Words and single marks: counted without any model's tokeniser, so that a window is the same for all of them."""


def n_tokens(text: str) -> int:
    """Words and marks of a text; English word pieces are about 1.2 times as many."""
    return sum(1 for _ in _TOKEN.finditer(text))


def _ends(lengths: Sequence[int], tokens: int) -> list[int]:
    """For each sentence, the number of the first one that no longer fits into a window that starts with it."""
    ends, end, total = [], 0, 0
    for start, length in enumerate(lengths):
        if end <= start:
            end, total = start + 1, length
        while end < len(lengths) and total + lengths[end] <= tokens:
            total += lengths[end]
            end += 1
        ends.append(end)
        total -= length
    return ends


def _windows(page: SystemPage, tokens: int, overlap: int) -> list[tuple[int, int]]:
    lengths = [n_tokens(page.text[start:end]) for start, end in page.sentences]
    ends = _ends(lengths, tokens)
    found, first = [], 0
    while first < len(lengths):
        end = ends[first]
        found.append((page.sentences[first][0], page.sentences[end - 1][1]))
        if end == len(lengths):
            break
        back, kept = end, 0
        while back - 1 > first and kept + lengths[back - 1] <= overlap:
            back -= 1
            kept += lengths[back]
        first = back
    return found


def windows(tokens: int = 512, overlap: int = 200) -> Chunk:
    """The chunker of windows of at most `tokens` tokens, each repeating at most `overlap` of the one before.

    A sentence longer than `tokens` is a window of its own: sentences are never cut. The defaults are HyPA-RAG's.
    """
    if not 0 <= overlap < tokens:
        raise ConfigError("parts.chunk", f"overlap {overlap} is not under tokens {tokens}", "overlap less")

    def chunk(question: SystemQuestion) -> list[Passage]:
        seen: set[str] = set()
        found = []
        for page in question.pages:
            for start, end in _windows(page, tokens, overlap):
                text = page.text[start:end]
                folded = " ".join(text.split())
                if folded and folded not in seen:
                    seen.add(folded)
                    found.append(Passage(page.page_id, start, end, text))
        return found

    return chunk
