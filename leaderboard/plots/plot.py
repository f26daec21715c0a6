"""A plot: its sentences, its numbers, and how to draw it on sheets of two widths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from edu_rag.look.matplotlib_svg import SETTINGS, in_the_dark, svg_of
from leaderboard.plots.colours import TONES
from leaderboard.plots.plot_sentences import Named, Words

_SETTINGS: Mapping[str, Any] = {
    **SETTINGS,
    "font.size": 11,
    "font.sans-serif": ["DejaVu Sans"],
    "figure.facecolor": TONES["paper"].light,
    "axes.facecolor": "none",
    "axes.edgecolor": TONES["axis"].light,
    "axes.linewidth": 1,
    "grid.color": TONES["grid"].light,
    "grid.linewidth": 1,
    "text.color": TONES["ink"].light,
    "axes.labelcolor": TONES["quiet"].light,
    "xtick.labelcolor": TONES["quiet"].light,
    "ytick.labelcolor": TONES["quiet"].light,
    "xtick.color": TONES["axis"].light,
    "ytick.color": TONES["axis"].light,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.major.pad": 9,
    "ytick.major.pad": 6,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
}
# The letters of the pages; matplotlib would name the font that it measures by.
_LETTERS = (
    'text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif '
    "!important}"
)
# What runs behind a mark's name stops short of its letters.
_HALO = '[id^="label"] text{{paint-order:stroke;stroke:{};stroke-width:4px;stroke-linejoin:round}}'


class Sheet(NamedTuple):
    """How wide a picture is, in pixels, and what its files are called after."""

    width: int
    suffix: str

    @property
    def is_narrow(self) -> bool:
        """Whether it is for a phone."""
        return self.width < 500


WIDE, NARROW = Sheet(800, ""), Sheet(360, "-narrow")


class PlotColumn(NamedTuple):
    """A column of a plot's table."""

    words: str
    is_number: bool = True


class Cell(NamedTuple):
    """A cell of a plot's table: what is read, and the value that it is sorted by, None if there is none."""

    text: str | Named
    value: float | str | None = None


class Drawing(NamedTuple):
    """How to draw: on a figure that has the size of the sheet and the height (pixels) which the sheet asks for."""

    paint: Callable[[Any, Sheet], None]
    height: Callable[[Sheet], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot of a table. `drawing` is None if there is nothing to draw; `stands_out` then says why.

    `name` names its files and its place on the page; `kind` says in two or three words what sort of picture it is.
    """

    name: str
    title: str
    kind: str
    shows: str
    stands_out: Words
    columns: Sequence[PlotColumn] = ()
    rows: Sequence[Sequence[Cell]] = ()
    drawing: Drawing | None = None

    def svg(self, sheet: Sheet, title: str) -> bytes:
        """The picture on one sheet, with a title for readers who open only the file. Raises ValueError without one."""
        drawing = self.drawing
        if drawing is None:
            raise ValueError(f"{self.name} has nothing to draw")
        inches = (sheet.width / 72, drawing.height(sheet) / 72)
        picture = svg_of(lambda figure: drawing.paint(figure, sheet), inches, settings=_SETTINGS, title=title)
        return in_the_dark(
            picture, TONES.values(), _LETTERS + _HALO.format(TONES["paper"].light), _HALO.format(TONES["paper"].dark)
        )
