"""A model behind an OpenAI-compatible endpoint as a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edu_rag.adapters.pipeline_inputs import Find, FoundText, no_passages, place_of, prompt_of, spans_of
from edu_rag.serve import SystemAnswer, SystemQuestion


def openai_chat(
    client: Any,
    model: str,
    find: Find = no_passages,
    prompt: Callable[[SystemQuestion, Sequence[FoundText]], str] = prompt_of,
    **options: Any,
) -> Callable[[SystemQuestion], SystemAnswer]:
    """Ask `client.chat.completions.create` for one reply, at temperature 0 unless `options` say otherwise.

    `client` is an `openai.OpenAI(base_url=…)`, or any object with that method: the network is the client's business.
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        found = find(question)
        messages = [{"role": "user", "content": prompt(question, found)}]
        said = client.chat.completions.create(model=model, messages=messages, **{"temperature": 0, **options})
        usage = said.usage
        return SystemAnswer(
            answer=said.choices[0].message.content,
            passages=spans_of([place_of(one) for one in found]),
            input_tokens=usage and usage.prompt_tokens,
            output_tokens=usage and usage.completion_tokens,
        )

    return answer
