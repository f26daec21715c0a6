"""The house system with SmolLM2 alone: BM25, the model's reading of the pages, and silence where it is unsure."""

from baselines.house.system import house_light
from edu_rag import serve

serve(house_light("weights.json"))
