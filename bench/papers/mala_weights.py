"""How the hybrid's score moves with the weight of the sparse retriever, and whether specificity finds the right one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from board_runs import table
from mala_metrics import MAP, Values, interval, metrics_of
from mala_systems import HYBRID, SYSTEMS, Searcher
from mala_tasks import Task
from scipy import stats

from baselines.retrieve.fuse import weighted_rrf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "mala-weights.svg"
STEPS = tuple(at / 10 for at in range(11))
INK, SPARSE, DENSE, FIXED, DYNAMIC = "#333333", "#b5651d", "#2a6f97", "#6a4c93", "#2d6a4f"


class Sweep(NamedTuple):
    """One task: the score of each fixed weight, of the systems, and how specificity goes with who is better."""

    task: Task
    fixed: list[Values]
    systems: dict[str, Values]
    weights: list[float]
    rho: float
    p: float


def _values(searcher: Searcher, variant: object) -> Values:
    return metrics_of(searcher.task, [searcher.rank(variant, at) for at in range(len(searcher.task.queries))])  # type: ignore[arg-type]


def sweep(task: Task, encoder: str) -> Sweep:
    """All figures of one task."""
    searcher = Searcher(task, encoder)
    fixed = [_values(searcher, HYBRID._replace(fuse=weighted_rrf(sparse_weight=weight))) for weight in STEPS]
    systems = {name: _values(searcher, variant) for name, variant in SYSTEMS.items()}
    weights = searcher.weights("expanded")
    found = stats.spearmanr(weights, systems["sparse"][MAP] - systems["dense"][MAP])
    return Sweep(task, fixed, systems, weights, float(found.statistic), float(found.pvalue))


def _panel(axes: Axes, one: Sweep) -> None:
    axes.plot(
        STEPS,
        [values[MAP].mean() for values in one.fixed],
        color=FIXED,
        marker="o",
        markersize=4,
        label="fixed weight, expanded question",
    )
    for name, color, style in (("hybrid", DYNAMIC, "-"), ("dense", DENSE, "--"), ("sparse", SPARSE, ":")):
        said = "hybrid (weight by specificity)" if name == "hybrid" else f"{name} alone, question as it stands"
        axes.axhline(one.systems[name][MAP].mean(), color=color, linestyle=style, linewidth=1.6, label=said)
    low, high = np.percentile(one.weights, [25, 75])
    axes.axvspan(float(low), float(high), color=DYNAMIC, alpha=0.12, linewidth=0, label="middle half of S(q′)")
    axes.set_title(f"{one.task.name} (n = {len(one.task.queries)})", fontsize=10, color=INK)
    axes.set_xlabel("weight of the sparse retriever", color=INK)
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw(sweeps: Sequence[Sweep], to: Path = PLOT) -> None:
    """The plot as SVG; the same figures give the same bytes."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "mala", "font.size": 9}):
        figure, panels = plt.subplots(1, len(sweeps), figsize=(4.6 * len(sweeps), 3.9), squeeze=False)
        for axes, one in zip(panels[0], sweeps, strict=True):
            _panel(axes, one)
        panels[0][0].set_ylabel(MAP, color=INK)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=8)
        figure.tight_layout(rect=(0, 0.13, 1, 1))
        figure.savefig(to, metadata={"Date": None})
        plt.close(figure)


def report(tasks: Sequence[Task], encoder: str) -> str:
    """The plot's table; the plot itself is written next to the page."""
    sweeps = [sweep(task, encoder) for task in tasks]
    draw(sweeps)
    print(f"wrote {PLOT.name}", file=sys.stderr)
    rows = [
        (f"w_S = {weight:.1f}", *(interval(one.fixed[at][MAP]) for one in sweeps)) for at, weight in enumerate(STEPS)
    ]
    rows += [(name, *(interval(one.systems[name][MAP]) for one in sweeps)) for name in SYSTEMS]
    told = [
        f"{one.task.name}: Spearman's rank correlation of S(q′) with the gain of sparse over dense in {MAP}: "
        f"{one.rho:+.2f} (p = {one.p:.2g})."
        for one in sweeps
    ]
    head = (MAP, *(one.task.name for one in sweeps))
    return "\n\n".join(("![MAP@3 by the weight of the sparse retriever](mala-weights.svg)", table(head, rows), *told))
