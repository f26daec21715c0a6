"""DSPy modules as systems, with the real dspy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
import pytest

from baselines.retrieve.best_passages import best_passages
from edu_rag.adapters import dspy_module
from edu_rag.serve import SystemQuestion


class Engine:
    def complete(self, request: Any) -> Any:
        text = "[[ ## reasoning ## ]]\nSugar.\n\n[[ ## answer ## ]]\nb\n\n[[ ## completed ## ]]"
        message = dspy.lm15.Message(role="assistant", parts=(dspy.lm15.TextPart(text),))
        usage = dspy.lm15.Usage(input_tokens=70, output_tokens=9)
        return dspy.lm15.Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


@pytest.fixture
def model() -> Any:
    with dspy.context(lm=dspy.LM("engine", engine=Engine(), cache=False), track_usage=True):
        yield


def test_the_template_has_a_score_at_once(first_score: Callable[[str], Any]) -> None:
    found = first_score("dspy")
    assert round(found.score["score"], 4) == 0.2267
    assert all("status" not in one and one["passages"] for one in found.predictions)


@pytest.mark.parametrize("kind", [dspy.Predict, dspy.ChainOfThought])
@pytest.mark.usefixtures("model")
def test_a_module_answers_with_its_field_and_its_tokens(kind: Any, question: SystemQuestion) -> None:
    module = kind("context: list[str], question, choices -> answer")
    said = dspy_module(module, find=best_passages(1, tokens=8))(question)
    assert (said.answer, said.passages) == ("b", [("p1", 0, 36)])
    assert (said.input_tokens, said.output_tokens) == (70, 9)


@pytest.mark.usefixtures("model")
def test_a_signature_without_an_answer_is_an_error_with_its_fields(question: SystemQuestion) -> None:
    class Other(dspy.Module):
        def forward(self, **given: Any) -> Any:
            return dspy.Prediction(label="b")

    with pytest.raises(TypeError, match=r"no field 'answer', but \['label'\]"):
        dspy_module(Other())(question)
