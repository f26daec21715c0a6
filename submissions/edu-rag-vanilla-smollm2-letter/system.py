"""The EDU-RAG paper's system without retrieval: the language model alone."""

from baselines.edu_rag_paper import vanilla
from baselines.gguf_model import LocalModel
from edu_rag import serve

serve(vanilla(LocalModel("smollm2-135m"), style="letter"))
