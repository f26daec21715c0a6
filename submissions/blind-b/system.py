"""Always choice b."""

from baselines import blind
from edu_rag import serve

serve(blind.constant("b"))
