"""An edition into a site folder: every kind of page in turn.

Without the extra `board`, plots and the search of texts are missing: one message names them, with the remedy.
All numbers are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import jinja2

from edu_rag.errors import MissingExtraError
from edu_rag.look.matplotlib_svg import can_draw
from edu_rag.progress import say
from leaderboard.edition import Edition
from leaderboard.pages import (
    assets,
    board_page,
    compare_systems_page,
    dataset_pages,
    feed_and_llms_txt,
    front_pages,
    history_page,
    plot_pages,
    question_pages,
    retrieval_page,
    sitemap,
    system_pages,
)
from leaderboard.questions.search_index import can_search
from leaderboard.render import environment_of
from leaderboard.site import Files, write_files

REMEDY = "pip install 'edu-rag-bench[board]'"
Kind = Callable[[Edition, jinja2.Environment], Files]
KINDS: Sequence[Kind] = (
    front_pages.files,
    board_page.files,
    compare_systems_page.files,
    plot_pages.files,
    dataset_pages.files,
    history_page.files,
    feed_and_llms_txt.files,
    question_pages.files,
    system_pages.files,
    retrieval_page.files,
    assets.files,
)
"""A kind of page is a function from the edition to files; a kind that has nothing to show yields none."""


def missing_extra(edition: Edition) -> MissingExtraError | None:
    """The missing parts of an edition's pages, with the remedy; None if nothing is missing."""
    lacks = [] if can_draw() else [("no plot is drawn", "matplotlib")]
    if edition.exams and not can_search():
        lacks.append(("questions cannot be searched by text", "pagefind-bin"))
    if not lacks:
        return None
    lost, packages = (" and ".join(words) for words in zip(*lacks, strict=True))
    verb = "is" if len(lacks) == 1 else "are"
    return MissingExtraError("edu-rag board", f"{lost}: {packages} {verb} not installed", REMEDY)


def fill(edition: Edition, site: Path) -> dict[str, str]:
    """Write all pages and files of an edition into an empty folder; return their SHA-256 by path."""
    if (missing := missing_extra(edition)) is not None:
        say(str(missing))
    pages = environment_of(edition)
    written = write_files(chain.from_iterable(kind(edition, pages) for kind in KINDS), site)
    return written | write_files(sitemap.files(edition, pages, list(written)), site)
