"""One passage a sentence, as the dataset cut them (EDU-RAG section 3.2); equal texts once, pages cut once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from baselines.parts import Chunk
from baselines.passages import PagePassage, per_page
from edu_rag.serve import SystemPage, SystemQuestion

Cut = Callable[[SystemPage], Iterable[tuple[int, int]]]
"""The spans (start, end) that a page is cut into, in the order of its text."""


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
