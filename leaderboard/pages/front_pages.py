"""The front pages: index.html for the leading table, one page for each other table; how.html and submit.html."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jinja2

from edu_rag.look.texts import clip
from leaderboard.board.present import Row, Table
from leaderboard.board.roles import ROLES, role_of
from leaderboard.board.same_columns import same_columns
from leaderboard.edition import Edition
from leaderboard.front.front_picture import NARROW, WIDE, FrontPicture, front_picture
from leaderboard.front.reading_gain import Standing, standing_of
from leaderboard.pages.board_page import BOARD, links_of
from leaderboard.plots.plotted_systems import systems_of
from leaderboard.site_files import Files

FRONT, HOW, SUBMIT = "index.html", "how.html", "submit.html"
MOST_ROWS = 10
HIDABLE = ("accuracy", "hallucination", "median_latency_s")
"""Columns of the small table that are hidden where every row has the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontTable:
    """A table with its front page's path in the site; `has_tab` where it stands for its dataset.

    `words` tell it from the other tables of its dataset; `n_most` are the questions of the largest of these.
    """

    table: Table
    page: str
    has_tab: bool
    words: str
    n_most: int

    @property
    def dataset(self) -> tuple[str, int]:
        """The name and major version of its dataset."""
        return self.table.key.name, self.table.key.major


def _weight(table: Table) -> tuple[int, int]:
    """The table of a dataset that leads: with most systems that are not blind, then with most questions."""
    return sum(role_of(row.result.card) != "blind" for row in table.rows), table.n


def _words(table: Table, others: Sequence[Table]) -> str:
    """A table in few words: the split and the rule of reading answers are named where they differ."""
    split = f"{table.key.split}: " if len({other.key.split for other in others}) > 1 else ""
    rule = f", {clip(table.key.answers_rule, 40)}" if len({other.key.answers_rule for other in others}) > 1 else ""
    return f"{split}{'all' if table.key.sample is None else 'a sample of'} {table.n:,} questions{rule}"


def front_tables(tables: Sequence[Table]) -> list[FrontTable]:
    """Every table with its front page, in the board's order; the first dataset's leading table has index.html."""
    of_dataset: dict[tuple[str, int], list[Table]] = {}
    for table in tables:
        of_dataset.setdefault((table.key.name, table.key.major), []).append(table)
    found = []
    for number, group in enumerate(of_dataset.values()):
        leading, n_most = max(group, key=_weight), max(table.n for table in group)
        for table in group:
            is_first = number == 0 and table is leading
            page = FRONT if is_first else f"front/{table.key.id}.html"
            words = _words(table, group)
            found.append(
                FrontTable(table=table, page=page, has_tab=table is leading, words=words, n_most=n_most)
            )
    return found


def shown_rows(standing: Standing) -> list[Row]:
    """The first rows of a table, the last place for the best blind system if none of them is blind."""
    rows, blind = list(standing.rows[:MOST_ROWS]), standing.best_blind
    if blind is not None and len(standing.rows) > MOST_ROWS and not any(row.result.card.system.blind for row in rows):
        rows[-1] = blind
    return rows


def _pictures(table: Table) -> list[FrontPicture]:
    systems = systems_of(table)
    return [front_picture(systems, sheet) for sheet in (WIDE, NARROW)] if len(systems) > 1 else []


def _front(edition: Edition, pages: jinja2.Environment, fronts: Sequence[FrontTable], front: FrontTable) -> bytes:
    table = front.table
    standing = standing_of(table, edition.pairs_of(table))
    rows = shown_rows(standing)
    shown = pages.get_template("front.html.j2").render(
        root="" if front.page == FRONT else "../",
        here=FRONT,
        is_top=front.page == FRONT,
        table=table,
        fronts=fronts,
        front=front,
        standing=standing,
        rows=rows,
        same=[name for name in same_columns(rows) if name in HIDABLE],
        pictures=_pictures(table),
        links=links_of(edition)[table.key.id],
        ROLES=ROLES,
        BOARD=BOARD,
    )
    return shown.encode()


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """All front pages, and the pages that explain the board and how to submit."""
    fronts = front_tables(edition.board.tables)
    for front in fronts:
        yield front.page, _front(edition, pages, fronts, front)
    yield HOW, pages.get_template("how.html.j2").render(root="", here=HOW, ROLES=ROLES).encode()
    yield SUBMIT, pages.get_template("submit.html.j2").render(root="", here=SUBMIT).encode()
