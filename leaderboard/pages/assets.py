"""Style sheet, scripts and pictures that the pages share."""

from __future__ import annotations

from collections.abc import Iterator

import jinja2

from edu_rag.look.jinja_pages import look_css
from leaderboard.edition import Edition
from leaderboard.render import HERE
from leaderboard.site_parts import SitePart, key_of


def parts(edition: Edition, pages: jinja2.Environment) -> Iterator[SitePart]:
    """Everything under assets/."""

    def files() -> Iterator[tuple[str, bytes]]:
        for path in sorted((HERE / "assets").iterdir()):
            own = path.read_bytes()
            yield f"assets/{path.name}", look_css().encode() + own if path.name == "style.css" else own

    yield SitePart("assets", key_of(), files)
