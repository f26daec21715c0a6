"""How sure a score is, and whether systems differ: exact bootstraps and tests on three-valued outcomes."""

from edu_rag.detectable_difference import Spread, n_needed, power_of, smallest_detectable_difference
from edu_rag.significance import ALPHA
from edu_rag.statistics.bootstrap import (
    EXACT_METHOD,
    LESSON_METHOD,
    LEVEL,
    RATES,
    RESAMPLES,
    cluster_ratios,
    difference_intervals,
    mc_interval,
    mean_interval,
    mean_intervals,
    rate_intervals,
)
from edu_rag.statistics.distributions import fair_sum, fair_tail, sum_distribution
from edu_rag.statistics.holm_correction import holm, pairwise_p
from edu_rag.statistics.paired_tests import (
    McNemar,
    Paired,
    mcnemar,
    mcnemar_all,
    pair_p,
    paired,
    paired_all,
    sign_flip_p,
)
from edu_rag.statistics.points import Lessons, Outcomes, points_of, shared_lessons, strict_points_of, units_of
from edu_rag.statistics.ranks import rank_groups
from edu_rag.statistics.test_power import spread_all, spread_of, typical_sd

__all__ = [
    "ALPHA",
    "EXACT_METHOD",
    "LESSON_METHOD",
    "LEVEL",
    "RATES",
    "RESAMPLES",
    "Lessons",
    "McNemar",
    "Outcomes",
    "Paired",
    "Spread",
    "cluster_ratios",
    "difference_intervals",
    "fair_sum",
    "fair_tail",
    "holm",
    "mc_interval",
    "mcnemar",
    "mcnemar_all",
    "mean_interval",
    "mean_intervals",
    "n_needed",
    "pair_p",
    "paired",
    "paired_all",
    "pairwise_p",
    "points_of",
    "power_of",
    "rank_groups",
    "rate_intervals",
    "shared_lessons",
    "sign_flip_p",
    "smallest_detectable_difference",
    "spread_all",
    "spread_of",
    "strict_points_of",
    "sum_distribution",
    "typical_sd",
    "units_of",
]
