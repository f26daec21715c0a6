"""A LlamaIndex query engine. To make it yours, change the lines marked CHANGE."""

from llama_index.core import SummaryIndex
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

from baselines.retrieve.best_passages import best_passages
from edu_rag import serve
from edu_rag.adapters import llama_index_engine, stand_in


class StandInLLM(CustomLLM):
    @property
    def metadata(self):
        return LLMMetadata(model_name="stand-in", context_window=32_000)

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=stand_in(prompt))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


# CHANGE: your model, such as OpenAI(model="…") of llama-index-llms-openai. The stand-in has no weights.
llm = StandInLLM()


# CHANGE: your engine. It gets the passages of one question as nodes; return a query engine that reads them.
def engine(nodes):
    return SummaryIndex(nodes).as_query_engine(llm=llm)


# CHANGE: how many passages it reads, or your own function from a question to passages.
serve(llama_index_engine(engine, find=best_passages(5)))
