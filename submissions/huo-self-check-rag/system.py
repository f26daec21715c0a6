"""Huo et al.'s self-check as a guard: an answer that its passage does not bear out becomes "I don't know"."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
