"""Style sheet, scripts and pictures that the pages share."""

from __future__ import annotations

import jinja2

from edu_rag.look.jinja_pages import look_css
from leaderboard.edition import Edition
from leaderboard.render import HERE
from leaderboard.site import Files


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """Everything under assets/."""
    for path in sorted((HERE / "assets").iterdir()):
        own = path.read_bytes()
        yield f"assets/{path.name}", look_css().encode() + own if path.name == "style.css" else own
