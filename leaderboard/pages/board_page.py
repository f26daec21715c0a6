"""The full tables: board.html, each of its tables alone for an iframe, and the same as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import jinja2
import msgspec

from leaderboard.board.columns import COLUMNS
from leaderboard.board.export_board import board_csv, board_parquet, board_values
from leaderboard.board.present import Board, Table
from leaderboard.board.system_kinds import KINDS, OPENNESS, model_filters
from leaderboard.edition import Edition
from leaderboard.exams import explorer_of
from leaderboard.pages.compare_systems_page import compare_link, first_pair
from leaderboard.site import Files

EMBEDDED = ("rank", "system", "team", "score", "axis", "outcomes")
"""The columns of a table that is embedded in another page."""
BOARD = "board.html"
SUFFIXES = ("csv", "json", "parquet")


class TableLinks(NamedTuple):
    """Where a table leads: its plots, a comparison of two systems (where it has two), its questions, its files."""

    plots: str
    compare: str | None
    questions: str | None
    data: Sequence[str]


def embed_of(table: Table) -> str:
    """The path of a table alone in the site."""
    return f"embed/{table.key.id}.html"


def _compare(table: Table) -> str | None:
    if len(table.rows) < 2:
        return None
    first, second = (row.result.card.system.slug for row in first_pair(table))
    return compare_link(table.key.id, first, second)


def links_of(edition: Edition) -> Mapping[str, TableLinks]:
    """The links of every table, by its id."""
    found = {}
    for table, group in zip(edition.board.tables, edition.groups, strict=True):
        exam = edition.exam_of(group)
        questions = None if exam is None else explorer_of(exam)
        data = [f"tables/{table.key.id}.{suffix}" for suffix in SUFFIXES]
        found[table.key.id] = TableLinks(f"plots/{table.key.id}.html", _compare(table), questions, data)
    return found


def _pages(edition: Edition, pages: jinja2.Environment) -> Iterator[tuple[str, bytes]]:
    tables = edition.board.tables
    models = model_filters(row.result.card.system for table in tables for row in table.rows)
    whole = pages.get_template("board.html.j2").render(
        root="",
        here=BOARD,
        columns=COLUMNS,
        models=[(model, model) for model in models],
        KINDS=KINDS,
        OPENNESS=OPENNESS,
        links=links_of(edition),
    )
    yield BOARD, whole.encode()
    embed = pages.get_template("embed.html.j2")
    few = [column for column in COLUMNS if column.name in EMBEDDED]
    for table in tables:
        yield embed_of(table), embed.render(root="../", here="", columns=few, table=table).encode()
    # The first table under a name that stays, whatever the dataset's version.
    yield "embed.html", embed.render(root="", here="", columns=few, table=tables[0]).encode()


def _data(board: Board, stem: str) -> Iterator[tuple[str, bytes]]:
    """The rows of a board as CSV, JSON and Parquet."""
    yield f"{stem}.csv", board_csv(board)
    yield f"{stem}.json", msgspec.json.format(msgspec.json.encode(board_values(board)), indent=2) + b"\n"
    yield f"{stem}.parquet", board_parquet(board)


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """board.html, embed.html, embed/, and the rows as data: board.json, board.csv, board.parquet and tables/."""
    board = edition.board
    yield from _pages(edition, pages)
    yield from _data(board, "board")
    for table in board.tables:
        yield from _data(replace(board, tables=[table]), f"tables/{table.key.id}")
