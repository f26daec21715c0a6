"""The EDU-RAG paper's system without retrieval: the language model alone."""

from baselines.edu_rag_paper import vanilla
from baselines.local_model import local_model
from edu_rag import serve

serve(vanilla(local_model("smollm2-135m"), style="letter"))
