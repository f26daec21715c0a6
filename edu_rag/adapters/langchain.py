"""A LangChain runnable as a system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edu_rag.adapters.pipeline_inputs import Find, no_passages, place_of, spans_of, texts_of
from edu_rag.serve import SystemAnswer, SystemQuestion


def langchain_runnable(runnable: Any, find: Find = no_passages) -> Callable[[SystemQuestion], SystemAnswer]:
    """Ask `runnable.invoke` with a dict: `question`, `choices` and `context` are texts, `documents` are Documents.

    It may return a text, a message, or a dict with `answer` and, as `context` or `documents`, the Documents that it
    read. If it returns no Documents, the passages that `find` found are cited.
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        from langchain_core.documents import Document

        found = find(question)
        documents = [Document(page_content=one.text, metadata=place_of(one)) for one in found]
        said = runnable.invoke({**texts_of(question, found), "documents": documents})
        if isinstance(said, Mapping):
            read = said.get("context", said.get("documents"))
            documents = read if isinstance(read, list) else documents
            if "answer" not in said:
                raise TypeError(f"the runnable returned a dict with no key 'answer', but {sorted(said)}")
            said = said["answer"]
        usage = getattr(said, "usage_metadata", None) or {}
        return SystemAnswer(
            answer=getattr(said, "text", said),
            passages=spans_of([getattr(one, "metadata", {}) for one in documents]),
            input_tokens=usage.get("input_tokens"),
            output_tokens=usage.get("output_tokens"),
        )

    return answer
