"""How much is retrieved for a query of each class: HyPA-RAG's Tables 6 and 7.

Section 8.1 says the same in words: 2 classes, k 5 and 10 with Q 3 and 5; 3 classes, k 7 and Q 7 for the most complex.
Where it is silent the tables decide. So the simplest class has k = 5 of two and k = 3 of three: the two columns are two
settings, not one a refinement of the other. The paper describes K and S only in Table 7.
"""

from __future__ import annotations

from typing import Literal

from baselines.pipeline import Numbers

TWO_CLASSES = (
    Numbers(top_k=5, n_rewrites=3, n_keywords=4, depth=2),
    Numbers(top_k=10, n_rewrites=5, n_keywords=5, depth=3),
)
THREE_CLASSES = (
    Numbers(top_k=3, n_rewrites=3, n_keywords=3, depth=1),
    Numbers(top_k=5, n_rewrites=5, n_keywords=4, depth=2),
    Numbers(top_k=7, n_rewrites=7, n_keywords=5, depth=3),
)


def numbers_of_classes(n_classes: Literal[2, 3]) -> list[Numbers]:
    """k, Q (Table 6), K and S (Table 7) of each class, by the column of 2 or of 3 classes."""
    return list(TWO_CLASSES if n_classes == 2 else THREE_CLASSES)
