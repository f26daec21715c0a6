"""Models behind an OpenAI-compatible endpoint as systems, with the real client and a server on loopback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openai import NotFoundError, OpenAI

from baselines.retrieve.best_passages import best_passages
from edu_rag.adapters import openai_chat
from edu_rag.bundled import submissions_folder
from edu_rag.serve import SystemQuestion


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> OpenAI:
    """A client of the template's stub server."""
    monkeypatch.syspath_prepend(str(submissions_folder() / "template" / "openai"))
    from stub_server import start

    return OpenAI(base_url=start(), api_key="none", max_retries=0)


def test_the_template_has_a_score_at_once(first_score: Callable[[str], Any]) -> None:
    found = first_score("openai")
    assert round(found.score["score"], 4) == 0.24
    assert all("status" not in one and one["passages"] and one["input_tokens"] > 20 for one in found.predictions)


def test_a_model_answers_with_its_text_and_its_tokens(client: OpenAI, question: SystemQuestion) -> None:
    said = openai_chat(client, "stand-in", find=best_passages(1, tokens=8))(question)
    assert (said.answer, said.passages) == ("b", [("p1", 0, 36)])
    assert (said.input_tokens, said.output_tokens) == (39, 1)


def test_a_prompt_of_the_team_is_what_the_model_gets(client: OpenAI, question: SystemQuestion) -> None:
    prompt = "respiration\na. respiration\nb. photosynthesis"
    said = openai_chat(client, "stand-in", prompt=lambda question, found: prompt, max_tokens=5)(question)
    assert (said.answer, said.input_tokens) == ("a", 5)


def test_an_endpoint_that_does_not_know_the_model_fails_the_question(client: OpenAI, question: SystemQuestion) -> None:
    with pytest.raises(NotFoundError, match="no model 'other'"):
        openai_chat(client, "other")(question)
