"""The choice that BM25 finds closest to a sentence of the pages."""

from baselines.overlap import bm25_system
from edu_rag import serve

serve(bm25_system(k1=1.5, b=0.75))
