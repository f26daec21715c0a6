"""The picture of a front page: accuracy against hallucination with lines of equal score, as numbers for inline SVG.

Inline, and not drawn by matplotlib like the other plots: it has the page's typeface and colours, in both themes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edu_rag.look.texts import delta
from leaderboard.board.short_names import ShortName, short_names
from leaderboard.board.system_kinds import RoleName, role_of
from leaderboard.plots.mark_labels import Area, Box, Label, Text, Want, place
from leaderboard.plots.outcome_plot import iso_ends, iso_scores, iso_words, scales_of
from leaderboard.plots.panel import pixels
from leaderboard.plots.plot import Sheet
from leaderboard.plots.plot_sentences import fit, width_of
from leaderboard.plots.plotted_systems import System
from leaderboard.plots.scales import Scale

WIDE, NARROW = Sheet(560, "wide"), Sheet(350, "narrow")
MOST = 150
"""Systems that are drawn, the best ones; the full table has all."""
SIZE, SMALL = 12.5, 11.0
RADIUS = 8
MOST_LINES = 10
SHORTEST = 0.05
"""Of the picture's width; a shorter line of equal score cuts a corner and is left out."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 44, 24, 46, 46
_WIDTHS = (280, 190)
"""Pixels that a name may take: if the longer form finds no free place, the shorter one is tried."""
_TICK_GAP, _TITLE = 10, 16
"""Pixels between a number of the upright axis and the axis, and those that its title takes at the left edge."""


class IsoLine(NamedTuple):
    """A line of equal score with its name where it leaves the picture."""

    ends: tuple[float, float, float, float]
    words: str
    at: tuple[float, float]
    anchor: str
    is_zero: bool


class DrawnSystem(NamedTuple):
    """A mark at a place in pixels; `title` is what a pointer reads on it."""

    x: float
    y: float
    role: RoleName
    is_best: bool
    title: str


class FrontLabel(NamedTuple):
    """A name next to a mark; `is_blind` where it is a mark of reference."""

    label: Label
    is_blind: bool


class FrontPicture(NamedTuple):
    """Everything that the template writes down; ticks are places in pixels with their words."""

    sheet: Sheet
    height: float
    area: Area
    lines: Sequence[IsoLine]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    marks: Sequence[DrawnSystem]
    labels: Sequence[FrontLabel]
    n_left_out: int


def _iso(x: Scale, y: Scale, area: Area) -> Iterator[IsoLine]:
    for score in iso_scores(x, y, MOST_LINES):
        start, end = iso_ends(x, y, score)
        if end - start < SHORTEST * (x.high - x.low):
            continue
        left, right = (pixels(area, x, y, across, across + score) for across in (start, end))
        is_above = end < x.high - 1e-9
        at = (right[0], right[1] - 7) if is_above else (right[0] + 6, right[1] + 4)
        words = "score 0" if abs(score) < 1e-9 else iso_words(score)
        yield IsoLine((*left, *right), words, at, "middle" if is_above else "start", abs(score) < 1e-9)


def _box(line: IsoLine) -> Box:
    width, (x, y) = width_of(line.words, SMALL), line.at
    left = x - (width / 2 if line.anchor == "middle" else 0)
    return left, y - SMALL, left + width, y + 2


def _tick_box(area: Area, at: float, words: str) -> Box:
    right = area.left - _TICK_GAP
    return right - width_of(words, SMALL), at - SMALL / 2, right, at + SMALL / 2


def _forms(name: ShortName, role: RoleName) -> Iterator[str]:
    """The forms of a name, the preferred one first: with the model's size where it has one, then without, then cut."""
    size = f" · {name.size}" if name.size and role != "blind" else ""
    for width in _WIDTHS:
        yield fit(name.text, SIZE, width - width_of(size, SIZE)) + size
        yield fit(name.text, SIZE, width)


def _texts(names: Sequence[ShortName], roles: Sequence[RoleName]) -> list[tuple[Text, ...]]:
    """The names that may be next to each mark, and nowhere else: the picture joins no name to its mark by a line.

    A form that two systems share is left out.
    """
    forms = [tuple(dict.fromkeys(_forms(name, role))) for name, role in zip(names, roles, strict=True)]
    times = Counter(form for of_one in forms for form in of_one)
    return [tuple(Text(form, may_stray=False) for form in of_one if times[form] == 1) for of_one in forms]


def _weight(system: System) -> int:
    """Names of readers find room first, then those of models without pages; blind ones are marks of reference."""
    return {"reads": 0, "alone": 1, "blind": 2}[role_of(system.card)]


def front_picture(systems: Sequence[System], sheet: Sheet) -> FrontPicture:
    """The picture of the best systems of a table, at least two, on one sheet."""
    shown = systems[:MOST]
    x, y = scales_of(shown, sheet)
    inner = sheet.width - _LEFT - _RIGHT
    # The same pixels for a per cent on both axes, as far as the sheet allows: equal scores then rise evenly.
    high = min(max(inner * (y.high - y.low) / (x.high - x.low), 0.6 * inner), inner)
    area = Area(_LEFT, _TOP, _LEFT + inner, _TOP + high)
    names = short_names([system.card.system for system in shown])
    places = [pixels(area, x, y, s.card.counts.hallucination, s.card.counts.accuracy) for s in shown]
    best = next((at for at, system in enumerate(shown) if not system.is_blind), 0)
    texts = _texts(names, [role_of(system.card) for system in shown])
    both = sorted(zip(shown, texts, places, strict=True), key=lambda one: _weight(one[0]))
    wants = [Want(*at, forms) for _, forms, at in both]
    lines = list(_iso(x, y, area))
    blind = {want.texts for want, (system, _, _) in zip(wants, both, strict=True) if system.is_blind}
    room = area._replace(right=sheet.width - 2, left=_TITLE)
    y_ticks = [(pixels(area, x, y, x.low, at)[1], words.replace(" %", "")) for at, words in y.ticks]
    taken = [*(_box(line) for line in lines), *(_tick_box(area, at, words) for at, words in y_ticks)]
    return FrontPicture(
        sheet=sheet,
        height=area.bottom + _BOTTOM,
        area=area,
        lines=lines,
        x_ticks=[(pixels(area, x, y, at, y.low)[0], words.replace(" %", "")) for at, words in x.ticks],
        y_ticks=y_ticks,
        marks=[
            DrawnSystem(*at, role_of(system.card), number == best, f"{name.label}: {delta(system.score, 2)}")
            for number, (system, name, at) in enumerate(zip(shown, names, places, strict=True))
        ],
        labels=[FrontLabel(label, label.of.texts in blind) for label in place(wants, room, SIZE, taken, RADIUS)],
        n_left_out=len(systems) - len(shown),
    )
