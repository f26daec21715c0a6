"""Nautiyal et al.: hybrid: assembled from the parts that submission.toml names."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
