"""Scores by slice: a heat map of systems and the few-valued attributes of the questions."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from edu_rag.look.texts import signed
from edu_rag.scorecard.card import Counts
from leaderboard.board.present import FEW_VALUES
from leaderboard.plots.colours import light
from leaderboard.plots.panel import SIZE, text_at
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Words, fit, shown, width_of
from leaderboard.plots.plotted_systems import FIRST_COLUMNS, System, few, too_few
from leaderboard.plots.scales import score_words

MIN_N = 10
"""Questions below which a slice is in the table only: its score says little."""
MOST_SYSTEMS, MOST_SLICES = 30, 14
MAX_COLUMNS = 40
"""Slices of the table: a scorecard may hold any number of them."""
LEVELS = (-0.6, -0.4, -0.2, -0.05, 0.05, 0.2, 0.4, 0.6)
"""Where one colour of the cells ends and the next begins."""
ROW = 22
HEAD = 140
"""Pixels of a value turned upright."""


class SlicePart(NamedTuple):
    """A value of an attribute, and each system's counts there by the system's number."""

    attribute: str
    value: str
    n: int
    counts: Mapping[int, Counts]

    @property
    def words(self) -> str:
        """The value that its questions share."""
        return f"{_plain(self.attribute)}: {_plain(self.value)}"


def _plain(name: str) -> str:
    return shown(name).replace("_", " ")


def parts_of(systems: Sequence[System]) -> list[SlicePart]:
    """The slices by attribute, values in the scorecards' order; those that hold all questions say nothing new."""
    found: dict[tuple[str, str], dict[int, Counts]] = {}
    for system in systems:
        for part in system.card.slices:
            if part.counts.n:
                found.setdefault((part.attribute, part.value), {})[system.number] = part.counts
    sizes = Counter(attribute for attribute, _ in found)
    n_all = systems[0].card.counts.n if systems else 0
    parts = [
        SlicePart(attribute, value, max(counts.n for counts in held.values()), held)
        for (attribute, value), held in found.items()
        if sizes[attribute] <= FEW_VALUES and 2 * len(held) > len(systems)
    ]
    order = {part.attribute: place for place, part in enumerate(reversed(parts))}
    return sorted((part for part in parts if part.n < n_all), key=lambda part: -order[part.attribute])[:MAX_COLUMNS]


def level(score: float) -> str:
    """The colour of a cell."""
    return f"cell{bisect_right(LEVELS, score) - len(LEVELS) // 2}"


def _cell_words(score: float, sheet: Sheet) -> str:
    text = f"{score:.2f}".replace("-", "−") if abs(score) >= 0.005 else "0"
    return text.replace("0.", ".") if sheet.is_narrow else text


class _Grid(NamedTuple):
    """The positions of rows and columns, in pixels."""

    sheet: Sheet
    left: float
    top: float
    cell: float

    def column(self, place: int) -> float:
        return self.left + place * self.cell


def _grid(parts: Sequence[SlicePart], sheet: Sheet) -> _Grid:
    left = 118.0 if sheet.is_narrow else 250.0
    longest = max((width_of(words, SIZE) for words in _heads(parts, sheet)), default=0)
    return _Grid(
        sheet,
        left,
        (10 if sheet.is_narrow else 44) + min(longest, HEAD) + 34,
        min((sheet.width - left - 6) / (len(parts) + 1), 64),
    )


def _kept(parts: Sequence[SlicePart], sheet: Sheet) -> list[SlicePart]:
    most = 7 if sheet.is_narrow else MOST_SLICES
    big = sorted((part for part in parts if part.n >= MIN_N), key=lambda part: -part.n)[:most]
    return [part for part in parts if part in big]


def _heads(parts: Sequence[SlicePart], sheet: Sheet) -> list[str]:
    """The headings of the columns: on a narrow sheet, which has no room for attributes above, with these."""
    return [part.words if sheet.is_narrow else _plain(part.value) for part in parts]


