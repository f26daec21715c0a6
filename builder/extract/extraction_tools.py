"""The single tools of extraction, and which of them a page's shape allows. They run in a killable worker."""

from __future__ import annotations

import html as html_entities
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

_BLOCKS_TEXT = (
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3"
    " h4 h5 h6 header hr li main nav ol option p pre section summary table tbody td tfoot th thead title tr ul"
)
_BLOCKS = frozenset(_BLOCKS_TEXT.split())
_DROPPED = ("script", "style", "noscript", "template", "head")
_UNTEXT = frozenset(_DROPPED) - {"noscript"} | {"title", "select", "svg", "iframe", "object"}
_TAG_NAME = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9:-]{0,30})")
_TABLE_RULE = re.compile(r"^\|?(?:\s*:?-{3,}:?\s*\|)+\s*$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of an extractor: a page's clean text, the tool that extracted it, and the tools that raised."""

    text: str
    tool: str
    raised: tuple[str, ...] = ()


@cache
def _options(*, fast: bool) -> Any:
    """Trafilatura's options, read once: its own call reads its configuration file's values for every page."""
    from trafilatura.settings import Extractor

    return Extractor(output_format="python", fast=fast, comments=False, tables=True, dedup=False, with_metadata=False)


def _trafilatura(tree: Any, *, fast: bool) -> str:
    from trafilatura import bare_extraction

    found = bare_extraction(tree, options=_options(fast=fast))
    return str(getattr(found, "text", None) or "")


def trafilatura_full(tree: Any) -> str:
    """Trafilatura with tables, without comments, without its process-wide deduplication. Does not change the tree."""
    return _trafilatura(tree, fast=False)


def trafilatura_fast(tree: Any) -> str:
    """The same without its comparison with two other extractors."""
    return _trafilatura(tree, fast=True)


def without_table_rules(text: str) -> str:
    """Text without the lines of dashes under a table's header: they are not sentences."""
    return _TABLE_RULE.sub("", text) if "---" in text else text


def drop_unread(tree: Any) -> None:
    """Remove elements that no tool reads but each copies and searches several times: style sheets, drawings, links."""
    import lxml.etree

    lxml.etree.strip_elements(tree, "style", "svg", "link", with_tail=False)


def html_of(tree: Any) -> str:
    """A prepared tree as HTML with the pre-pass's own spans joined: resiliparse drops a span that holds only "⁸"."""
    import lxml.etree

    for span in list(tree.iter("span")):
        if not span.attrib:
            span.tag = "x-plain"
    lxml.etree.strip_tags(tree, "x-plain")
    return str(lxml.etree.tostring(tree, encoding="unicode", method="html"))


def resiliparse_tree(html: str) -> Any:
    """A page as resiliparse parses it."""
    from resiliparse.parse.html import HTMLTree

    return HTMLTree.parse(html)


def resiliparse_main(html: Any) -> str:
    """Resiliparse's main content of HTML or of its tree, without comments, link addresses and alternative texts."""
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True, alt_texts=False, links=False, comments=False))


def resiliparse_all(html: Any) -> str:
    """All text of a page as resiliparse sees it, with menus, comments and footers."""
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=False, alt_texts=False, links=False, comments=False))


def newspaper3k_text(html: str) -> str:
    """Newspaper3k as it comes, but for its fetching of images."""
    from newspaper import Article

    article = Article("", language="en", fetch_images=False)
    article.set_html(html)
    article.parse()
    return str(article.text)


def bs4_text(html: str) -> str:
    """All text of the page but scripts and styles; a block element ends its line."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "lxml")
    for element in soup(_DROPPED):
        element.decompose()
    for element in soup(list(_BLOCKS)):
        element.append("\n")
        element.insert_before("\n")
    return soup.get_text()


def plain_text(html: str) -> str:
    """All text outside scripts and styles, in one pass without a tree: time grows with the page's length only."""
    out: list[str] = []
    closing = ""
    for piece in html.split("<"):
        found = _TAG_NAME.match(piece)
        name = found[2].lower() if found else ""
        if closing:
            if found is None or not found[1] or name != closing:
                continue
            closing = ""
        elif found and not found[1] and name in _UNTEXT:
            closing = name
            continue
        if found is None and not piece.startswith(("!", "?")):
            out.append(f"<{piece}" if out else piece)
            continue
        _, _, text = piece.partition(">")
        out.append(f"\n{text}" if name in _BLOCKS else text)
    return html_entities.unescape("".join(out))


