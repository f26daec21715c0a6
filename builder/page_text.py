"""The extractors: from the HTML of one page to its clean text. They run inside a worker of builder.extract."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

MAX_TITLE = 300
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_ODD_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls, lone surrogates, zero-width joiners of hidden text, soft hyphens, bidirectional overrides.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_BLOCKS_TEXT = (
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3"
    " h4 h5 h6 header hr li main nav ol option p pre section summary table tbody td tfoot th thead title tr ul"
)
_BLOCKS = frozenset(_BLOCKS_TEXT.split())
_DROPPED = ("script", "style", "noscript", "template", "head")
_CC = re.compile(r"https?://(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[\w./+-]{2,60}", re.IGNORECASE)


def clean_text(text: str) -> str:
    """Text in NFC without unseen characters, one space between words, at most one blank line between paragraphs."""
    text = _UNSEEN.sub("", _ODD_BREAKS.sub("\n", unicodedata.normalize("NFC", text)))
    lines = (line.strip() for line in _SPACES.sub(" ", text).split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def parse_html(html: str) -> Any:
    """An lxml tree of the page, or None where there is nothing in it."""
    import lxml.etree
    import lxml.html

    # NUL ends libxml2's input; a declared encoding is no longer true of text that is decoded.
    data = html.replace("\0", "").encode("utf-8", "replace")
    if not data.strip():
        return None
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return lxml.html.document_fromstring(data, parser=parser, ensure_head_body=True)
    except lxml.etree.ParserError:  # "Document is empty": nothing but comments, say
        return None


def page_title(tree: Any) -> str:
    """The page's title: <title>, else og:title, else the first heading; empty where there is none."""
    for path in ("//head/title", '//meta[@property="og:title"]/@content', "//h1", "//title"):
        for found in tree.xpath(path):
            title = clean_text(found if isinstance(found, str) else str(found.text_content())).replace("\n", " ")
            if title:
                return " ".join(title.split())[:MAX_TITLE]
    return ""


def page_license(tree: Any) -> str | None:
    """The address of the licence that the page names: a rel=license link, else the only Creative Commons link."""
    for href in tree.xpath('//*[self::a or self::link][contains(concat(" ", @rel, " "), " license ")]/@href'):
        address = clean_text(str(href))
        if address.startswith(("http://", "https://")) and len(address) <= 200:
            return address
    found = {match[0] for href in tree.xpath("//a/@href") if (match := _CC.match(str(href)))}
    return found.pop() if len(found) == 1 else None


def trafilatura_v1(html: str, tree: Any) -> str:
    """Science pre-pass, then trafilatura with tables, without comments, without its process-wide deduplication."""
    from trafilatura import bare_extraction

    from builder.prepass import apply_prepass

    apply_prepass(tree)
    found = bare_extraction(
        tree,
        include_comments=False,
        include_tables=True,
        deduplicate=False,
        with_metadata=False,
        output_format="python",
    )
    return str(getattr(found, "text", None) or "")


def newspaper3k_v1(html: str, tree: Any) -> str:
    """The extractor of the EDU-RAG paper: newspaper3k as it comes, but for its fetching of images."""
    from newspaper import Article

    article = Article("", language="en", fetch_images=False)
    article.set_html(html)
    article.parse()
    return str(article.text)


def bs4_v1(html: str, tree: Any) -> str:
    """All text of the page but scripts and styles; a block element ends its line."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "lxml")
    for element in soup(_DROPPED):
        element.decompose()
    for element in soup(list(_BLOCKS)):
        element.append("\n")
        element.insert_before("\n")
    return soup.get_text()


EXTRACTORS: Mapping[str, Callable[[str, Any], str]] = {
    "trafilatura-v1": trafilatura_v1,
    "newspaper3k-v1": newspaper3k_v1,
    "bs4-v1": bs4_v1,
}
