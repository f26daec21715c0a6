"""Plots of a dataset as SVG: the same numbers give the same bytes (under one matplotlib)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builder.documents.stats import CHARACTER_BINS, MAX_HOSTS, DatasetStats
from edu_rag.look.matplotlib_svg import svg_of

BLUE, GREY = "#2c6fbb", "#9aa5b1"


def _drawn(title: str, draw: Callable[[Any], None], height: float = 3.2) -> bytes:
    """One figure: `draw` gets its axes."""

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        draw(axes)
        axes.set_title(title, loc="left", fontsize=11)

    return svg_of(paint, (7, height), layout="constrained")


def _bars(labels: Sequence[str], values: Sequence[float], x: str, y: str, color: str = BLUE) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        axes.bar(range(len(labels)), values, color=color)
        axes.set_xticks(range(len(labels)), labels)
        axes.grid(visible=False, axis="x")
        axes.set_xlabel(x)
        axes.set_ylabel(y)

    return draw


def _rows(labels: Sequence[str], values: Sequence[float], x: str, colors: Sequence[str]) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        axes.barh(range(len(labels)), values, color=list(colors))
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(x)
        for place, value in enumerate(values):
            axes.annotate(f" {value:,.0f}", (value, place), va="center", fontsize=9)

    return draw


def _height(n_rows: int) -> float:
    return max(1.6, 0.8 + 0.26 * n_rows)


def plain(text: str) -> str:
    """A string from outside, made safe so that matplotlib shows it unchanged: no line breaks, not long."""
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= 40 else text[:39] + "…"


def fates_plot(outcomes: Mapping[str, int]) -> bytes:
    """Plot the outcomes of the search results."""
    order = sorted(outcomes, key=lambda name: (name != "kept", -outcomes[name], name))
    colors = [BLUE if name == "kept" else GREY for name in order]
    draw = _rows(order, [outcomes[name] for name in order], "search results", colors)
    return _drawn("What became of the search results", draw, _height(len(order)))


def stages_plot(stages: Sequence[tuple[str, float]]) -> bytes:
    """Seconds per stage, in the order of the run."""
    draw = _rows([plain(name) for name, _ in stages], [s for _, s in stages], "seconds", [BLUE] * len(stages))
    return _drawn("Seconds per stage", draw, _height(len(stages)))


def _pages_per_question(stats: DatasetStats) -> bytes:
    found = range(max(stats.pages_per_question, default=0) + 1)
    values = [stats.pages_per_question[n] for n in found]
    return _drawn("Pages per question", _bars([str(n) for n in found], values, "kept pages", "questions"))


def _characters(stats: DatasetStats) -> bytes:
    labels = [f"{bound / 1000:g}k+" if bound >= 1000 else f"{bound}+" for bound in CHARACTER_BINS]
    values = [stats.characters[bound] for bound in CHARACTER_BINS]
    return _drawn("Characters per page", _bars(labels, values, "characters of clean text", "pages"))


def _hosts(stats: DatasetStats) -> bytes:
    top = sorted(stats.hosts, key=lambda host: (-stats.hosts[host], host))[:MAX_HOSTS]
    draw = _rows([plain(host) for host in top], [stats.hosts[host] for host in top], "pages", [BLUE] * len(top))
    return _drawn("Hosts with the most pages", draw, _height(len(top)))


def _by_rank(stats: DatasetStats) -> bytes:
    ranks = sorted(stats.by_rank)
    shares = [100 * stats.by_rank[rank][True] / stats.by_rank[rank].total() for rank in ranks]
    return _drawn("Results kept, by rank", _bars([str(rank) for rank in ranks], shares, "rank", "% kept"))


def dataset_plots(stats: DatasetStats) -> dict[str, bytes]:
    """The plots of a dataset by file name; those without numbers are left out."""
    plots: dict[str, bytes] = {}
    if stats.outcomes:
        plots["plots/fates.svg"] = fates_plot(stats.outcomes)
        plots["plots/kept-by-rank.svg"] = _by_rank(stats)
        plots["plots/pages-per-question.svg"] = _pages_per_question(stats)
    if stats.n_pages:
        plots["plots/characters-per-page.svg"] = _characters(stats)
        plots["plots/hosts.svg"] = _hosts(stats)
    return plots
