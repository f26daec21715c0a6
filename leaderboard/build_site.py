"""An edition into a site folder: every kind of page in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import jinja2

from edu_rag.progress import say
from leaderboard.edition import Edition
from leaderboard.extras import missing_extra
from leaderboard.pages import (
    assets,
    board_page,
    compare_systems_page,
    dataset_pages,
    feed,
    history_page,
    plot_pages,
    question_pages,
    sitemap,
    system_pages,
)
from leaderboard.render import environment_of
from leaderboard.site_parts import Earlier, SitePart, WrittenPart, write_parts

Kind = Callable[[Edition, jinja2.Environment], Iterator[SitePart]]
KINDS: Sequence[Kind] = (
    board_page.parts,
    compare_systems_page.parts,
    plot_pages.parts,
    dataset_pages.parts,
    history_page.parts,
    feed.parts,
    question_pages.parts,
    system_pages.parts,
    assets.parts,
)
"""A kind of page is a function from the edition to parts; a kind that has nothing to show yields none."""


def fill(edition: Edition, site: Path, earlier: Earlier | None = None) -> WrittenPart:
    """Write all pages and files of an edition into an empty folder; unchanged parts come from the `earlier` one."""
    if (missing := missing_extra(edition)) is not None:
        say(str(missing))
    pages = environment_of(edition)
    written = write_parts(chain.from_iterable(kind(edition, pages) for kind in KINDS), site, earlier)
    last = write_parts(sitemap.parts(edition, pages, sorted(written.hashes)), site, earlier)
    return WrittenPart(written.hashes | last.hashes, written.parts | last.parts, written.n_new + last.n_new)
