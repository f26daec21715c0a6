"""The EDU-RAG paper's system, put together: retrieve sentences, ask a language model, answer (section 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baselines.context import Retriever, closed_book, closest_sentences
from baselines.embed import Encoder
from baselines.generate import LanguageModel, PromptPair, StyleName, answer_with
from edu_rag.serve import SystemAnswer, SystemQuestion

System = Callable[[SystemQuestion], SystemAnswer]


def assemble(
    model: LanguageModel,
    style: StyleName,
    retrieve: Retriever = closed_book,
    prompts: PromptPair | None = None,
    *,
    least_margin: float = 0.0,
) -> System:
    """A system from its parts. The answer's passages cite the passages that it retrieved."""

    def answer(question: SystemQuestion) -> SystemAnswer:
        context = retrieve(question)
        said = answer_with(model, style, question, context.text, prompts, least_margin=least_margin)
        return replace(said, passages=context.passages)

    return answer


def vanilla(model: LanguageModel, style: StyleName) -> System:
    """The model alone."""
    return assemble(model, style)


def with_retrieval(model: LanguageModel, style: StyleName, encoder: Encoder | None = None) -> System:
    """The model with the ten sentences closest to the question, at most 7,500 characters."""
    return assemble(model, style, closest_sentences(encoder if encoder is not None else Encoder.default()))
