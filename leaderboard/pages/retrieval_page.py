"""retrieval.html: the tables of retrieval runs, if there is a run."""

from __future__ import annotations

import jinja2

from leaderboard.board.retrieval_tables import SHOWN
from leaderboard.edition import RETRIEVAL_PAGE, Edition
from leaderboard.site import Files


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """The page; nothing without a run."""
    if not edition.retrieval:
        return
    shown = pages.get_template("retrieval.html.j2").render(
        root="", here=RETRIEVAL_PAGE, tables=edition.retrieval, measures=SHOWN
    )
    yield RETRIEVAL_PAGE, shown.encode()
