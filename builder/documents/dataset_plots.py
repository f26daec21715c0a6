"""Plots of a dataset as SVG: the same numbers give the same bytes (under one matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from builder.documents.stats import CHARACTER_BINS, MAX_HOSTS, DatasetStats
from edu_rag.look.matplotlib_svg import svg_of

BLUE, GREY = "#2c6fbb", "#9aa5b1"


class _Bars(NamedTuple):
    """The numbers of one plot: bars side by side, or (`rows`) one below the other with their values."""

    title: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    x: str
    y: str = ""
    colors: tuple[str, ...] = ()
    rows: bool = False


def _paint_bars(bars: _Bars, axes: Any) -> None:
    axes.bar(range(len(bars.labels)), bars.values, color=BLUE)
    axes.set_xticks(range(len(bars.labels)), bars.labels)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(bars.x)
    axes.set_ylabel(bars.y)


def _paint_rows(bars: _Bars, axes: Any) -> None:
    axes.barh(range(len(bars.labels)), bars.values, color=list(bars.colors) or BLUE)
    axes.set_yticks(range(len(bars.labels)), bars.labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(bars.x)
    for place, value in enumerate(bars.values):
        axes.annotate(f" {value:,.0f}", (value, place), va="center", fontsize=9)


@lru_cache(maxsize=32)
def _drawn(bars: _Bars) -> bytes:
    """One figure. A build shows each twice, on the card and in the report: drawing is most of a small build's time."""

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        (_paint_rows if bars.rows else _paint_bars)(bars, axes)
        axes.set_title(bars.title, loc="left", fontsize=11)

    return svg_of(paint, (7, _height(len(bars.labels)) if bars.rows else 3.2), layout="constrained")


def _height(n_rows: int) -> float:
    return max(1.6, 0.8 + 0.26 * n_rows)


def plain(text: str) -> str:
    """A string from outside, made safe so that matplotlib shows it unchanged: no line breaks, not long."""
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= 40 else text[:39] + "…"


def fates_plot(outcomes: Mapping[str, int]) -> bytes:
    """Plot the outcomes of the search results."""
    order = sorted(outcomes, key=lambda name: (name != "kept", -outcomes[name], name))
    colors = tuple(BLUE if name == "kept" else GREY for name in order)
    values = tuple(outcomes[name] for name in order)
    title = "What became of the search results"
    return _drawn(_Bars(title, tuple(order), values, "search results", colors=colors, rows=True))


def _pages_per_question(stats: DatasetStats) -> bytes:
    found = range(max(stats.pages_per_question, default=0) + 1)
    values = tuple(stats.pages_per_question[n] for n in found)
    return _drawn(_Bars("Pages per question", tuple(map(str, found)), values, "kept pages", "questions"))


def _characters(stats: DatasetStats) -> bytes:
    labels = tuple(f"{bound / 1000:g}k+" if bound >= 1000 else f"{bound}+" for bound in CHARACTER_BINS)
    values = tuple(stats.characters[bound] for bound in CHARACTER_BINS)
    return _drawn(_Bars("Characters per page", labels, values, "characters of clean text", "pages"))


def _hosts(stats: DatasetStats) -> bytes:
    top = sorted(stats.hosts, key=lambda host: (-stats.hosts[host], host))[:MAX_HOSTS]
    labels, values = tuple(plain(host) for host in top), tuple(stats.hosts[host] for host in top)
    return _drawn(_Bars("Hosts with the most pages", labels, values, "pages", rows=True))


def _by_rank(stats: DatasetStats) -> bytes:
    ranks = sorted(stats.by_rank)
    shares = tuple(100 * stats.by_rank[rank][True] / stats.by_rank[rank].total() for rank in ranks)
    return _drawn(_Bars("Results kept, by rank", tuple(map(str, ranks)), shares, "rank", "% kept"))


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
