"""The longest choice."""

from baselines import blind
from edu_rag import serve

serve(blind.longest)
