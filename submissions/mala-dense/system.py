"""A system of Mala et al. 2025, from parts: submission.toml says which."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
