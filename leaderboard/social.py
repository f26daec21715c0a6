"""The picture that chats and social networks show with a link to the site: the best rows of one table."""

from __future__ import annotations

import io
import unicodedata
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from edu_rag.look.matplotlib_svg import SETTINGS, can_draw
from edu_rag.look.texts import clip, date, one_line, signed
from leaderboard.board.present import Board, Row, Table
from leaderboard.edition import Edition
from leaderboard.plots.colours import light

PICTURE = "social.png"
WIDTH, HEIGHT = 1200, 630
"""Pixels: what Open Graph's readers crop the least."""
N_ROWS = 6
MAX_NAME = 60
MISSING_SHARE = 0.3
"""Of the letters of a name; where the font lacks more, the slug says more than boxes do."""
_BOX = "\N{WHITE SQUARE}"
_LEFT, _NAME, _SCORE, _AXIS, _RIGHT = 60, 170, 790, 830, 1140
_FIRST, _STEP = 245, 54


def social_address(edition: Edition) -> str | None:
    """The picture's address, which must be absolute; None if the address of the site was not given."""
    return edition.base_url + PICTURE if edition.base_url and can_draw() else None


@cache
def _fonts() -> tuple[Any, Any, frozenset[int]]:
    """The letters that come with matplotlib, plain and bold, and those that they have: no font of the machine's."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties
    from matplotlib.ft2font import FT2Font

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    plain, bold = folder / "DejaVuSans.ttf", folder / "DejaVuSans-Bold.ttf"
    return FontProperties(fname=plain), FontProperties(fname=bold), frozenset(FT2Font(str(plain)).get_charmap())


def shown_name(row: Row) -> str:
    """A declared name in letters that the font has; the slug where too few of them are left."""
    known = _fonts()[2]
    letters = unicodedata.normalize("NFC", one_line(clip(row.name, MAX_NAME)))
    kept = [letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Me", "Cf")]
    shown = "".join(letter if ord(letter) in known else _BOX for letter in kept).strip()
    if not shown or shown.count(_BOX) > MISSING_SHARE * len(shown):
        return row.result.card.system.slug
    return shown


class _Sheet:
    """A figure with pixels as its units, from the upper left corner."""

    def __init__(self, figure: Any) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas: Any = FigureCanvasAgg(figure)
        self._renderer = canvas.get_renderer()
        self._axes = figure.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        self._axes.axis("off")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        *,
        tone: str = "ink",
        bold: bool = False,
        width: float = WIDTH,
        right: bool = False,
    ) -> None:
        """One line of text, its base line at y, cut to a width in pixels."""
        plain, heavy, _ = _fonts()
        font = (heavy if bold else plain).copy()
        font.set_size(size * 0.72)  # points, at 100 dots an inch
        drawn = self._axes.text(x, y, text, fontproperties=font, color=light(tone), ha="right" if right else "left")
        while len(text) > 1 and drawn.get_window_extent(self._renderer).width > width:
            text = text[: min(len(text) - 1, 40)]
            drawn.set_text(text.rstrip() + "…")

    def bar(self, x: float, y: float, width: float, height: float, tone: str) -> None:
        """A filled rectangle from its upper left corner."""
        from matplotlib.patches import Rectangle

        self._axes.add_patch(Rectangle((x, y), width, height, facecolor=light(tone), linewidth=0))


def _at(score: float) -> float:
    return _AXIS + (score + 1) / 2 * (_RIGHT - _AXIS)


def _row(sheet: _Sheet, row: Row, y: float) -> None:
    blind = row.result.card.system.blind
    sheet.text(_LEFT, y, row.rank.text, 26, tone="quiet", width=_NAME - _LEFT - 10)
    name = shown_name(row)
    sheet.text(_NAME, y, f"{name} (blind)" if blind else name, 24, tone="quiet" if blind else "ink", width=490)
    sheet.text(_SCORE, y, signed(row.counts.score), 27, bold=not blind, tone="quiet" if blind else "ink", right=True)
    sheet.bar(_AXIS, y - 10, _RIGHT - _AXIS, 2, "axis")
    sheet.bar(_at(0) - 1, y - 26, 2, 34, "zero")
    if row.interval:
        low, high = row.interval
        sheet.bar(_at(low), y - 19, max(_at(high) - _at(low), 2), 20, "range")
    sheet.bar(_at(row.counts.score) - 2, y - 24, 4, 30, "system")


def shown_table(board: Board) -> Table:
    """The table where most systems read the pages: it has the most to tell. The first of equals."""
    return max(board.tables, key=lambda table: len(table.rows) - len(table.blind))


def _paint(sheet: _Sheet, board: Board, table: Table) -> None:
    rows = [row for row in table.rows if not row.withdrawn][:N_ROWS]
    key = table.key
    title = f"{key.name} v{key.major} · {key.split}" + (f" · {key.sample}" if key.sample else "")
    sheet.bar(0, 0, WIDTH, 12, "system")
    sheet.text(_LEFT, 90, "EDU-RAG board", 50, bold=True)
    systems = f"{len(table.rows):,} system{'' if len(table.rows) == 1 else 's'}"
    sheet.text(_LEFT, 132, f"{title}: {table.n:,} questions, {systems}", 26, width=1080)
    sheet.text(_LEFT, 168, "score = accuracy − hallucination, with its 95 % interval", 22, tone="quiet")
    for x, words in ((_AXIS, "−1"), (_at(0), "0"), (_RIGHT, "+1")):
        sheet.text(x - 6 * len(words), _FIRST - 38, words, 18, tone="quiet")
    for at, row in enumerate(rows):
        _row(sheet, row, _FIRST + at * _STEP)
    words = "Systems that share a rank cannot be distinguished."
    newest = f" Newest result: {date(board.built_at)}." if board.built_at else ""
    sheet.text(_LEFT, HEIGHT - 36, words + newest, 20, tone="quiet", width=1080)


def picture_of(board: Board) -> bytes:
    """A PNG of WIDTH x HEIGHT; the same rows give the same bytes under one version of matplotlib."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    own: dict[Any, Any] = {key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith("backend")}
    with mpl.rc_context(own | dict(SETTINGS)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=light("paper"))
        _paint(_Sheet(figure), board, shown_table(board))
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=100, facecolor=light("paper"), metadata={"Software": None})
    return out.getvalue()
