"""Articles of news sites and blogs: which pages are one, and their text without its title and its calls to the reader.

The patterns were chosen on half 0 of the test pages by host (`bench/extraction.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from builder.extract.page_text import page_title

_NEWS = re.compile(r"(?:[\"']|schema\.org/)[A-Za-z]{0,12}NewsArticle[\"']")
"""NewsArticle and schema.org's kinds of it, such as ReportageNewsArticle."""
MIN_TITLE = 20
"""Letters from which a first line that is only a part of the page's title counts as the title."""
MAX_CALL = 300
"""Characters of a line that may be a call to the reader or a title."""
MAX_HEADING = 2_000
"""Characters that are read of a heading, of which a hostile page may have thousands of long ones."""
MAX_LINK_WORDS = 20
MAX_LINKS = 6
"""Lines after a heading such as "Related" that may be links."""
_SITES = "(?:facebook|twitter|instagram|youtube|linkedin|telegram|whatsapp|pinterest|tiktok|flipboard)"
_NEWSLETTER = r"\b(?:newsletters?|updates|e-?mails?|inbox|channel)\b"
_OTHERS = "(?:articles?|posts?|stor(?:y|ies)|reads?|reading|videos?|news|coverage|links|content)"
_REST = ".{0,160}"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = rf"(?:[a-z]{{3,9}},?\ )?(?:\d{{1,2}}(?:st|nd|rd|th)?[\ ./:-]|\d{{4}}-\d|{_MONTH}\.?\ \d)"
_CALL = re.compile(
    rf"""\W*+(?:
    (?:please\ )?(?:follow|find|join|watch|like|reach|contact)\b.{{0,80}}\b(?:on|at|via)\ {_SITES}\b{_REST}
    | (?:subscribe|sign\ up)\b{_REST}
    | {_REST}\b(?:subscribe\ to|sign\ up\ (?:for|to))\b.{{0,60}}{_NEWSLETTER}.{{0,60}}
    | {_REST}\bclick(?:ing)?\ here\b.{{0,60}}
    | (?:(?:see|read)\ (?:more|also)|also\ (?:read|see))\s*:{_REST}
    | also\ on\ [\w-]+\.\w{_REST}
    | (?:leggi\ anche|lesen\ sie\ auch|lea\ tambi[eé]n|leia\ (?:tamb[eé]m|mais)|lire\ aussi|lees\ ook)\b{_REST}
    | {_REST}\[(?:video|photos?|pictures?|gallery|insight|reaction|warning|news|opinion|live)\]\W*
    | (?:image|media)\ ?caption{_REST}
    | (?:(?:{_REST}\W)?(?:photo|image|picture)s?\ (?:credits?|by|courtesy(?:\ of)?): | (?:{_REST}[^\w\s]\ ?)?photos?:
      | (?:{_REST}\S)?(?-i:Credits?|Copyright):)\ ?(?-i:[A-Z©@])[^.]{{0,60}}
    | like\ this\ (?:story|article|post)\b.{{0,80}}
    | (?:tell\ us\ what|(?:have|got)\ a\ (?:news\ )?tip|leave\ a\ (?:comment|reply)|join\ the\ conversation){_REST}
    | \d*\s*comments? | \d+\s*shares? | advertisement | sponsored\ content
    | (?:last\ )?(?:updated|modified|published|posted)(?:\ on|\ at)?:?\ {_DATE}.{{0,30}}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Lines that call the reader to another page or service, or label what is not in the text."""
_LINKS = re.compile(
    rf"""\W*+(?:
    (?:don.t|do\ not)\ miss\W*
    | you\ (?:may|might|.ll)\ (?:also\ )?(?:like|love|enjoy).{{0,80}}
    | (?:recommended|related|trending)(?:\ {_OTHERS}\b.{{0,80}}|\s*:{_REST}|\W*)
    | most\ (?:read|popular|viewed|shared).{{0,60}} | editor.s\ picks?.{{0,60}}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Lines that come before links to other pages."""


def is_article(html: str, tree: Any) -> bool:
    """Whether a page says of itself that it is an article: by Open Graph's type or as schema.org's news."""
    types = (meta.get("content") for meta in tree.iter("meta") if meta.get("property") == "og:type")
    return any((kind or "").strip().casefold() == "article" for kind in types) or (
        "NewsArticle" in html and _NEWS.search(html) is not None
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _is_title(line: str, titles: Iterable[str]) -> bool:
    """Whether a line is one of the page's titles, which often have the site's name behind them."""
    letters = _letters(line) if len(line) <= MAX_CALL else ""
    is_part = len(letters) > MIN_TITLE
    return bool(letters) and any(letters == whole or (is_part and letters in whole) for whole in map(_letters, titles))


def _is_link(line: str) -> bool:
    return line.count(" ") < MAX_LINK_WORDS and not line.endswith((".", "!", "”", '"'))


def _without_calls(lines: Iterable[str]) -> Iterator[str]:
    n_links = 0  # that may still come
    for line in lines:
        is_short = len(line) <= MAX_CALL
        if is_short and _LINKS.fullmatch(line):
            n_links = MAX_LINKS
        elif n_links and (not line or _is_link(line)):
            n_links -= bool(line)
        elif not (is_short and _CALL.fullmatch(line)):
            n_links = 0
            yield line


def titles_of(tree: Any) -> list[str]:
    """The page's title and its headings of the first level, which a text may begin with."""
    return [page_title(tree), *(heading.text_content()[:MAX_HEADING] for heading in tree.iter("h1"))]


def article_text(text: str, titles: Iterable[str]) -> str:
    """An article's clean text without a first line that is one of its titles, and without calls to the reader."""
    lines = list(_without_calls(text.split("\n")))
    first = next((at for at, line in enumerate(lines) if line), len(lines))
    if first < len(lines) and _is_title(lines[first], titles):
        del lines[first]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
