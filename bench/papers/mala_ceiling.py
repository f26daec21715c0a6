"""Evidence that no fusion of two lists of three can find, and the consequences for the paper's figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from board_runs import table
from mala_metrics import HIT, Values

SECOND, THIRD = 1 / math.log2(3), 1 / math.log2(4)
"""NDCG of a single relevant passage at rank 2 and 3; its average precision there is 1/2 and 1/3."""
HALF = 0.0005
"""Of the last digit that Table 1 prints."""


def implied_misses(mean_ap: float, ndcg: float) -> tuple[float, float]:
    """Bounds of the share of questions without the passage among three, where each has one relevant passage.

    With shares a, b, c at ranks 1, 2, 3: MAP = a + b/2 + c/3 and NDCG = a + 0.631 b + 0.5 c, so that their difference
    d fixes what is found, a + b + c = MAP + b/2 + 2c/3, to within c = 0 (b = d / 0.131) and b = 0 (c = d / 0.167).
    Both figures are printed with three decimals, so each may be off by HALF.
    """
    found = []
    for at, reached in product((mean_ap - HALF, mean_ap + HALF), (ndcg - HALF, ndcg + HALF)):
        d = reached - at
        found += [at + d / (SECOND - 1 / 2) / 2, at + d / (THIRD - 1 / 3) * 2 / 3]
    return 1 - max(found), 1 - min(found)


def _missed(values: Mapping[str, Values], names: Sequence[str]) -> str:
    """The share of queries for which none of these found a relevant passage."""
    return f"{np.mean(np.all([values[name][HIT] == 0 for name in names], axis=0)):.3f}"


def ceiling_table(values: Mapping[str, Values], paper: Mapping[str, tuple[float, float]]) -> str:
    """Misses of each and of both, and those that the paper's Table 1 implies."""
    implied = {name: implied_misses(*figures) for name, figures in paper.items()}
    said = {name: f"{low:.3f} … {high:.3f}" for name, (low, high) in implied.items()}
    products = [math.prod(implied[name][at] for name in ("sparse", "dense")) for at in (0, 1)]
    ours = math.prod(float(np.mean(values[name][HIT] == 0)) for name in ("sparse", "dense"))
    rows = [
        ("sparse", said["sparse"], _missed(values, ["sparse"])),
        ("dense", said["dense"], _missed(values, ["dense"])),
        ("both, if their misses were independent", f"{products[0]:.3f} … {products[1]:.3f}", f"{ours:.3f}"),
        ("both, in fact", "not told", _missed(values, ["sparse", "dense"])),
        (
            "both, expanded: what no fusion of these lists finds",
            "not told",
            _missed(values, ["sparse, expanded", "dense, expanded"]),
        ),
        ("hybrid", said["hybrid"], _missed(values, ["hybrid"])),
    ]
    return table(("no relevant passage among three: share of questions", "paper, implied", "ours"), rows)
