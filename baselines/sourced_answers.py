"""A free-text answer with its sources, or with suggestions where no answer was found (Nautiyal et al., 3.7, 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baselines.chunk.sentences import sentences_of
from baselines.edu_rag_paper import System
from baselines.prompts.prompt import harmless
from baselines.retrieve.bm25 import bm25
from edu_rag.serve import SystemAnswer, SystemQuestion

N_SUGGESTED = 3
MAX_TITLE = 120
MAX_SENTENCE = 300


def _name(question: SystemQuestion, page_id: str) -> str:
    page = next(page for page in question.pages if page.page_id == page_id)
    title = harmless(page.title)[:MAX_TITLE]
    return f"{title} ({page.url})" if title else page.url


def _listed(lines: Sequence[str]) -> str:
    return " ".join(f"[{place}] {line}" for place, line in enumerate(lines, start=1))


def sources(question: SystemQuestion, said: SystemAnswer) -> str:
    """The pages that the answer cites, each once, in the order of its passages; empty without any."""
    cited = dict.fromkeys(page_id for page_id, *_ in said.passages)
    return f"Sources: {_listed([_name(question, page_id) for page_id in cited])}" if cited else ""


def suggestions(question: SystemQuestion, k: int = N_SUGGESTED) -> str:
    """The sentences of all pages that share most with the question (BM25), with their pages; empty without any."""
    sentences = sentences_of(question)
    ranked = bm25()(question.text, [one.text for one in sentences], k) if sentences else []
    best = [sentences[one.place] for one in ranked if one.score > 0]
    shown = [f"{harmless(one.text)[:MAX_SENTENCE]} - {_name(question, one.page_id)}" for one in best]
    return f"Not found. Closest sentences: {_listed(shown)}" if shown else ""


def sourced(answer: System) -> System:
    """The same system, whose response also names its sources, or the closest sentences where it found no answer.

    The suggestions are no answer: they are scored as "I don't know".
    """

    def with_sources(question: SystemQuestion) -> SystemAnswer:
        said = answer(question)
        added = suggestions(question) if said.answer is None else sources(question, said)
        return replace(said, response="\n".join(filter(None, [said.response, added])))

    return with_sources
