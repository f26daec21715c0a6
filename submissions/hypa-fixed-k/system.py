"""HyPA-RAG's baseline: one k for every question."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
