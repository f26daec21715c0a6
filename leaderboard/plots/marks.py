"""The marks of systems in a scatter plot, and which of them are named, numbered, or left to the table."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.plots.mark_labels import Text, Want
from leaderboard.plots.panel import SIZE, Mark, Panel
from leaderboard.plots.plot import Sheet
from leaderboard.plots.plot_sentences import fit
from leaderboard.plots.plotted_systems import System

LEADERS = 3
"""Systems that are always named, in addition to those that the plot is about."""


def _few(sheet: Sheet) -> int:
    """Systems up to which each is named where its name finds room, and numbered elsewhere."""
    return 10 if sheet.is_narrow else 24


def _numbered(sheet: Sheet) -> int:
    """The best systems of a crowd that get a number if it has room next to the mark."""
    return 12 if sheet.is_narrow else 60


def mark_of(system: System, n: int, sheet: Sheet, *, tone: str | None = None, is_filled: bool = True) -> Mark:
    """A circle, or a diamond for a system that never looks at the pages; smaller in a crowd."""
    size = 8.5 if n <= 2 * _few(sheet) else 5.5 if sheet.is_narrow else 7.0
    own = "blind" if system.is_blind else "system"
    return Mark("D" if system.is_blind else "o", tone or own, is_filled, size - 1.5 if system.is_blind else size)


def _names(system: System, sheet: Sheet, *, may_stray: bool) -> tuple[Text, ...]:
    widest = 130 if sheet.is_narrow else 250
    return tuple(Text(fit(system.mark, SIZE, width), may_stray) for width in (widest, widest * 0.6))


def wanted(
    panel: Panel,
    systems: Sequence[System],
    places: Sequence[tuple[float, float]],
    first: Sequence[System],
    sheet: Sheet,
) -> list[Want]:
    """A label for each mark, in order of weight: `first` and the leaders by name, wherever it finds room."""
    weighty = {system.number for system in (*first, *systems[:LEADERS])}
    are_few = len(systems) <= _few(sheet)
    found = []
    for place, (system, at) in enumerate(zip(systems, places, strict=True)):
        is_weighty = system.number in weighty
        names = _names(system, sheet, may_stray=is_weighty) if is_weighty or are_few else ()
        has_number = is_weighty or are_few or place < _numbered(sheet)
        number = (Text(str(system.number), may_stray=is_weighty or are_few),) if has_number else ()
        found.append((not is_weighty, Want(*panel.at(*at), (*names, *number))))
    return [want for _, want in sorted(found, key=lambda pair: pair[0])]
