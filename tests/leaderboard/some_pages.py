"""A site of some kinds of pages alone: what a test does not look at need not be built."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.edition import Edition
from leaderboard.pages import assets, board_page, front_pages, system_pages
from leaderboard.render import environment_of
from leaderboard.site import write_files

BOARD = (board_page, front_pages, system_pages, assets)


def build_some(results: Path, site: Path, kinds: tuple[Any, ...] = BOARD, **given: Any) -> Path:
    """Write the pages of these kinds into an empty or absent folder; `given` goes to Edition."""
    groups = collect(results)
    edition = Edition(board=present(groups), groups=groups, **given)
    pages = environment_of(edition)
    site.mkdir(parents=True, exist_ok=True)
    write_files(chain.from_iterable(kind.files(edition, pages) for kind in kinds), site)
    return site
