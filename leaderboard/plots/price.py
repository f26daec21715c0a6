"""Score against what an answer costs: seconds, US dollars, tokens; with the Pareto front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from edu_rag.look.texts import signed
from leaderboard.board.answer_cost import latency_of, mean_of
from leaderboard.plots.colours import light
from leaderboard.plots.mark_labels import Box, place
from leaderboard.plots.panel import SIZE, KeyEntry, Margins, Mark, Panel, key_lines, paint_key
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Words, and_so_on, of_all
from leaderboard.plots.plotted_systems import FIRST_COLUMNS, System, best_blind, mark_of, too_few, wanted
from leaderboard.plots.scales import amount_words, dollars_words, linear, logarithmic, seconds_words


class Spot(NamedTuple):
    """A system with what it costs, in the unit of the plot; `is_measured` says whether the harness saw that itself."""

    system: System
    cost: float
    is_measured: bool = False


def front_of(spots: Sequence[Spot]) -> list[Spot]:
    """The spots that no other equals or beats in both, cheapest first; of equal ones the first."""
    front: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.cost, -spot.system.score, spot.system.number)):
        if not front or spot.system.score > front[-1].system.score:
            front.append(spot)
    return front


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One thing that an answer may cost: how it is said, from which value on it counts, and where it is found."""

    name: str
    title: str
    axis: str
    what: str
    cheap: str
    column: str
    floor: float
    words: Callable[[float], str]
    of: Callable[[Mapping[str, Any]], tuple[float | None, bool]]


def _dollars(cost: Mapping[str, Any]) -> tuple[float | None, bool]:
    return mean_of(cost, "cost_usd"), False


def _tokens(cost: Mapping[str, Any]) -> tuple[float | None, bool]:
    known = [value for name in ("input_tokens", "output_tokens") if (value := mean_of(cost, name)) is not None]
    return (sum(known), False) if known else (None, False)


PRICES = (
    Price(
        name="time",
        title="Score against time",
        axis="median seconds a question (faster ←)",
        what="a time",
        cheap="fastest",
        column="Median seconds",
        floor=1e-6,
        words=seconds_words,
        of=latency_of,
    ),
    Price(
        name="dollars",
        title="Score against cost",
        axis="US dollars a question (cheaper ←)",
        what="a price in US dollars",
        cheap="cheapest",
        column="US dollars a question",
        floor=1e-6,
        words=dollars_words,
        of=_dollars,
    ),
    Price(
        name="tokens",
        title="Score against tokens",
        axis="tokens read and written a question (fewer ←)",
        what="a number of tokens",
        cheap="most sparing",
        column="Tokens a question",
        floor=1,
        words=amount_words,
        of=_tokens,
    ),
)


def spots_of(systems: Sequence[System], price: Price) -> list[Spot]:
    """The systems of which the price is known."""
    found = ((system, *price.of(system.card.cost)) for system in systems)
    return [Spot(system, cost, measured) for system, cost, measured in found if cost is not None]


def _entries(spots: Sequence[Spot], has_measured: bool) -> list[KeyEntry]:
    entries = [KeyEntry("on the front", Mark("o", "front")), KeyEntry("system", Mark("o", "system", size=8.5))]
    if any(spot.system.is_blind for spot in spots):
        entries.append(KeyEntry("never looks at the pages (blind)", Mark("D", "blind", size=7)))
    if has_measured and not all(spot.is_measured for spot in spots):
        entries.append(KeyEntry("hollow: time declared, not measured", Mark("o", "system", is_filled=False)))
    return entries


