"""A choice at random."""

from baselines import blind
from edu_rag import serve

serve(blind.random_choice(seed=0))
