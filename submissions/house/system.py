"""The house system: weighed signs of each choice, and silence where the best one is unlikely."""

from baselines.house.system import house
from edu_rag import serve

serve(house("weights.json"))
