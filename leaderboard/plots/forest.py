"""The score of every system with its interval, in bands of tie groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from edu_rag.look.texts import signed
from leaderboard.plots.colours import light
from leaderboard.plots.panel import SIZE, KeyEntry, Margins, Mark, Panel, key_lines, paint_key
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Words, fit, of_all
from leaderboard.plots.plotted_systems import FIRST_COLUMNS, System, best_blind, few, too_few
from leaderboard.plots.scales import Scale, linear

MOST = 50
"""Systems that are drawn; the table has all."""
ROW = 22


def _interval(system: System) -> tuple[float, float] | None:
    return system.card.intervals.get("score")


def interval_words(interval: tuple[float, float] | None) -> str:
    """`[0.080, 0.228]`, or a dash if there is none."""
    return f"[{signed(interval[0])}, {signed(interval[1])}]" if interval else "–"


def _x_scale(systems: Sequence[System], most: int) -> Scale:
    ends = [end for system in systems for end in (system.score, *(_interval(system) or ()))]
    return linear([0.0, *ends], most)


def _entries(systems: Sequence[System]) -> list[KeyEntry]:
    entries = [KeyEntry("score and 95 % interval", Mark("o", "system"))]
    if best_blind(systems) is not None:
        entries += [
            KeyEntry("blind", Mark("D", "blind", size=7)),
            KeyEntry("the best blind score", line=":", tone="blind"),
        ]
    return [*entries, KeyEntry("a band: one tie group", Mark("s", "axis", size=9))]


def _drawing(drawn: Sequence[System]) -> Drawing:
    entries = _entries(drawn)

    def height(sheet: Sheet) -> float:
        return 18 * len(key_lines(entries, sheet.width - 8)) + ROW * len(drawn) + 72

    def paint(figure: Any, sheet: Sheet) -> None:
        left, right = (150.0, 16.0) if sheet.is_narrow else (300.0, 235.0)
        rows = Scale(len(drawn) - 0.5, -0.5, (), float)
        top = paint_key(figure, entries)
        panel = Panel(figure, Margins(left, top + 8, right, 46), _x_scale(drawn, 4 if sheet.is_narrow else 6), rows)
        panel.axes.spines["left"].set_visible(False)
        panel.axes.axvline(0, color=light("zero"), linewidth=1, zorder=1)
        blind = best_blind(drawn)
        if blind is not None:
            panel.axes.axvline(blind.score, color=light("blind"), linewidth=1.5, linestyle=":", zorder=1)
        _paint_bands(panel, drawn, sheet)
        for row, system in enumerate(drawn):
            _paint_row(panel, row, system, sheet)
        panel.text(panel.area.right, panel.area.bottom + 34, "score (better →)", tone="quiet", anchor="end")

    return Drawing(paint, height)


def _paint_bands(panel: Panel, drawn: Sequence[System], sheet: Sheet) -> None:
    from matplotlib.patches import Rectangle

    start = 0
    for turn, (rank, group) in enumerate(groupby(drawn, key=lambda system: system.rank)):
        size = len(list(group))
        (_, top), (_, bottom) = panel.at(0, start - 0.5), panel.at(0, start + size - 0.5)
        width, height = (float(side) for side in panel.figure.get_size_inches() * 72)
        if turn % 2 == 0:
            band = Rectangle((0, 1 - bottom / height), 1, (bottom - top) / height, color=light("band"), zorder=-1)
            panel.figure.add_artist(band)
        if not sheet.is_narrow:
            panel.text(width - 6, (top + bottom) / 2, f"rank {rank.text}", tone="quiet", anchor="end")
        start += size


def _paint_row(panel: Panel, row: int, system: System, sheet: Sheet) -> None:
    interval = _interval(system)
    if interval is not None:
        panel.line(list(interval), [row, row], "blind" if system.is_blind else "system", 2)
    blind = system.is_blind
    panel.mark(
        [system.score], [row], Mark("D" if blind else "o", "blind" if blind else "system", size=6 if blind else 7)
    )
    _, y = panel.at(0, row)
    panel.text(6, y, fit(system.mark, SIZE, panel.area.left - 18), tone="quiet" if blind else "ink")
    if not sheet.is_narrow:
        panel.text(
            panel.area.right + 14, y, f"{signed(system.score)} {interval_words(interval)}", tone="quiet", size=10
        )


def _stands_out(systems: Sequence[System], n_drawn: int) -> Words:
    first = systems[0]
    words: Words = (first.named, f" leads with {signed(first.score)} {interval_words(_interval(first))}")
    words += (
        ", alone in its tie group. " if first.rank.first == first.rank.last else f", on rank {first.rank.text}. ",
    )
    above = sum((interval := _interval(system)) is not None and interval[0] > 0 for system in systems)
    words += (of_all(above, len(systems), "scores", "score") + " above zero by the whole interval",)
    blind = best_blind(systems)
    if blind is not None and blind is not first:
        better = [s for s in systems if not s.is_blind and (interval := _interval(s)) and interval[0] > blind.score]
        words += (f"; {len(better)} above the best blind one, ", blind.named, f" ({signed(blind.score)})")
    drawn = f" {n_drawn} of them are drawn, the table has all." if n_drawn < len(systems) else ""
    return (*words, f".{drawn}")


def _row(system: System) -> tuple[Cell, ...]:
    low, high = _interval(system) or (None, None)
    return (
        *system.cells,
        Cell(signed(system.score), system.score),
        *(Cell("–" if end is None else signed(end), end) for end in (low, high)),
        Cell(system.rank.text, system.rank.first),
    )


def forest_plot(systems: Sequence[System]) -> Plot:
    """Scores and intervals, best first."""
    drawn = few(systems, MOST)
    empty = too_few(systems, "a score and was not withdrawn")
    return Plot(
        name="scores",
        title="Scores and their intervals",
        kind="interval plot",
        shows=(
            "Each row is a system: its score, and how far the score would move with other questions of the same kind. "
            "Systems in one band are a tie group: their order may be luck."
        ),
        stands_out=empty or _stands_out(systems, len(drawn)),
        columns=(*FIRST_COLUMNS, PlotColumn("Score"), PlotColumn("From"), PlotColumn("To"), PlotColumn("Rank")),
        rows=[_row(system) for system in systems],
        drawing=None if empty else _drawing(drawn),
    )
