"""The jinja2 environment of our pages: everything is escaped, and characters that a page cannot hold are replaced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edu_rag.look.texts import clip, date, delta, percent, plain, safe_link, seconds, signed
from edu_rag.scorecard.card import OUTCOMES

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).resolve().parent


def environment(templates: Path) -> jinja2.Environment:
    """An environment that reads the templates of a folder, and the bars and badges that all pages share."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates, HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=plain,
    )
    for function in (clip, signed, delta, percent, seconds, date, safe_link):
        made.filters[function.__name__] = function
    made.globals["OUTCOMES"] = OUTCOMES
    return made


def look_css() -> str:
    """The style that all pages share: colours, tables, bars; light and dark, phone and paper."""
    return (HERE / "look.css").read_text(encoding="utf-8")