def _paint_attributes(figure: Any, grid: _Grid, parts: Sequence[SlicePart]) -> None:
    from matplotlib.lines import Line2D

    width, height = (float(side) for side in figure.get_size_inches() * 72)
    place = 1
    for attribute, group in groupby(parts, key=lambda part: part.attribute):
        size = len(list(group))
        words = fit(_plain(attribute), SIZE, size * grid.cell - 4)
        text_at(figure, grid.column(place) + 3, 18, words, tone="quiet")
        ends = [(grid.column(place) + 2) / width, (grid.column(place + size) - 3) / width]
        figure.add_artist(Line2D(ends, [1 - 29 / height] * 2, color=light("axis"), linewidth=1))
        place += size


def _paint_head(figure: Any, grid: _Grid, parts: Sequence[SlicePart]) -> None:
    """Attributes, and under them the values turned upright."""
    if not grid.sheet.is_narrow:
        _paint_attributes(figure, grid, parts)
    width, height = (float(side) for side in figure.get_size_inches() * 72)
    for place, words in enumerate(["all", *_heads(parts, grid.sheet)]):
        figure.text(
            (grid.column(place) + grid.cell / 2) / width,
            1 - (grid.top - 30) / height,
            fit(words, SIZE, HEAD),
            rotation=90,
            rotation_mode="anchor",
            ha="left",
            va="center_baseline",
            color=light("ink"),
            fontsize=SIZE,
        )


def _paint_n(figure: Any, grid: _Grid, sizes: Sequence[int]) -> None:
    text_at(figure, grid.left - 8, grid.top - 14, "n", tone="quiet", anchor="end", size=10)
    for place, n in enumerate(sizes):
        text_at(
            figure,
            grid.column(place) + grid.cell / 2,
            grid.top - 14,
            f"{n:,}" if n < 10_000 else f"{n // 1000}k",
            tone="quiet",
            anchor="middle",
            size=10 if not grid.sheet.is_narrow else 8.5,
        )


def _paint_cell(figure: Any, grid: _Grid, row: int, place: int, counts: Counts | None) -> None:
    from matplotlib.patches import Rectangle

    width, height = (float(side) for side in figure.get_size_inches() * 72)
    x, y = grid.column(place), grid.top + row * ROW
    if counts is None:
        text_at(figure, x + grid.cell / 2, y + ROW / 2, "–", tone="quiet", anchor="middle")
        return
    box = Rectangle((x / width, 1 - (y + ROW - 1) / height), (grid.cell - 1) / width, (ROW - 1) / height)
    box.set(facecolor=light(level(counts.score)), linewidth=0)
    figure.add_artist(box)
    text_at(
        figure,
        x + grid.cell / 2,
        y + ROW / 2,
        _cell_words(counts.score, grid.sheet),
        anchor="middle",
        size=9 if grid.sheet.is_narrow else 10.5,
    )


def _paint_levels(figure: Any, y: float, sheet: Sheet) -> None:
    """The key: the nine colours with the scores between them."""
    from matplotlib.patches import Rectangle

    width, height = (float(side) for side in figure.get_size_inches() * 72)
    each = min(64.0, (sheet.width - 60) / 9)
    text_at(figure, 6, y, "score", tone="quiet", size=10)
    for place in range(9):
        box = Rectangle(((46 + place * each) / width, 1 - (y + 6) / height), each / width, 12 / height)
        box.set(facecolor=light(f"cell{place - 4}"), linewidth=0)
        figure.add_artist(box)
    for place, edge in enumerate(LEVELS, 1):
        words = score_words(edge).replace("0.", ".") if sheet.is_narrow else score_words(edge)
        text_at(
            figure, 46 + place * each, y + 15, words, tone="quiet", size=9 if sheet.is_narrow else 10, anchor="middle"
        )


