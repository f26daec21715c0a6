"""Axes on a sheet: limits and ticks of our scales, texts at pixels from the top left, and the key of the marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from leaderboard.plots.colours import light
from leaderboard.plots.mark_labels import Area, Label
from leaderboard.plots.plot_sentences import width_of
from leaderboard.plots.scales import Scale

SIZE = 11
"""Pixels of a letter."""
LINE = 18
_ALIGN = {"start": "left", "middle": "center", "end": "right"}


Style = Literal["-", "--", ":"]


class Margins(NamedTuple):
    """Pixels around the axes."""

    left: float
    top: float
    right: float
    bottom: float


class Mark(NamedTuple):
    """The look of a mark: matplotlib's shape, a tone, and whether it is filled."""

    shape: str
    tone: str
    is_filled: bool = True
    size: float = 8


class KeyEntry(NamedTuple):
    """A line of the key: a mark or a dash pattern, and its words."""

    words: str
    mark: Mark | None = None
    line: Style | None = None
    tone: str = "quiet"


def text_at(
    figure: Any,
    x: float,
    y: float,
    words: str,
    *,
    tone: str = "ink",
    anchor: str = "start",
    size: float = SIZE,
    name: str | None = None,
) -> None:
    """Words with their middle line at y pixels from the top; `name` is the id of the text in the SVG."""
    width, height = figure.get_size_inches() * 72
    figure.text(
        x / width,
        1 - y / height,
        words,
        color=light(tone),
        ha=_ALIGN[anchor],
        va="center_baseline",
        fontsize=size,
        gid=name,
    )


def pixels(area: Area, x: Scale, y: Scale, right: float, up: float) -> tuple[float, float]:
    """The pixels of a place on two axes (already on their scales) that fill an area."""
    across, high = (right - x.low) / (x.high - x.low), (up - y.low) / (y.high - y.low)
    return area.left + across * (area.right - area.left), area.bottom - high * (area.bottom - area.top)


class Panel:
    """Axes in pixels of the sheet."""

    def __init__(self, figure: Any, margins: Margins, x: Scale, y: Scale) -> None:
        self.figure, self.x, self.y = figure, x, y
        width, height = (float(size) for size in figure.get_size_inches() * 72)
        self.area = Area(margins.left, margins.top, width - margins.right, height - margins.bottom)
        self.axes = figure.add_axes(
            (
                margins.left / width,
                margins.bottom / height,
                (self.area.right - self.area.left) / width,
                (self.area.bottom - self.area.top) / height,
            )
        )
        self.axes.set_xlim(x.low, x.high)
        self.axes.set_ylim(y.low, y.high)
        self.axes.set_xticks([at for at, _ in x.ticks], labels=[words for _, words in x.ticks])
        self.axes.set_yticks([at for at, _ in y.ticks], labels=[words for _, words in y.ticks])

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The pixels of a place on the axes (already on their scales)."""
        return pixels(self.area, self.x, self.y, x, y)

    def mark(self, xs: Sequence[float], ys: Sequence[float], mark: Mark) -> None:
        """Marks at places on the axes; whole even at the edge."""
        color = light(mark.tone)
        self.axes.plot(
            xs,
            ys,
            linestyle="none",
            marker=mark.shape,
            markersize=mark.size,
            markeredgecolor=color,
            markerfacecolor=color if mark.is_filled else light("paper"),
            markeredgewidth=1.5,
            clip_on=False,
            zorder=4,
        )

    def line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        tone: str,
        width: float = 1.5,
        style: Style = "-",
        order: float = 2,
    ) -> None:
        """A line through places on the axes."""
        self.axes.plot(xs, ys, linestyle=style, color=light(tone), linewidth=width, zorder=order)

    def text(self, x: float, y: float, words: str, *, tone: str = "ink", anchor: str = "start", **more: Any) -> None:
        """Words at pixels of the sheet."""
        text_at(self.figure, x, y, words, tone=tone, anchor=anchor, **more)

    def names(self, x: str, y: str) -> None:
        """The titles of the axes: the vertical one above its ticks, the horizontal one below them, each with its better
        end.
        """
        self.text(4, self.area.top - 15, y, tone="quiet")
        self.text(self.area.right, self.area.bottom + 36, x, tone="quiet", anchor="end")

    def labels(self, labels: Iterable[Label], size: float = SIZE) -> None:
        """Placed labels; a thin line joins a distant label to its mark."""
        for number, label in enumerate(labels):
            self.text(label.x, label.y, label.text, anchor=label.anchor, size=size, name=f"label{number}")
            if abs(label.y - label.of.y) > 1.5 * size:
                self._hair(label)

    def _hair(self, label: Label) -> None:
        width, height = self.figure.get_size_inches() * 72
        end = label.y + (8 if label.y < label.of.y else -8)
        start = label.of.y + (-7 if label.y < label.of.y else 7)
        xs, ys = (label.of.x / width, label.x / width), (1 - start / height, 1 - end / height)
        from matplotlib.lines import Line2D

        self.figure.add_artist(Line2D(xs, ys, color=light("zero"), linewidth=0.7))


def _entry_width(entry: KeyEntry) -> float:
    return 22 + width_of(entry.words, SIZE) + 16


def key_lines(entries: Sequence[KeyEntry], width: float) -> list[list[KeyEntry]]:
    """The key's entries in as many lines as the width needs."""
    lines: list[list[KeyEntry]] = [[]]
    left = width
    for entry in entries:
        if lines[-1] and _entry_width(entry) > left:
            lines.append([])
            left = width
        lines[-1].append(entry)
        left -= _entry_width(entry)
    return lines


def paint_key(figure: Any, entries: Sequence[KeyEntry], top: float = 10) -> float:
    """Draw the key from the top of the sheet; return the pixels that it takes."""
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches() * 72
    lines = key_lines(entries, float(width) - 8)
    for row, line in enumerate(lines):
        x, y = 4.0, top + LINE * row
        for entry in line:
            tone = light(entry.mark.tone if entry.mark else entry.tone)
            drawn = Line2D(
                [(x + (6 if entry.mark else 0)) / width, (x + (6 if entry.mark else 16)) / width],
                [1 - y / height] * 2,
                color=tone,
                linestyle=entry.line or "none",
                linewidth=1.5,
                marker=entry.mark.shape if entry.mark else "",
                markersize=entry.mark.size if entry.mark else 0,
                markeredgewidth=1.5,
                markevery=[0],
                markerfacecolor=tone if entry.mark and entry.mark.is_filled else light("paper"),
            )
            figure.add_artist(drawn)
            text_at(figure, x + 22, y, entry.words, tone="quiet")
            x += _entry_width(entry)
    return top + LINE * len(lines)
