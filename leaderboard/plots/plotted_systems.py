"""The systems of a table as plots show them: numbered, best score first; withdrawn ones stay on the board alone.

Also their marks in a scatter plot, and which of them are named, numbered, or left to the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edu_rag.look.texts import signed
from edu_rag.scorecard.card import ScoreCard
from leaderboard.board.present import Row, Table
from leaderboard.board.rank import BoardRank
from leaderboard.plots.mark_labels import Text, Want
from leaderboard.plots.panel import SIZE, Mark, Panel
from leaderboard.plots.plot import Cell, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Named, Words, fit, shown

FIRST_COLUMNS = (PlotColumn("No."), PlotColumn("System", is_number=False))
LEADERS = 3
"""Systems that are always named, in addition to those that the plot is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system of a table; `number` is what stands for it in a picture, `page` a path inside the site."""

    number: int
    name: str
    page: str
    card: ScoreCard
    rank: BoardRank

    @property
    def is_blind(self) -> bool:
        """Whether it never looks at the pages, as its team declares."""
        return self.card.system.blind

    @property
    def score(self) -> float:
        """Accuracy - hallucination."""
        return self.card.counts.score

    @property
    def named(self) -> Named:
        """Its name in a sentence."""
        return Named(self.name, self.page)

    @property
    def cells(self) -> tuple[Cell, Cell]:
        """The first cells of its row in a plot's table."""
        return Cell(str(self.number), self.number), Cell(self.named, self.name.casefold())

    @property
    def mark(self) -> str:
        """Its name in a picture: behind the number by which the table has it."""
        return f"{self.number} {self.name}"


def _system(number: int, row: Row) -> System:
    name = shown(row.name) or row.result.card.system.slug
    return System(number=number, name=name, page=row.page, card=row.result.card, rank=row.rank)


def systems_of(table: Table) -> list[System]:
    """The systems of a table that are not withdrawn, in its order."""
    kept = [row for row in table.rows if not row.withdrawn]
    return [_system(number, row) for number, row in enumerate(kept, 1)]


def best_blind(systems: Sequence[System]) -> System | None:
    """The best of those that never look at the pages: the floor that the others are held against."""
    return next((system for system in systems if system.is_blind), None)


def few(systems: Sequence[System], most: int) -> list[System]:
    """The best `most` systems, the last place for the best blind one if it is not among them."""
    kept, blind = list(systems[:most]), best_blind(systems)
    if blind is not None and blind not in kept:
        kept[-1] = blind
    return kept


def too_few(systems: Sequence[System], what: str) -> Words | None:
    """Why nothing is drawn, where fewer than two systems have `what`; None if there are enough."""
    if len(systems) > 1:
        return None
    if not systems:
        return (f"Nothing to draw: no system of this table has {what}.",)
    only = systems[0]
    return ("Nothing to compare: only ", only.named, f" has {what}; its score is {signed(only.score)}.")


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
