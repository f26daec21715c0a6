"""A DSPy module as a system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edu_rag.adapters.pipeline_inputs import Find, no_passages, place_of, spans_of, texts_of
from edu_rag.serve import SystemAnswer, SystemQuestion


def dspy_module(module: Any, find: Find = no_passages) -> Callable[[SystemQuestion], SystemAnswer]:
    """Call a module with `question` and `choices` (texts) and `context` (a list of texts); read its field `answer`.

    Tokens are counted if the settings of DSPy track usage (`dspy.configure(track_usage=True)`).
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        found = find(question)
        texts = texts_of(question, found)
        said = module(question=texts["question"], choices=texts["choices"], context=[one.text for one in found])
        fields = sorted(said.keys())
        if "answer" not in fields:
            raise TypeError(f"the module returned no field 'answer', but {fields}")
        usage = (said.get_lm_usage() or {}).values()
        return SystemAnswer(
            answer=said.answer,
            passages=spans_of([place_of(one) for one in found]),
            input_tokens=sum(one.get("prompt_tokens") or 0 for one in usage) or None,
            output_tokens=sum(one.get("completion_tokens") or 0 for one in usage) or None,
        )

    return answer
