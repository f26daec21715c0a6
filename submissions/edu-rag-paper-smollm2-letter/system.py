"""The EDU-RAG paper's system: the ten closest sentences of the pages go into the prompt."""

from baselines.edu_rag_paper import with_retrieval
from baselines.local_model import local_model
from edu_rag import serve

serve(with_retrieval(local_model("smollm2-135m"), style="letter"))
