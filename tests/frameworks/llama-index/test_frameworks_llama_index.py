"""LlamaIndex query engines as systems, with the real llama-index-core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core import SummaryIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine

from baselines.retrieve.best_passages import best_passages
from edu_rag.adapters import llama_index_engine
from edu_rag.serve import SystemQuestion


def test_the_template_has_a_score_at_once(first_score: Callable[[str], Any]) -> None:
    found = first_score("llama-index")
    assert round(found.score["score"], 4) == 0.24
    assert all("status" not in one and one["passages"] for one in found.predictions)


def test_an_engine_for_the_nodes_of_a_question_reads_and_cites_them(question: SystemQuestion) -> None:
    def engine(nodes: list[Any]) -> Any:
        return SummaryIndex(nodes).as_query_engine(llm=MockLLM())  # it repeats its prompt

    said = llama_index_engine(engine, find=best_passages(5, tokens=8))(question)
    assert said.passages == [("p1", 0, 36), ("p1", 37, 56)]
    assert "Plants make sugar by photosynthesis." in said.answer
    assert "How do plants make sugar?\na. respiration\nb. photosynthesis" in said.answer
    assert "page_id" not in said.answer


def test_no_nodes_are_an_abstention(question: SystemQuestion) -> None:
    said = llama_index_engine(lambda nodes: SummaryIndex(nodes).as_query_engine(llm=MockLLM()))(question)
    assert (said.answer, said.passages) == (None, [])


def test_an_engine_with_its_own_index_is_asked_as_it_is(question: SystemQuestion) -> None:
    class Own(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return "b" if query_str.startswith("How do plants") else "a"

    assert llama_index_engine(Own())(question).answer == "b"
