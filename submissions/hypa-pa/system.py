"""HyPA-RAG with a classified k and number of sub-queries, without the graph."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