MAX_BYTES = 5_000_000
MAX_SCRIPT_BYTES = 10_000
"""Longer scripts of a page that is too large are left out before it is refused: shops put their whole state in one."""
_SCRIPT = re.compile(rb"<(/?)script(?=[\s/>])", re.IGNORECASE)
MAX_TAGS = 100_000
"""Above these a page is refused: no honest page of text is so large."""
MAX_ATTRIBUTES = 2_000
MAX_DEPTH = 250
HEAVY_TAGS = 25_000
HEAVY_CHARS = 2_500_000
HEAVY_ATTRIBUTES = 100_000
_LONG = 2_000
_LONG_TAG = re.compile(rf"[a-zA-Z][^>]{{{_LONG},}}")
"""The start of a tag that has room for many attributes, without its `<`."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_NESTED_TEXT = (
    "div span ul ol dl li table tbody tr td font a b i em strong details figure form svg math mrow section article"
    " blockquote select option optgroup"
)
# Both cases of each letter are spelt out: with IGNORECASE every alternative is tried at every tag, 3 times as slowly.
_ANY_CASE = ("".join(f"[{char}{char.upper()}]" for char in name) for name in _NESTED_TEXT.split())
# The first letters come first too: most tags have none of these names.
_INITIALS = "".join(sorted({name[0] for name in _NESTED_TEXT.split()}))
_NESTING = re.compile(rf"<(/?)(?=[{_INITIALS}{_INITIALS.upper()}])(?:{'|'.join(_ANY_CASE)})(?=[\s>/])")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageShape:
    """Counts of a page: characters, tags, attributes (all, and on the fullest tag), the deepest nesting it may mean."""

    n_chars: int
    n_tags: int
    depth: int
    n_attributes: int
    n_all_attributes: int

    @property
    def may_parse(self) -> bool:
        """Whether libxml2 may build a tree: each attribute is compared with all others of its tag."""
        return self.n_attributes <= MAX_ATTRIBUTES

    @property
    def may_judge(self) -> bool:
        """Whether tools may weigh every element against its neighbours, as trafilatura does."""
        is_light = self.n_tags <= HEAVY_TAGS and self.n_chars <= HEAVY_CHARS
        return self.may_parse and is_light and self.n_all_attributes <= HEAVY_ATTRIBUTES

    @property
    def may_nest(self) -> bool:
        """Whether tools may follow the nesting: resiliparse's time grows with depth, libxml2 drops deeper elements."""
        return self.may_parse and self.depth <= MAX_DEPTH


def without_long_scripts(body: bytes) -> bytes:
    """A page of more than MAX_BYTES without its long scripts, in one pass; a smaller one as it is."""
    if not MAX_BYTES < len(body) <= MAX_SHRUNK_BYTES:
        return body
    kept, start, opened = [], 0, None
    for mark in _SCRIPT.finditer(body):
        if not mark[1]:
            opened = mark.start() if opened is None else opened
        elif opened is not None:
            if mark.start() - opened > MAX_SCRIPT_BYTES:
                kept.append(body[start:opened])
                kept.append(b"<script>")
                start = mark.start()
            opened = None
    return b"".join([*kept, body[start:]])


MAX_SHRUNK_BYTES = 20_000_000
"""Larger pages are refused as they are."""


def refused(body: bytes) -> str | None:
    """Why a page is not even decoded, or None."""
    if len(body) > MAX_BYTES:
        return "too_large"
    return "too_many_tags" if body.count(b"<") > MAX_TAGS else None


def page_shape(html: str) -> PageShape:
    """Count a page's tags, nesting and attributes. Never raises; linear in the page's length.

    Elements whose end a page may leave out count as open until an end of any: the depth is an upper bound.
    """
    depth = deepest = 0
    for end in _NESTING.findall(html):  # no max(): pages have thousands of tags
        if not end:
            depth += 1
            if depth > deepest:
                deepest = depth
        elif depth:
            depth -= 1
    pieces = html.split("<")
    long_tags = map(_LONG_TAG.match, [piece for piece in pieces[1:] if len(piece) > _LONG])
    longest = (len(_QUOTED.sub("", tag[0]).split()) for tag in long_tags if tag)
    return PageShape(
        n_chars=len(html),
        n_tags=len(pieces) - 1,
        depth=deepest,
        n_attributes=max(longest, default=0),
        n_all_attributes=html.count("="),
    )
