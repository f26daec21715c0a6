"""Always: I do not know."""

from baselines import blind
from edu_rag import serve

serve(blind.abstain)
