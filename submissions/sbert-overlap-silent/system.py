"""The choice that S-BERT finds closest to a sentence of the pages, if it is clearly ahead of the others."""

from baselines.embed import Encoder
from baselines.overlap import dense_system
from edu_rag import serve

serve(dense_system(Encoder.default(), true_from=0.7, abstain_margin=0.03))
