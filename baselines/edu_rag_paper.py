"""The EDU-RAG paper's system: retrieve the closest sentences, ask a language model, answer (section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from baselines.chunk.sentences import sentences_of
from baselines.embed import Encoder
from baselines.parts import PagePassage
from baselines.prompts.generate import LanguageModel, PromptPair, StyleName, answer_with
from edu_rag.serve import SystemAnswer, SystemQuestion

TOP_K = 10
MAX_CHARS = 7_500
"""Both from EDU-RAG section 4.3."""


class Context(NamedTuple):
    """The text that goes into the prompt, and the spans of pages it is made of, in the same order."""

    text: str
    passages: list[tuple[str, int, int]]


NO_CONTEXT = Context("", [])
Retriever = Callable[[SystemQuestion], Context]


def closed_book(question: SystemQuestion) -> Context:
    """No context at all: the paper's "vanilla" models."""
    return NO_CONTEXT


def join(sentences: Sequence[PagePassage], max_chars: int = MAX_CHARS) -> Context:
    """Sentences joined by a space, at most `max_chars` characters; the one that goes beyond is cut, its span too."""
    parts: list[str] = []
    passages: list[tuple[str, int, int]] = []
    room = max_chars
    for sentence in sentences:
        part = sentence.text[:room].rstrip()
        if not part:
            break
        parts.append(part)
        said_as_it_stands = len(sentence.text) == sentence.end - sentence.start  # a triplet cites its whole sentence
        end = sentence.start + len(part) if said_as_it_stands else sentence.end
        passages.append((sentence.page_id, sentence.start, end))
        room -= len(part) + 1
        if room <= 0:
            break
    return Context(" ".join(parts), passages)


def closest_sentences(encoder: Encoder, top_k: int = TOP_K, max_chars: int = MAX_CHARS) -> Retriever:
    """Retrieve by cosine between question and sentence (EDU-RAG equation 1).

    The question's pages are taken together and cut into sentences; the `top_k` closest make the context, the closest
    first (the paper gives no order), ties in page order.
    """

    def retrieve(question: SystemQuestion) -> Context:
        import numpy as np

        sentences = sentences_of(question)
        if not sentences:
            return NO_CONTEXT
        cosines = encoder.encode([sentence.text for sentence in sentences]) @ encoder.encode([question.text])[0]
        best = np.argsort(-cosines, kind="stable")[:top_k]
        return join([sentences[i] for i in best], max_chars)

    return retrieve


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
