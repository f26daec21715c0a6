"""A Haystack pipeline as a system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from edu_rag.adapters.pipeline_inputs import Find, no_passages, place_of, spans_of, texts_of
from edu_rag.serve import SystemAnswer, SystemQuestion


def _said(outputs: Mapping[str, Mapping[str, Any]]) -> tuple[Any, Mapping[str, Any]]:
    """The first answer or reply of a pipeline's outputs, and its metadata."""
    for values in outputs.values():
        for name in ("answers", "replies"):
            for first in values.get(name) or ():
                metas = values.get("meta") or [{}]
                return first, getattr(first, "meta", None) or metas[0]
    names = sorted(f"{part}.{name}" for part, values in outputs.items() for name in values)
    raise TypeError(f"the pipeline returned no `answers` and no `replies`, but {names}")


def _documents(outputs: Mapping[str, Mapping[str, Any]], said: Any) -> Iterator[Any]:
    yield from getattr(said, "documents", None) or ()
    for values in outputs.values():
        yield from values.get("documents") or ()


def haystack_pipeline(pipeline: Any, find: Find = no_passages) -> Callable[[SystemQuestion], SystemAnswer]:
    """Run a pipeline with those of `question`, `choices`, `context` and `documents` that its components take.

    The answer is its first of `answers` or `replies`. It cites the documents in the outputs, or else what `find` found.
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        from haystack import Document

        found = find(question)
        documents = [Document(content=one.text, meta=place_of(one)) for one in found]
        given = {**texts_of(question, found), "query": question.text, "documents": documents}
        taken = {name for sockets in pipeline.inputs().values() for name in sockets}
        outputs = pipeline.run({name: value for name, value in given.items() if name in taken})
        said, meta = _said(outputs)
        usage = meta.get("usage") or {}
        return SystemAnswer(
            answer=getattr(said, "data", getattr(said, "text", said)),
            passages=spans_of([one.meta for one in list(_documents(outputs, said)) or documents]),
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
        )

    return answer
