"""How the papers' pages draw: one look, and SVG whose bytes repeat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLOURS = ("#1f5fa8", "#c8572b", "#2e8b57", "#7a4fa0", "#8a6d1f")


def panels(titles: Sequence[str], x: str, y: str) -> list[Any]:
    """Axes side by side, one a title, with these labels and one scale."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "edu-rag", "svg.fonttype": "path", "font.size": 9.5})
    from matplotlib import pyplot as plt

    _, found = plt.subplots(
        1, len(titles), figsize=(8.4, 4.6), layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    found[0][0].set_ylabel(y)
    for axes, title in zip(found[0], titles, strict=True):
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(x)
        axes.grid(visible=True, color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return list(found[0])


def save(axes: Any, path: Path) -> None:
    """Write the figure of these axes as SVG, with one legend below and without a date."""
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(handles, labels, frameon=False, fontsize=8.5, loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(path, metadata={"Date": None, "Creator": None})