def _drawing(spots: Sequence[Spot], price: Price) -> Drawing:
    has_measured = any(spot.is_measured for spot in spots)
    entries = _entries(spots, has_measured)
    front = front_of(spots)

    def height(sheet: Sheet) -> float:
        return (300 if sheet.is_narrow else 400) + 18 * len(key_lines(entries, sheet.width - 8))

    def paint(figure: Any, sheet: Sheet) -> None:
        x = logarithmic([spot.cost for spot in spots], price.words, price.floor, 4 if sheet.is_narrow else 7)
        y = linear([0.0, *(spot.system.score for spot in spots)], 6 if sheet.is_narrow else 8, room=0.08)
        top = paint_key(figure, entries)
        panel = Panel(figure, Margins(44, top + 24, 16, 50), x, y)
        panel.names(price.axis, "score (better ↑)")
        panel.axes.axhline(0, color=light("zero"), linewidth=1, zorder=1)
        lines = _paint_front(panel, front)
        places = [(x.place(spot.cost), spot.system.score) for spot in spots]
        for spot, (across, up) in zip(spots, places, strict=True):
            tone = "front" if spot in front else None
            is_filled = spot.is_measured or not has_measured
            panel.mark([across], [up], mark_of(spot.system, len(spots), sheet, tone=tone, is_filled=is_filled))
        ahead = [spot.system for spot in reversed(front)]
        wants = wanted(panel, [spot.system for spot in spots], places, ahead, sheet)
        area = panel.area._replace(left=panel.area.left + 2, right=sheet.width - 2, bottom=panel.area.bottom - 2)
        panel.labels(place(wants, area, SIZE, lines))

    return Drawing(paint, height)


def _paint_front(panel: Panel, front: Sequence[Spot]) -> list[Box]:
    """A staircase: between two points of the front, the next score is not reached yet. Return where it runs."""
    xs = [panel.x.place(spot.cost) for spot in front] + [panel.x.high]
    ys = [spot.system.score for spot in front] + [front[-1].system.score]
    panel.axes.step(xs, ys, where="post", color=light("front"), linewidth=1.5, zorder=2)
    flat = [(*panel.at(x, y), *panel.at(after, y)) for x, after, y in zip(xs, xs[1:], ys, strict=False)]
    upright = [(*panel.at(x, y), *panel.at(x, before)) for x, y, before in zip(xs[1:], ys[1:], ys, strict=False)]
    return [(left - 2, top - 2, right + 2, bottom + 2) for left, top, right, bottom in (*flat, *upright)]


def _said(spot: Spot, price: Price) -> Words:
    return (spot.system.named, f" ({price.words(spot.cost)}, {signed(spot.system.score)})")


def _stands_out(systems: Sequence[System], spots: Sequence[Spot], price: Price) -> Words:
    front = front_of(spots)
    if len(front) == 1:
        words: Words = (
            *_said(front[0], price),
            f" is both the {price.cheap} and the best: nobody else is on the front.",
        )
    else:
        middle = f"The front, from the {price.cheap} to the best: "
        shown = front if len(front) <= 5 else [*front[:2], *front[-2:]]
        left = f"; between them {len(front) - 4} more" if len(front) > 5 else ""
        words = (middle, *and_so_on([_said(spot, price) for spot in shown], 5), f"{left}.")
    silent = len(systems) - len(spots)
    what = price.what.split(" ", 1)[1]
    said = of_all(silent, len(systems), f"has no {what} on record", f"have no {what} on record")
    return (*words, f" {said}.") if silent else words


def _rows(spots: Sequence[Spot], price: Price) -> list[tuple[Cell, ...]]:
    front = front_of(spots)
    return [
        (
            *spot.system.cells,
            Cell(signed(spot.system.score), spot.system.score),
            Cell(price.words(spot.cost), spot.cost),
            Cell("measured" if spot.is_measured else "declared"),
            Cell("yes" if spot in front else "no"),
        )
        for spot in spots
    ]


def price_plot(systems: Sequence[System], price: Price) -> Plot:
    """Score against one price, for the systems of which it is known."""
    spots = spots_of(systems, price)
    empty = too_few([spot.system for spot in spots], f"{price.what} on record")
    floor = best_blind([spot.system for spot in spots])
    return Plot(
        name=price.name,
        title=price.title,
        kind="scatter plot",
        shows=(
            "Each mark is a system: further left costs less, higher is better. Each step of the lower axis is a "
            "multiple of the one before. The stepped line joins the Pareto front: the systems that no other beats in "
            "both." + (" Diamonds never look at the pages." if floor else "")
        ),
        stands_out=empty or _stands_out(systems, spots, price),
        columns=(
            *FIRST_COLUMNS,
            PlotColumn("Score"),
            PlotColumn(price.column),
            PlotColumn("By", is_number=False),
            PlotColumn("On the front", is_number=False),
        ),
        rows=_rows(spots, price),
        drawing=None if empty else _drawing(spots, price),
    )
