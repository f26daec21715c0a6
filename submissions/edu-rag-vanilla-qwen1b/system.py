"""The EDU-RAG paper's system without retrieval: the language model alone."""

from baselines.edu_rag_paper import vanilla
from baselines.llama_cpp import LlamaCppModel
from edu_rag import serve

serve(vanilla(LlamaCppModel("qwen2.5-coder-1.5b"), style="letter"))
