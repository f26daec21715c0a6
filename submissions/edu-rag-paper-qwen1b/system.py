"""The EDU-RAG paper's system: the ten closest sentences of the pages go into the prompt."""

from baselines.edu_rag_paper import with_retrieval
from baselines.llama_cpp import LlamaCppModel
from edu_rag import serve

serve(with_retrieval(LlamaCppModel("qwen2.5-coder-1.5b"), style="letter"))
