"""The front pages: index.html for the leading table, one page for each other table; how.html and submit.html."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import jinja2

from leaderboard.board.present import Row, Table, same_columns
from leaderboard.board.system_kinds import ROLES
from leaderboard.edition import Edition
from leaderboard.front.front_picture import NARROW, WIDE, FrontPicture, front_picture
from leaderboard.front.front_tables import FRONT, FrontTable, front_tables
from leaderboard.front.question_of_day import DayQuestion, question_of_day
from leaderboard.front.reading_gain import Standing, standing_of
from leaderboard.pages.board_page import BOARD, links_of
from leaderboard.plots.plotted_systems import systems_of
from leaderboard.site import Files

HOW, SUBMIT = "how.html", "submit.html"
MOST_ROWS = 10
HIDABLE = ("accuracy", "hallucination", "median_latency_s")
"""Columns of the small table that are hidden where every row has the same."""


def shown_rows(standing: Standing) -> list[Row]:
    """The first rows of a table, the last place for the best blind system if none of them is blind."""
    rows, blind = list(standing.rows[:MOST_ROWS]), standing.best_blind
    if blind is not None and len(standing.rows) > MOST_ROWS and not any(row.result.card.system.blind for row in rows):
        rows[-1] = blind
    return rows


def _pictures(table: Table) -> list[FrontPicture]:
    systems = systems_of(table)
    return [front_picture(systems, sheet) for sheet in (WIDE, NARROW)] if len(systems) > 1 else []


def _day_question(edition: Edition, table: Table, standing: Standing) -> DayQuestion | None:
    """The question of the day, where the table's questions are at hand."""
    group = next(group for group in edition.groups if group.key == table.key)
    exam, day = edition.exam_of(group), edition.day or edition.board.built_at
    if exam is None or day is None:
        return None
    ids = exam.ids(table.key.sample)
    when = day.date() if isinstance(day, datetime) else day
    return question_of_day(exam, standing, ids, when) if len(ids) == table.n else None


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
        asked=_day_question(edition, table, standing),
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
