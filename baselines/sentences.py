"""The sentences of a question's pages as passages: where they lie, and what they say."""

from __future__ import annotations

from typing import NamedTuple

from edu_rag.serve import SystemQuestion


class Sentence(NamedTuple):
    """One sentence of a page; `text` is the page's text from `start` to `end`, as it stands."""

    page_id: str
    start: int
    end: int
    text: str

    @property
    def passage(self) -> tuple[str, int, int]:
        """The span, as an answer cites it."""
        return self.page_id, self.start, self.end


def sentences_of(question: SystemQuestion) -> list[Sentence]:
    """All sentences of all pages, pages in rank order, those that say the same only once (EDU-RAG section 3.2)."""
    seen: set[str] = set()
    found: list[Sentence] = []
    for page in question.pages:
        for start, end in page.sentences:
            text = page.text[start:end]
            folded = " ".join(text.split())
            if folded and folded not in seen:
                seen.add(folded)
                found.append(Sentence(page.page_id, start, end, text))
    return found
