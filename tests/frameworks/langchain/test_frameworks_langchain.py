"""LangChain runnables as systems, with the real langchain-core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from baselines.retrieve.best_passages import best_passages
from edu_rag.adapters import langchain_runnable
from edu_rag.serve import SystemQuestion


def test_the_template_has_a_score_at_once(first_score: Callable[[str], Any]) -> None:
    found = first_score("langchain")
    assert round(found.score["score"], 4) == 0.24
    assert all("status" not in one and one["passages"] for one in found.predictions)


def test_the_template_asks_for_a_letter_only_where_there_are_choices(
    prompt_of_template: Callable[[str, SystemQuestion], Any], question: SystemQuestion
) -> None:
    assert "with one letter alone, or with I don't know." in prompt_of_template("langchain", question)
    free = prompt_of_template("langchain", replace(question, choices={}, kind="free_text"))
    assert "in a few words, or with I don't know." in free
    assert "letter" not in free


def test_a_chat_model_answers_with_its_text_and_its_tokens(question: SystemQuestion) -> None:
    usage = {"input_tokens": 12, "output_tokens": 1, "total_tokens": 13}
    model = FakeMessagesListChatModel(responses=[AIMessage(content="b", usage_metadata=usage)])
    said = langchain_runnable(ChatPromptTemplate.from_template("{context} {question} {choices}") | model)(question)
    assert (str(said.answer), said.input_tokens, said.output_tokens, said.passages) == ("b", 12, 1, [])


def test_a_chain_with_sources_cites_the_documents_that_it_read(question: SystemQuestion) -> None:
    chain = RunnablePassthrough.assign(context=lambda given: given["documents"][:1], answer=lambda given: "b")
    said = langchain_runnable(chain, find=best_passages(5, tokens=8))(question)
    assert (said.answer, said.passages) == ("b", [("p1", 0, 36)])


def test_the_inputs_are_the_question_its_lettered_choices_and_its_passages(question: SystemQuestion) -> None:
    given: dict[str, Any] = {}
    langchain_runnable(RunnableLambda(lambda values: given.update(values) or "a"), find=best_passages())(question)
    assert sorted(given) == ["choices", "context", "documents", "question"]
    assert given["choices"] == "a. respiration\nb. photosynthesis"
    assert given["documents"][0].page_content == given["context"] == question.pages[0].text


def test_a_result_without_an_answer_is_an_error_with_its_keys(question: SystemQuestion) -> None:
    with pytest.raises(TypeError, match=r"no key 'answer', but \['result'\]"):
        langchain_runnable(RunnableLambda(lambda values: {"result": "b"}))(question)
