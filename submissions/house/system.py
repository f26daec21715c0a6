"""The house system: it selects evidence, reads it, and says that it does not know where its best choice is unlikely."""

from baselines.house.system import house
from edu_rag import serve

serve(house("weights.json"))
