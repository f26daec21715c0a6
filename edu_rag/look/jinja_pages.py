"""The jinja2 environment of our pages: everything is escaped, and characters that a page cannot hold are replaced."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from edu_rag.look.texts import clip, date, delta, percent, plain, safe_link, seconds, signed
from edu_rag.scorecard.card import OUTCOMES

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).resolve().parent


@cache
def _compiled() -> jinja2.BytecodeCache:
    """The templates that this process has compiled: a site that is built again compiles none."""
    import jinja2
    from jinja2.bccache import Bucket

    class InMemory(jinja2.BytecodeCache):
        def __init__(self) -> None:
            self.codes: dict[tuple[str, str], CodeType] = {}

        def load_bytecode(self, bucket: Bucket) -> None:
            bucket.code = self.codes.get((bucket.key, bucket.checksum))

        def dump_bytecode(self, bucket: Bucket) -> None:
            if bucket.code is not None:
                self.codes[bucket.key, bucket.checksum] = bucket.code

    return InMemory()


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
        bytecode_cache=_compiled(),
    )
    for function in (clip, signed, delta, percent, seconds, date, safe_link):
        made.filters[function.__name__] = function
    made.globals["OUTCOMES"] = OUTCOMES
    return made


def look_css() -> str:
    """The style that all pages share: colours, tables, bars; light and dark, phone and paper."""
    return (HERE / "look.css").read_text(encoding="utf-8")
