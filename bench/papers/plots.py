"""How the papers' pages draw: one look, and SVG whose bytes repeat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLOURS = ("#1f5fa8", "#c8572b", "#2e8b57", "#7a4fa0", "#8a6d1f")


def panels(titles: Sequence[str], x: str, y: str, columns: int | None = None) -> list[Any]:
    """Axes side by side (in rows of `columns`), one a title, with these labels and one scale."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "edu-rag", "svg.fonttype": "path", "font.size": 9.5})
    from matplotlib import pyplot as plt

    wide = columns or len(titles)
    high = len(titles) // wide
    size = (8.4, 4.6 if high == 1 else 3.2 * high)
    _, found = plt.subplots(high, wide, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False)
    for row in found:
        row[0].set_ylabel(y)
    for axes in found[-1]:
        axes.set_xlabel(x)
    for axes, title in zip(found.flat, titles, strict=True):
        axes.set_title(title, fontsize=10)
        axes.grid(visible=True, color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return list(found.flat)


def save(axes: Any, path: Path) -> None:
    """Write the figure of these axes as SVG, with one legend below (if it has labels) and without a date."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.figure.legend(handles, labels, frameon=False, fontsize=8.5, loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(path, metadata={"Date": None, "Creator": None})
