"""Passages of whole sentences, as the dataset cut them: one each (EDU-RAG section 3.2), or windows of several.

Windows hold sentences up to a number of tokens, each window starting some tokens back (HyPA-RAG, section 6). Texts that
are equal are kept once, and a page is cut once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from baselines.chunk.per_page import per_page
from baselines.parts import Chunk, PagePassage
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemPage, SystemQuestion

Cut = Callable[[SystemPage], Iterable[tuple[int, int]]]
"""The spans (start, end) that a page is cut into, in the order of its text."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
"""Words and single marks: counted without any model's tokeniser, so that a window is the same for all of them."""


class _Piece(NamedTuple):
    passage: PagePassage
    folded: str


def _pieces(page: SystemPage, cut: Cut) -> list[_Piece]:
    found = []
    for start, end in cut(page):
        text = page.text[start:end]
        folded = " ".join(text.split())
        if folded:
            # Most texts hold no space but single ones: then one string serves as both.
            found.append(_Piece(PagePassage(page.page_id, start, end, text), text if folded == text else folded))
    return found


def chunker(cut: Cut) -> Chunk:
    """The chunker that cuts each page by `cut`: pages in rank order, those passages that say the same only once.

    Two texts say the same when they differ in white space alone (EDU-RAG, section 3.2, keeps distinct sentences);
    passages without anything else are dropped.
    """
    pieces_of = per_page(lambda page: _pieces(page, cut))

    def chunk(question: SystemQuestion) -> list[PagePassage]:
        seen: set[str] = set()
        found: list[PagePassage] = []
        for page in question.pages:
            for passage, folded in pieces_of(page):
                if folded not in seen:
                    seen.add(folded)
                    found.append(passage)
        return found

    return chunk


sentences_of = chunker(lambda page: page.sentences)
"""All sentences of all pages, pages in rank order, those that say the same only once (EDU-RAG section 3.2)."""


def sentences() -> Chunk:
    """The chunker of one passage a sentence."""
    return sentences_of


def n_tokens(text: str) -> int:
    """Words and marks of a text; English word pieces are about 1.2 times as many."""
    return len(_TOKEN.findall(text))


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


def runs(lengths: Sequence[int], tokens: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Windows over sentences of these lengths, as (first, end): sentences first … end - 1, at most `tokens` in all.

    Every sentence is in a window. A window starts with the last sentences of the one before that have at most
    `overlap` tokens together, but only so many that its own first new sentence still fits: no window is within another.
    A sentence longer than `tokens` is one window.
    """
    ends = _ends(lengths, tokens)
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(lengths):
        end = ends[first]
        found.append((first, end))
        first, kept = end, 0
        while end < len(lengths) and kept + lengths[first - 1] <= overlap and ends[first - 1] > end:
            first -= 1
            kept += lengths[first]
    return found


def windows(tokens: int = 512, overlap: int = 200) -> Chunk:
    """The chunker of windows of at most `tokens` tokens, each repeating at most `overlap` of the one before.

    A sentence longer than `tokens` is one window: sentences are never cut. The defaults are HyPA-RAG's. The
    paper does not define a token (ours: n_tokens, of any model's), nor how sentences count towards the overlap
    (ours: only whole ones, so that it is at most `overlap`, often less). Raises ConfigError unless overlap < tokens.
    """
    if tokens < 1:
        raise ConfigError("parts.chunk.tokens", f"{tokens} is under 1", "give a number of at least 1")
    if not 0 <= overlap < tokens:
        what = f"{overlap} is not from 0 to under tokens, {tokens}"
        raise ConfigError("parts.chunk.overlap", what, "set it as well: it is 200 where it is not set")

    def cut(page: SystemPage) -> list[tuple[int, int]]:
        spans = page.sentences
        lengths = [n_tokens(page.text[start:end]) for start, end in spans]
        return [(spans[first][0], spans[end - 1][1]) for first, end in runs(lengths, tokens, overlap)]

    return chunker(cut)
