"""Bar charts: horizontal bars for names, vertical bars for ordered values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from leaderboard.plots.colours import light
from leaderboard.plots.panel import SIZE, Margins, Panel, text_at
from leaderboard.plots.plot import Drawing, Sheet
from leaderboard.plots.plot_sentences import fit, width_of
from leaderboard.plots.scales import Scale, amount_words, counted

ROW = 24
THICK = 15
"""Pixels from row to row, and of a bar."""
SMALL = 10


class Bar(NamedTuple):
    """A count, zero or more, with its name; `said` is written at the bar's end."""

    name: str
    value: float
    said: str
    tone: str = "bar"


def _paint_box(figure: Any, left: float, top: float, width: float, height: float, tone: str) -> None:
    """A box in pixels from the top left."""
    from matplotlib.patches import Rectangle

    across, up = (float(side) for side in figure.get_size_inches() * 72)
    corner = (left / across, 1 - (top + height) / up)
    figure.add_artist(Rectangle(corner, width / across, height / up, facecolor=light(tone), linewidth=0))


def lying(bars: Sequence[Bar], most: float | None = None) -> Drawing:
    """A row a bar, name on the left, what is said at its end; `most` is the value of the whole width."""
    top = most or max((bar.value for bar in bars), default=0) or 1

    def height(sheet: Sheet) -> float:
        return ROW * len(bars) + 8

    def paint(figure: Any, sheet: Sheet) -> None:
        names = max((width_of(bar.name, SIZE) for bar in bars), default=0) + 14
        left = min(names, 140.0 if sheet.is_narrow else 300.0)
        right = sheet.width - max((width_of(bar.said, SMALL) for bar in bars), default=0) - 14
        for row, bar in enumerate(bars):
            middle = 4 + ROW * (row + 0.5)
            # A hair at least, so that a few of many are still seen.
            end = left + max((right - left) * bar.value / top, 1.5 if bar.value else 0)
            text_at(figure, left - 8, middle, fit(bar.name, SIZE, left - 12), anchor="end")
            _paint_box(figure, left, middle - THICK / 2, end - left, THICK, bar.tone)
            text_at(figure, end + 6, middle, bar.said, tone="quiet", size=SMALL)

    return Drawing(paint, height)


def _every(bars: Sequence[Bar], each: float) -> int:
    """The step between vertical bars that have room for a name."""
    widest = max((width_of(bar.name, SMALL) for bar in bars), default=0) + 3
    return max(1, math.ceil(widest / each))


def standing(bars: Sequence[Bar], across: str, up: str) -> Drawing:
    """A column a bar, in an order that has a meaning; `across` and `up` name the axes."""

    def height(sheet: Sheet) -> float:
        return 220 if sheet.is_narrow else 260

    def paint(figure: Any, sheet: Sheet) -> None:
        y = counted(max((bar.value for bar in bars), default=0))
        panel = Panel(figure, Margins(44, 30, 8, 50), Scale(0, len(bars), (), float), y)
        panel.axes.grid(visible=False, axis="x")
        panel.names(across, up)
        each = (panel.area.right - panel.area.left) / max(len(bars), 1)
        steps = _every(bars, each)
        for place, bar in enumerate(bars):
            middle, top = panel.at(place + 0.5, bar.value)
            thick = min(each * 0.8, 48)
            _paint_box(figure, middle - thick / 2, top, thick, panel.area.bottom - top, bar.tone)
            if place % steps == 0:
                panel.text(middle, panel.area.bottom + 14, bar.name, tone="quiet", anchor="middle", size=SMALL)
            said = bar.said if width_of(bar.said, SMALL) < each else amount_words(bar.value)
            if bar.value and width_of(said, SMALL) < each + 2:
                panel.text(middle, top - 8, said, tone="quiet", anchor="middle", size=SMALL)

    return Drawing(paint, height)
