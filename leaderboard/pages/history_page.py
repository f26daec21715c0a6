"""history.html, a board of every dataset version under an address that stays, and the ledger of corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import jinja2

from leaderboard.board.columns import COLUMNS
from leaderboard.board.present import page_of
from leaderboard.edition import Edition
from leaderboard.history.dataset_history import (
    VersionOnBoard,
    moves_of,
    tables_on,
    version_page,
    versions_of,
    withdrawn_of,
)
from leaderboard.history.errata import Erratum
from leaderboard.history.events import ERRATA_PAGE, about, events_of
from leaderboard.render import frame_of
from leaderboard.site_parts import SitePart, key_of

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


def _made_from(versions: Sequence[VersionOnBoard]) -> list[object]:
    return [
        (version.dataset_id, version.newest, version.before, group.key, result.sha256, result.predictions is not None)
        for version in versions
        for group in version.groups
        for result in group.results
    ]


def _standing(edition: Edition, version: VersionOnBoard) -> Sequence[object]:
    """Properties of rows that depend on the whole board: whether they are current, and their badges."""
    rows = (row for table in edition.board.tables for row in table.rows if row.result.dataset == version.dataset)
    return sorted(((row.result.sha256, row.badges) for row in rows), key=lambda pair: pair[0])


def parts(edition: Edition, pages: jinja2.Environment) -> Iterator[SitePart]:
    """One part a dataset version, one of the history, and one of the ledger where it has an entry."""
    frame, versions = frame_of(edition), versions_of(edition.groups)
    for version in versions:
        key = key_of(frame, _made_from([version]), _standing(edition, version), edition.errata)
        yield SitePart(version.page.removesuffix(".html"), key, partial(_version, edition, pages, version))
    key = key_of(frame, _made_from(versions), edition.errata)
    yield SitePart("history", key, partial(_history, edition, pages, versions))
    if edition.errata:
        yield SitePart("errata", key, partial(_errata, edition, pages))
