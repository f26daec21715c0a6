"""A LlamaIndex query engine as a system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edu_rag.adapters.pipeline_inputs import Find, no_passages, place_of, spans_of, texts_of
from edu_rag.serve import SystemAnswer, SystemQuestion

NOTHING_FOUND = "Empty Response"
"""The answer of an engine whose retriever found nothing."""


def llama_index_engine(engine: Any, find: Find = no_passages) -> Callable[[SystemQuestion], SystemAnswer]:
    """Ask `engine.query` with the question and its choices as one text; cite the nodes that it read.

    `engine` is a query engine with its own index, or a function that makes one from the TextNodes of one question:
    those that `find` found. Each question has its own pages, so most systems give a function.
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        from llama_index.core.schema import TextNode

        nodes = [TextNode(text=one.text, metadata=place_of(one)) for one in find(question)]
        for node in nodes:  # places are for us to cite, not for the model to read
            node.excluded_llm_metadata_keys = node.excluded_embed_metadata_keys = list(node.metadata)
        texts = texts_of(question, ())
        asked = "\n".join(filter(None, (texts["question"], texts["choices"])))
        said = (engine if hasattr(engine, "query") else engine(nodes)).query(asked)
        text = str(said).strip()
        read = [one.node.metadata for one in said.source_nodes]
        return SystemAnswer(answer=None if text == NOTHING_FOUND else text, passages=spans_of(read))

    return answer
