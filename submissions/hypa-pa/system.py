from baselines.assemble import system
from edu_rag import serve

serve(system("submission.toml"))
