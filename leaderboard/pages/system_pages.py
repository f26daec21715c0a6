"""A page, a badge and the downloads of every system of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jinja2

from edu_rag.scorecard.card import FEWEST_SHARE
from leaderboard.board.present import Row, Table
from leaderboard.edition import Edition
from leaderboard.pages.board_page import TableLinks, links_of
from leaderboard.pages.compare_systems_page import neighbour_links
from leaderboard.site import Files
from leaderboard.systems.claim_rows import claim_rows_of
from leaderboard.systems.earlier_results import MAX_SHOWN, PastResult, past_in, past_of
from leaderboard.systems.remake_commands import FOLDER, drawn_sample, is_bundled, steps_of
from leaderboard.systems.scorecard_tables import losses_of, probes_of, retrieved_of, unknown_of

TOOLS = {
    "losses_of": losses_of,
    "retrieved_of": retrieved_of,
    "probes_of": probes_of,
    "claim_rows_of": claim_rows_of,
    "steps_of": steps_of,
    "is_bundled": is_bundled,
    "unknown_of": unknown_of,
    "FOLDER": FOLDER,
    "FEWEST_SHARE": FEWEST_SHARE,
    "MAX_PAST": MAX_SHOWN,
    "drawn_sample": drawn_sample,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemLinks:
    """Where a system's page leads: neighbours in rank with the comparison, plots, questions, the table's downloads."""

    neighbours: Sequence[tuple[Row, str]]
    plots: str
    questions: str | None
    data: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    """The inputs of a system's page."""

    table: Table
    row: Row
    past: Sequence[PastResult]
    links: SystemLinks


def _links(table: Table, row: Row, leads: TableLinks) -> SystemLinks:
    return SystemLinks(
        neighbours=neighbour_links(table, row) if len(table.rows) > 1 else [],
        plots=leads.plots,
        questions=leads.questions,
        data=leads.data,
    )


def _files(pages: jinja2.Environment, sheet: _Sheet) -> Files:
    row, system = sheet.row, pages.get_template("system.html.j2", globals=TOOLS)
    shown = system.render(table=sheet.table, row=row, past=sheet.past, links=sheet.links, root="../../", here="")
    yield row.page, shown.encode()
    yield row.badge, pages.get_template("badge.svg.j2").render(table=sheet.table, row=row).encode()
    yield row.scorecard, row.result.scorecard
    if row.result.predictions is not None and row.predictions is not None:
        yield row.predictions, row.result.predictions
    for run in row.earlier:
        yield run.page, run.result.scorecard


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """The page of each row of a table, its badge, scorecards and predictions."""
    past, leads = past_of(edition.groups), links_of(edition)
    for table in edition.board.tables:
        for row in table.rows:
            slug = row.result.card.system.slug
            links = _links(table, row, leads[table.key.id])
            sheet = _Sheet(table=table, row=row, past=past_in(past[slug], table.key.name), links=links)
            yield from _files(pages, sheet)
