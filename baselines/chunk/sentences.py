"""One passage a sentence, as the dataset cut them (EDU-RAG section 3.2)."""

from __future__ import annotations

from baselines.parts import Chunk
from baselines.passages import Passage
from edu_rag.serve import SystemQuestion


def sentences_of(question: SystemQuestion) -> list[Passage]:
    """All sentences of all pages, pages in rank order, those that say the same only once (EDU-RAG section 3.2)."""
    seen: set[str] = set()
    found: list[Passage] = []
    for page in question.pages:
        for start, end in page.sentences:
            text = page.text[start:end]
            folded = " ".join(text.split())
            if folded and folded not in seen:
                seen.add(folded)
                found.append(Passage(page.page_id, start, end, text))
    return found


def sentences() -> Chunk:
    """The chunker of one passage a sentence."""
    return sentences_of
