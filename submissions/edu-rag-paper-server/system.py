"""The EDU-RAG paper's system on an OpenAI-compatible server named by the environment.

EDU_RAG_LLM_URL=http://127.0.0.1:8000/v1 EDU_RAG_LLM_MODEL=name [EDU_RAG_LLM_STYLE=likelihood] edu-rag run ...
A server that asks for a key: EDU_RAG_LLM_KEY=... edu-rag run ... --pass-env EDU_RAG_LLM_KEY
"""

import os

from baselines.edu_rag_paper import with_retrieval
from baselines.llm import ServerModel
from edu_rag import serve

serve(with_retrieval(ServerModel.from_environment(), style=os.environ.get("EDU_RAG_LLM_STYLE", "letter")))
