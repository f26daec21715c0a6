"""A system of parts: [parts] in submission.toml names them, and docs/parts.md lists them. This file stays as it is."""

from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
