"""history.html, a board of every dataset version under an address that stays, and the ledger of corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import jinja2

from leaderboard.board.columns import COLUMNS
from leaderboard.board.present import page_of
from leaderboard.edition import Edition
from leaderboard.history.dataset_history import (
    ERRATA_PAGE,
    VersionOnBoard,
    about,
    events_of,
    moves_of,
    tables_on,
    version_page,
    versions_of,
    withdrawn_of,
)
from leaderboard.history.errata import Erratum
from leaderboard.site import Files

PAGE = "history.html"
MAX_MOVES = 500
"""The most moved scores on the page; all are in the scorecards."""


def _history(
    edition: Edition, pages: jinja2.Environment, versions: Sequence[VersionOnBoard]
) -> Iterator[tuple[str, bytes]]:
    moves = moves_of(edition.groups)
    shown = pages.get_template("history.html.j2").render(
        root="",
        here=PAGE,
        versions=versions,
        moves=moves[:MAX_MOVES],
        n_moves=len(moves),
        withdrawn=withdrawn_of(edition.board),
        events=events_of(edition.groups, edition.errata),
        about=about,
        version_page=version_page,
        page_of=page_of,
        ERRATA_PAGE=ERRATA_PAGE,
    )
    yield PAGE, shown.encode()


def _version(edition: Edition, pages: jinja2.Environment, version: VersionOnBoard) -> Iterator[tuple[str, bytes]]:
    shown = pages.get_template("version.html.j2").render(
        root="../",
        here="",
        version=version,
        columns=COLUMNS,
        tables=tables_on(version, edition.groups, edition.board),
        version_page=version_page,
        errata=[erratum for erratum in edition.errata if erratum.dataset == str(version.dataset.release)],
        ERRATA_PAGE=ERRATA_PAGE,
    )
    yield version.page, shown.encode()


def _pages_about(edition: Edition, erratum: Erratum) -> list[tuple[str, str]]:
    """Pages of the site that an entry is about: their words and paths."""
    found = [
        (f"the board of {erratum.dataset}", version.page)
        for version in versions_of(edition.groups)
        if str(version.dataset.release) == erratum.dataset
    ]
    return found + [
        (f"{erratum.system} on {table.key.id}", row.page)
        for table in edition.board.tables
        for row in table.rows
        if row.result.card.system.slug == erratum.system
    ]


def _errata(edition: Edition, pages: jinja2.Environment) -> Iterator[tuple[str, bytes]]:
    entries = [
        (erratum, erratum.address(edition.repository), _pages_about(edition, erratum)) for erratum in edition.errata
    ]
    shown = pages.get_template("errata.html.j2").render(root="", here="", entries=entries, about=about)
    yield ERRATA_PAGE, shown.encode()


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """A board of each dataset version, the history, and the ledger if it has an entry."""
    versions = versions_of(edition.groups)
    for version in versions:
        yield from _version(edition, pages, version)
    yield from _history(edition, pages, versions)
    if edition.errata:
        yield from _errata(edition, pages)