def _drawing(systems: Sequence[System], parts: Sequence[SlicePart]) -> Drawing:
    def height(sheet: Sheet) -> float:
        return _grid(_kept(parts, sheet), sheet).top + ROW * len(systems) + 44

    def paint(figure: Any, sheet: Sheet) -> None:
        kept = _kept(parts, sheet)
        grid = _grid(kept, sheet)
        _paint_head(figure, grid, kept)
        _paint_n(figure, grid, [systems[0].card.counts.n, *(part.n for part in kept)])
        for row, system in enumerate(systems):
            tone = "quiet" if system.is_blind else "ink"
            words = fit(system.mark, SIZE, grid.left - 14)
            text_at(figure, 6, grid.top + row * ROW + ROW / 2, words, tone=tone)
            for place, counts in enumerate([system.card.counts, *(part.counts.get(system.number) for part in kept)]):
                _paint_cell(figure, grid, row, place, counts)
        _paint_levels(figure, grid.top + ROW * len(systems) + 18, sheet)

    return Drawing(paint, height)


def _stands_out(systems: Sequence[System], parts: Sequence[SlicePart], n_drawn: int) -> Words:
    big = [part for part in parts if part.n >= MIN_N]
    seeing = [system for system in systems if not system.is_blind] or list(systems)
    means = [(_mean(part, seeing), part) for part in big]
    (worst, hardest), (best, easiest) = (pick(means, key=lambda pair: pair[0]) for pick in (min, max))
    who = "the systems that look at pages" if any(system.is_blind for system in systems) else "the systems"
    words: Words = (
        f"On average {who} do worst on {hardest.words} ({signed(worst)}, {hardest.n:,} questions) and best on "
        f"{easiest.words} ({signed(best)}, {easiest.n:,}). ",
    )
    first = systems[0]
    own = [part for part in big if first.number in part.counts]
    if own:
        low, high = (pick(own, key=lambda part: part.counts[first.number].score) for pick in (min, max))
        least, most = (signed(part.counts[first.number].score) for part in (low, high))
        runs = f"runs from {least} ({low.words}) to {most} ({high.words})" if least != most else f"has {least} on each"
        words += (first.named, f", which leads, {runs}. ")
    return (*words, f"{n_drawn} of {len(systems)} systems are drawn.") if n_drawn < len(systems) else words


def _mean(part: SlicePart, systems: Sequence[System]) -> float:
    scores = [part.counts[system.number].score for system in systems if system.number in part.counts]
    return sum(scores) / len(scores) if scores else 0.0


def _row(system: System, parts: Sequence[SlicePart]) -> tuple[Cell, ...]:
    held = [part.counts.get(system.number) for part in parts]
    scores = (None if counts is None else counts.score for counts in (system.card.counts, *held))
    return (*system.cells, *(Cell("–" if score is None else signed(score), score) for score in scores))


def slice_plot(systems: Sequence[System]) -> Plot:
    """The scores of each system by slice."""
    parts = parts_of(systems)
    big = any(part.n >= MIN_N for part in parts)
    empty = too_few(systems, "slices and was not withdrawn")
    if empty is None and not big:
        empty = (f"Nothing to draw: no part of these questions that scorecards tell of has {MIN_N} of them or more.",)
    drawn = few(systems, MOST_SYSTEMS)
    n_all = systems[0].card.counts.n if systems else 0
    return Plot(
        name="slices",
        title="Scores by slice",
        kind="heat map",
        shows=(
            "Each row is a system, each column the questions that share a property; n says how many. Blue is a score "
            "above zero, orange below, the stronger the further. Slices overlap, and small ones swing by luck: "
            f"those under {MIN_N} questions are in the table only."
        ),
        stands_out=empty or _stands_out(systems, parts, len(drawn)),
        columns=(
            *FIRST_COLUMNS,
            PlotColumn(f"All ({n_all:,})"),
            *(PlotColumn(f"{part.words} ({part.n:,})") for part in parts),
        ),
        rows=[_row(system, parts) for system in systems],
        drawing=None if empty else _drawing(drawn, parts),
    )
