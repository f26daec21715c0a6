"""A prepared page as blocks: the runs of text between block elements, each with the marks of what holds it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

_BLOCK_TEXT = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr label legend li main menu nav ol p pre section summary table tbody"
    " tfoot thead tr ul button"
)
_BLOCKS = frozenset(_BLOCK_TEXT.split())
_SKIPPED_TEXT = (
    "script style noscript template head svg iframe object select option textarea canvas audio video map datalist title"
    " html"
)
_SKIPPED = frozenset(_SKIPPED_TEXT.split())
_CELLS = frozenset({"td", "th"})
MAX_NAME = 200
_KIND_WORDS = {
    "nav": "menu breadcrumb toolbar pagination topbar skip sitemap navig navbar",
    "footer": "footer colophon copyright legal disclaimer",
    "header": "header masthead banner hero branding logo",
    "side": "sidebar aside widget rightcol secondary",
    "comment": "comment discuss disqus reply replies respond",
    "related": (
        "related recommend recirc suggest popular trending also latest recent readnext teaser promo"
        " upsell carousel slider swiper"
    ),
    "share": "share sharing social facebook twitter follow",
    "ad": "advert sponsor outbrain taboola dfp",
    "sub": "newsletter subscri signup login register account paywall form",
    "popup": "cookie consent gdpr modal popup overlay dialog notice alert hidden screenreader visually",
    "meta": "meta byline author dateline timestamp categor posted credit profile avatar user",
    "caption": "caption figure gallery image photo thumb media",
    "ref": "reference footnote citation bibliograph cite",
    "content": "content main body",
    "article": "article story entry prose rich wysiwyg markdown paragraph",
    "product": "product price cart sku review rating spec",
    "forum": "message thread topic answer question forum",
    "list": "list grid card item tile archive result feed collection",
    "desc": "desc summary intro about detail faq accordion excerpt abstract overview",
    "section": "section wrap container block module component column",
}
"""What the class names, ids and roles of a page's elements say about their content: parts of names."""
_WHOLE_WORDS = {
    "nav": "nav tab tabs pager toc",
    "footer": "foot",
    "side": "rail",
    "related": "more",
    "ad": "ad ads gpt",
    "sub": "cta sign",
    "popup": "pop sr",
    "meta": "date tag tags bio",
    "article": "post text",
    "desc": "lead",
    "section": "row col",
}
"""The same: short words, which would be part of others."""
_NO_LETTERS = re.compile(r"[^a-z]+")
_MARKING_TEXT = "nav footer header aside form article main table ul ol dl figure section blockquote details"
_MARKING_TAGS = _MARKING_TEXT.split()
MARKS = (*_KIND_WORDS, *(f"<{tag}>" for tag in _MARKING_TAGS))
"""The names of a block's marks, by bit."""
_BIT = {name: 1 << at for at, name in enumerate(MARKS)}
_TAG_BIT = {tag: _BIT[f"<{tag}>"] for tag in _MARKING_TAGS}
_PART_BITS = tuple((part, _BIT[kind]) for kind, words in _KIND_WORDS.items() for part in words.split())
_WORD_BITS = {word: _BIT[kind] for kind, words in _WHOLE_WORDS.items() for word in words.split()}


class TextBlock(NamedTuple):
    """One run of text: its tag, the marks of all elements that hold it, the nearest, its characters in links."""

    text: str
    tag: str
    marks: int
    depth: int
    holder: int
    n_linked: int


@dataclass(slots=True)
class PageBlocks:
    """A page's blocks in order; the block elements, for each its parent, and a number that those of one look share."""

    blocks: list[TextBlock] = field(default_factory=list)
    elements: list[Any] = field(default_factory=lambda: [None])
    parents: list[int] = field(default_factory=lambda: [0])
    looks: list[int] = field(default_factory=lambda: [0])


@lru_cache(maxsize=20_000)
def _kinds_of_word(word: str) -> int:
    marks = _WORD_BITS.get(word, 0)
    for part, bit in _PART_BITS:
        if part in word:
            marks |= bit
    return marks


def _kinds(name: str) -> int:
    marks = 0
    for word in _NO_LETTERS.split(name.lower()):
        marks |= _kinds_of_word(word)
    return marks


class _Walk:
    """A walk through a page. Where it is, is the number of the nearest block element: 0 is outside of all."""

    def __init__(self) -> None:
        self.page = PageBlocks()
        self._run: list[str] = []
        self._n_linked = 0
        self._looks: dict[tuple[int, str, str | None], int] = {}
        self._kinds: dict[tuple[str | None, ...], int] = {}
        self._tags, self._marks, self._depths = ["body"], [0], [0]

    def end_run(self, holder: int) -> None:
        """The text since the last block's end becomes a block, if it is more than white space."""
        words, n_linked = "".join(self._run).split(), self._n_linked
        self._run.clear()
        self._n_linked = 0
        if words and (text := " ".join(words)).strip(" |"):
            place = self._tags[holder], self._marks[holder], self._depths[holder], holder
            self.page.blocks.append(TextBlock(text, *place, min(n_linked, len(text))))

    def _kinds_of(self, element: Any, look: str | None) -> int:
        names = look, element.get("id"), element.get("role")
        found = self._kinds.get(names)
        if found is None:
            found = self._kinds[names] = _kinds(" ".join(name or "" for name in names)[:MAX_NAME])
        return found

    def _enter(self, element: Any, tag: str, holder: int) -> int:
        """The number of a block element."""
        page, look = self.page, element.get("class")
        page.elements.append(element)
        page.parents.append(holder)
        page.looks.append(self._looks.setdefault((page.looks[holder], tag, look), len(self._looks) + 1))
        self._tags.append(tag)
        self._marks.append(self._marks[holder] | self._kinds_of(element, look) | _TAG_BIT.get(tag, 0))
        self._depths.append(self._depths[holder] + 1)
        return len(self._tags) - 1

    def walk(self, element: Any, holder: int, in_link: bool) -> None:
        """Read an element's text and its children's. libxml2 nests no deeper than 256 elements."""
        run = self._run
        if text := element.text:
            run.append(text)
            self._n_linked += len(text) if in_link and not text.isspace() else 0
        for child in element:
            tag = child.tag
            if tag in _BLOCKS:
                if run:
                    self.end_run(holder)
                inside = self._enter(child, tag, holder)
                self.walk(child, inside, in_link)
                if run:
                    self.end_run(inside)
            elif tag not in _SKIPPED:
                self._read_inline(child, tag, holder, in_link)
            if tail := child.tail:
                run.append(tail)
                self._n_linked += len(tail) if in_link and not tail.isspace() else 0

    def _read_inline(self, child: Any, tag: str, holder: int, in_link: bool) -> None:
        if tag == "br":
            self._run.append("\n")
            return
        if tag in _CELLS and self._run:
            self._run.append(" | ")
        self.walk(child, holder, in_link or tag == "a")


def blocks_of(tree: Any) -> PageBlocks:
    """The blocks of a page's body, in one walk."""
    body = tree.find("body") if tree.tag == "html" else tree
    walk = _Walk()
    if body is not None:
        walk.walk(body, 0, False)
        walk.end_run(0)
    return walk.page
