"""HyPA-RAG whole: classified k and sub-queries, and triplets of the pages beside the passages."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
