"""Templates to files: one self-contained page with its style inside, which loads nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from edu_rag import __version__
from edu_rag.look.jinja_pages import environment, look_css
from edu_rag.look.texts import JOINERS

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


def visible(text: str) -> str:
    """A text with invisible characters shown by their code points, since they may decide a verdict."""
    return "".join(
        f"⟨U+{ord(char):04X}⟩"
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") and char not in _SEEN
        else char
        for char in text
    )


_SEEN = "\n\t\r" + JOINERS


def shorten(text: str, length: int) -> str:
    """At most this many characters with all blanks and line ends kept, and a word on how many are left out."""
    return text if len(text) <= length else f"{text[:length]} … ({len(text) - length:,} more characters)"


def delta(value: float, decimals: int = 3) -> str:
    """A difference with its sign, a true minus; one that rounds to zero carries none."""
    text = f"{value:+,.{decimals}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text[1:]


@cache
def _environment() -> jinja2.Environment:
    made = environment(TEMPLATES)
    style = look_css() + (TEMPLATES / "pages.css").read_text(encoding="utf-8")
    for function in (visible, shorten, delta):
        made.filters[function.__name__] = function
    made.globals.update(
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        harness=f"edu-rag-bench {__version__}",
    )
    return made


def render(template: str, **values: object) -> str:
    """A page's text. The style comes from us alone, so the page's policy allows it by its hash and nothing else."""
    from markupsafe import Markup

    made = _environment()
    style = Markup(str(made.globals["style"]))  # noqa: S704 - our own two files, and none of a system's words
    return made.get_template(template).render(values | {"style": style})


def write_page(path: Path, text: str) -> None:
    """Write a page, atomically."""
    from edu_rag.files.jsonl import write_file

    write_file(path, text.encode("utf-8"))
