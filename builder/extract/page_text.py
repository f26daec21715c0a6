"""A page as a tree, its title, and the cleaning of every extractor's text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

MAX_TITLE = 300
MAX_MARKS = 1_000
_BLANK_LINES = re.compile(r"\n{3,}")
_ODD_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls, lone surrogates, zero-width joiners of hidden text, soft hyphens, bidirectional overrides.
_UNSEEN_CHARS = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
)
_UNSEEN = re.compile(f"[{_UNSEEN_CHARS}]")
# Unicode's stream-safe form (UAX 15): ordering a longer run of marks takes quadratic time.
_MARK = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
_MARKS = re.compile(f"([{_MARK}]{{30}})[{_MARK}]+")
# Most texts have none of these: one search for all takes a sixth of the time of three replacements.
_ODD = re.compile(f"[\r\v\f\x1c-\x1e\x85\u2028\u2029{_UNSEEN_CHARS}{_MARK}]")
# libxml2 reads characters that XML forbids, but lxml raises ValueError where a tree with one is changed. They become a
# line break or a space without width: `clean_text` makes the same of both, and an index separates words there.
_BREAKS = b"\v\f\x1c\x1d\x1e"
_CONTROLS = bytes(byte for byte in range(1, 0x20) if byte not in b"\t\n\r" + _BREAKS)
_ALIKE = bytes.maketrans(_BREAKS + _CONTROLS, b"\n" * len(_BREAKS) + b"\x01" * len(_CONTROLS))
_ZERO_WIDTH = "\u200b".encode()
_NONCHARACTERS = re.compile(b"\xef\xbf[\xbe\xbf]")
_FORBIDDEN_REFERENCES = re.compile(
    rb"&#(?:x0*([0-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f])|0*([0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]));?",
    re.IGNORECASE,
)


def bounded_marks(text: str) -> str:
    """Text without the combining marks after the thirtieth of a run."""
    return text if text.isascii() else _MARKS.sub(r"\1", text)


def clean_text(text: str) -> str:
    """Text in NFC without unseen characters, one space between words, at most one blank line between paragraphs."""
    if _ODD.search(text):
        # Invisible characters are removed first: they may separate a letter from its accent.
        text = bounded_marks(_UNSEEN.sub("", _ODD_BREAKS.sub("\n", text)))
    text = unicodedata.normalize("NFC", text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    text = "\n".join(lines).strip()
    return _BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text


@cache
def xpath(path: str) -> Any:
    """A compiled XPath: called with a tree, it returns the same as `tree.xpath`, with plain strings."""
    import lxml.etree

    return lxml.etree.XPath(path, smart_strings=False)


@cache
def _element_classes() -> Any:
    """HtmlElement for every tag, set in libxml2: lxml.html's own look-up asks Python once for each element."""
    import lxml.etree
    import lxml.html

    return lxml.etree.ElementDefaultClassLookup(element=lxml.html.HtmlElement)


def _instead(reference: re.Match[bytes]) -> bytes:
    number = int(reference[1], 16) if reference[1] else int(reference[2])
    # Never nothing: what is around a reference could be another one.
    return b" " if number > 0x20 else b"\n" if number in _BREAKS else _ZERO_WIDTH


def xml_safe(html: str) -> bytes:
    """The page in UTF-8 without NUL, which ends libxml2's input, and with others for characters that XML forbids."""
    data = html.encode("utf-8", "replace")
    # Each step takes longer than the search that shows that a page does not need it.
    data = data.translate(_ALIKE, b"\0") if b"\0" in data else data.translate(_ALIKE)
    data = data.replace(b"\x01", _ZERO_WIDTH)
    data = _NONCHARACTERS.sub(b" ", data) if b"\xef\xbf" in data else data
    return _FORBIDDEN_REFERENCES.sub(_instead, data) if b"&#" in data else data


def parse_html(html: str) -> Any:
    """An lxml tree of the page, or None if there is nothing in it."""
    import lxml.etree
    import lxml.html

    data = xml_safe(html)
    if not data.isascii() and data.count(b"\xcc") + data.count(b"\xcd") > MAX_MARKS:
        data = xml_safe(bounded_marks(html))
    if not data or data.isspace():
        return None
    # UTF-8, whatever the page declares: that was true of its bytes, not of this text.
    # Without a table of identities, which nothing asks for, parsing takes a fifth less time.
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    parser.set_element_class_lookup(_element_classes())
    try:
        return lxml.html.document_fromstring(data, parser=parser, ensure_head_body=True)
    except lxml.etree.ParserError:  # "Document is empty": nothing but comments, say
        return None


@dataclass(frozen=True, slots=True)
class PageSigns:
    """Which tags and class names a tree has anywhere: a pass that looks for others need not walk it."""

    tags: frozenset[str]
    classes: frozenset[str]

    def __contains__(self, tag: str) -> bool:
        return tag in self.tags


def signs_of(tree: Any) -> PageSigns:
    """The signs of a tree. Class names are case folded."""
    tags = frozenset(map(attrgetter("tag"), tree.iter()))
    values = " ".join(set(xpath("descendant-or-self::*/@class")(tree)))
    return PageSigns(tags, frozenset(values.casefold().split()))


def page_title(tree: Any) -> str:
    """The page's title: <title>, else og:title, else the first heading; empty if there is none."""
    for path in ("//head/title", '//meta[@property="og:title"]/@content', "//h1", "//title"):
        for found in xpath(path)(tree):
            title = clean_text(found if isinstance(found, str) else str(found.text_content())).replace("\n", " ")
            if title:
                return " ".join(title.split())[:MAX_TITLE]
    return ""
