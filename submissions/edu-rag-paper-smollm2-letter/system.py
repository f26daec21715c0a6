"""The EDU-RAG paper's system: the ten closest sentences of the pages go into the prompt."""

from baselines.edu_rag_paper import with_retrieval
from baselines.gguf_model import LocalModel
from edu_rag import serve

serve(with_retrieval(LocalModel("smollm2-135m"), style="letter"))
