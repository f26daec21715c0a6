"""Adapters: a pipeline of another framework as a function that `edu_rag.serve` asks. They import it only when asked."""

from edu_rag.adapters.dspy import dspy_module
from edu_rag.adapters.haystack import haystack_pipeline
from edu_rag.adapters.langchain import langchain_runnable
from edu_rag.adapters.llama_index import llama_index_engine
from edu_rag.adapters.openai_chat import openai_chat
from edu_rag.adapters.plain_function import any_callable
from edu_rag.adapters.stand_in import stand_in

__all__ = [
    "any_callable",
    "dspy_module",
    "haystack_pipeline",
    "langchain_runnable",
    "llama_index_engine",
    "openai_chat",
    "stand_in",
]
