"""Accuracy against hallucination, with lines of equal score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from edu_rag.look.texts import percent, signed
from leaderboard.plots.mark_labels import place
from leaderboard.plots.panel import SIZE, KeyEntry, Margins, Mark, Panel, key_lines, paint_key
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Words, of_all
from leaderboard.plots.plotted_systems import FIRST_COLUMNS, System, best_blind, mark_of, too_few, wanted
from leaderboard.plots.scales import Scale, linear, score_words

ISO_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5)
MOST_LINES = 7


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def scales_of(systems: Sequence[System], sheet: Sheet) -> tuple[Scale, Scale]:
    """The axes of hallucination and accuracy."""
    most = 4 if sheet.is_narrow else 7
    return (
        linear([*(s.card.counts.hallucination for s in systems)], most, _share),
        linear([*(s.card.counts.accuracy for s in systems)], most, _share, room=0.06),
    )


def iso_scores(x: Scale, y: Scale, most: int = MOST_LINES) -> list[float]:
    """The scores whose lines run through the picture: at most `most`, in even steps, through zero."""
    low, high = y.low - x.high, y.high - x.low
    step = next((step for step in ISO_STEPS if (high - low) / step <= most), ISO_STEPS[-1])
    first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
    return [place * step for place in range(first, last + 1)]


def iso_ends(x: Scale, y: Scale, score: float) -> tuple[float, float]:
    """The hallucination at which a line of equal score enters the picture, on the left or below, and leaves it."""
    return max(x.low, y.low - score), min(x.high, y.high - score)


def iso_words(score: float) -> str:
    """The name of a line of equal score."""
    return f"+{score_words(score)}" if score > 1e-9 else score_words(score)


def _paint_iso(panel: Panel, score: float) -> None:
    """One line of equal score, named where it leaves."""
    x, y = panel.x, panel.y
    start, end = iso_ends(x, y, score)
    tone = "zero" if abs(score) < 1e-9 else "axis"
    panel.line([start, end], [start + score, end + score], tone, 1, "-" if tone == "zero" else "--", 1.5)
    right, top = panel.at(end, end + score)
    leaves_above = end < x.high - 1e-9
    panel.text(
        right + (0 if leaves_above else 5),
        top - (9 if leaves_above else 0),
        iso_words(score),
        tone="quiet",
        anchor="middle" if leaves_above else "start",
        size=10,
    )


def _entries(systems: Sequence[System]) -> list[KeyEntry]:
    entries = [KeyEntry("system", Mark("o", "system", size=8.5))]
    if best_blind(systems) is not None:
        entries.append(KeyEntry("never looks at the pages (blind)", Mark("D", "blind", size=7)))
    return [
        *entries,
        KeyEntry("equal score", line="--", tone="zero"),
        KeyEntry("nothing missing", line=":", tone="front"),
    ]


def _drawing(systems: Sequence[System]) -> Drawing:
    entries = _entries(systems)
    margins = Margins(48, 0, 44, 50)

    def inner(sheet: Sheet) -> float:
        # The same pixels for a per cent on both axes, as far as the sheet allows: equal scores then rise evenly.
        x, y = scales_of(systems, sheet)
        even = (sheet.width - margins.left - margins.right) * (y.high - y.low) / (x.high - x.low)
        return min(max(even, 220), 300 if sheet.is_narrow else 480)

    def above(sheet: Sheet) -> float:
        return 10 + 18 * len(key_lines(entries, sheet.width - 8)) + 42

    def paint(figure: Any, sheet: Sheet) -> None:
        paint_key(figure, entries)
        panel = Panel(figure, margins._replace(top=above(sheet)), *scales_of(systems, sheet))
        panel.text(4, above(sheet) - 30, "accuracy (better ↑)", tone="quiet")
        panel.text(panel.area.right, panel.area.bottom + 36, "hallucination (better ←)", tone="quiet", anchor="end")
        panel.axes.grid(visible=False)
        for score in iso_scores(panel.x, panel.y):
            _paint_iso(panel, score)
        ends = (panel.x.low, panel.x.high)
        panel.line(ends, [1 - end for end in ends], "front", 1.5, ":", 1.6)
        places = [(s.card.counts.hallucination, s.card.counts.accuracy) for s in systems]
        for system, (across, up) in zip(systems, places, strict=True):
            panel.mark([across], [up], mark_of(system, len(systems), sheet))
        panel.labels(
            place(wanted(panel, systems, places, systems[:1], sheet), panel.area._replace(right=sheet.width - 2), SIZE)
        )

    return Drawing(paint, lambda sheet: above(sheet) + inner(sheet) + margins.bottom)


def _with_rates(system: System) -> Words:
    counts = system.card.counts
    return (
        system.named,
        f" ({percent(counts.accuracy)} % right, {percent(counts.hallucination)} % wrong, "
        f"{percent(counts.missing)} % missing)",
    )


def _stands_out(systems: Sequence[System]) -> Words:
    above = sum(system.score > 0 for system in systems)
    words: Words = (
        of_all(above, len(systems), "is", "are"),
        " right more often than wrong. The best score is that of ",
    )
    words += _with_rates(systems[0])
    most = max(systems, key=lambda system: (system.card.counts.accuracy, -system.number))
    if most is not systems[0]:
        words += ("; most often right is ", *_with_rates(most))
    return (*words, ".")


def _row(system: System) -> tuple[Cell, ...]:
    counts = system.card.counts
    rates = (counts.accuracy, counts.hallucination, counts.missing)
    return (*system.cells, Cell(signed(counts.score), counts.score), *(Cell(percent(rate), rate) for rate in rates))


def outcome_plot(systems: Sequence[System]) -> Plot:
    """The two rates that make the score."""
    empty = too_few(systems, "outcomes and was not withdrawn")
    return Plot(
        name="outcomes",
        title="Accuracy against hallucination",
        kind="scatter plot",
        shows=(
            "Each mark is a system: higher is more right answers, further left is fewer wrong ones. Along a dashed "
            "line the score is the same, as the number at its end says: what a system gains in right answers there, it "
            "loses in wrong ones. On the dotted line a system answers everything; the further below, the more it "
            "leaves out."
        ),
        stands_out=empty or _stands_out(systems),
        columns=(
            *FIRST_COLUMNS,
            PlotColumn("Score"),
            PlotColumn("Accuracy %"),
            PlotColumn("Hallucination %"),
            PlotColumn("Missing %"),
        ),
        rows=[_row(system) for system in systems],
        drawing=None if empty else _drawing(systems),
    )
