"""Haystack pipelines as systems, with the real haystack-ai."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from haystack import Pipeline, component
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.dataclasses import ChatMessage

from baselines.retrieve.best_passages import best_passages
from edu_rag.adapters import haystack_pipeline
from edu_rag.serve import SystemQuestion


@component
class Chat:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        usage = {"prompt_tokens": len(str(messages[-1].text).split()), "completion_tokens": 1}
        return {"replies": [ChatMessage.from_assistant("b", meta={"usage": usage})]}


def test_the_template_has_a_score_at_once(first_score: Callable[[str], Any]) -> None:
    found = first_score("haystack")
    assert round(found.score["score"], 4) == 0.24
    assert all("status" not in one and one["passages"] for one in found.predictions)


def test_the_template_asks_for_a_letter_only_where_there_are_choices(
    prompt_of_template: Callable[[str, SystemQuestion], Any], question: SystemQuestion
) -> None:
    assert "with one letter alone, or with I don't know." in prompt_of_template("haystack", question)
    free = prompt_of_template("haystack", replace(question, choices={}, kind="free_text"))
    assert "in a few words, or with I don't know." in free
    assert "letter" not in free


def chat_pipeline() -> Pipeline:
    pipeline = Pipeline()
    message = ChatMessage.from_user("{{ question }} {{ choices }}")
    pipeline.add_component("prompt", ChatPromptBuilder([message], required_variables="*"))
    pipeline.add_component("model", Chat())
    pipeline.connect("prompt.prompt", "model.messages")
    return pipeline


def test_a_chat_generator_answers_with_its_text_and_its_tokens(question: SystemQuestion) -> None:
    said = haystack_pipeline(chat_pipeline())(question)
    assert (said.answer, said.input_tokens, said.output_tokens) == ("b", 9, 1)


def test_an_answer_builder_cites_its_documents(question: SystemQuestion) -> None:
    pipeline = chat_pipeline()
    pipeline.add_component("answer", AnswerBuilder())
    pipeline.connect("model.replies", "answer.replies")
    said = haystack_pipeline(pipeline, find=best_passages(1, tokens=8))(question)
    assert (said.answer, said.passages) == ("b", [("p1", 0, 36)])


def test_a_pipeline_without_an_answer_is_an_error_with_its_outputs(question: SystemQuestion) -> None:
    pipeline = Pipeline()
    pipeline.add_component("joiner", DocumentJoiner())
    with pytest.raises(TypeError, match=r"no `answers` and no `replies`, but \['joiner.documents'\]"):
        haystack_pipeline(pipeline, find=best_passages())(question)
