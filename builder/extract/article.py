"""Articles of news sites and blogs: which pages are one, and their text without its title and its calls to the reader.

The patterns were chosen on half 0 of the test pages by host (`bench/extraction.py`), then narrowed so that the lines of
lessons which resemble them stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from builder.extract.page_text import page_title

_NEWS = re.compile(r"(?:[\"']|schema\.org/)[A-Za-z]{0,12}NewsArticle[\"']")
"""NewsArticle and schema.org's kinds of it, such as ReportageNewsArticle."""
_LESSON = re.compile(r"[\"'](?:LearningResource|Course|Quiz|HowTo)[\"']")
"""schema.org's types of pages that teach."""
MIN_TITLE = 20
"""Letters from which a first line that is only the beginning of a title, at least half of it, counts as the title."""
MAX_CALL = 300
"""Characters of a line that may be a call to the reader or a title."""
MAX_HEADING = 2_000
"""Characters of a heading that are read."""
MIN_LINK_WORDS, MAX_LINK_WORDS = 4, 20
MAX_LINKS = 6
"""Lines after a heading such as "Related" that may be links."""
_ANY = ".{0,160}"
_SITES = "(?:facebook|twitter|instagram|youtube|linkedin|telegram|whatsapp|pinterest|tiktok|flipboard)"
_NEWSLETTER = r"\b(?:newsletters?|updates|e-?mails?|inbox|channel)\b"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = rf"""(?:[a-z]{{3,6}}day,?\ )?(?:
    {_MONTH}\.?\ \d{{1,2}},?\ \d{{4}} | \d{{1,2}}(?:st|nd|rd|th)?\ {_MONTH}\.?,?\ \d{{4}} | \d{{4}}-\d\d?-\d\d?
    | \d\d?[./]\d\d?[./]\d{{2,4}} | \d\d?[:.]\d\d?\ [ap]\.?m\b)"""
_CALL = re.compile(
    rf"""\W*+(?:
    (?:please\ )?(?:(?:follow|find|join|reach|contact)\b.{{0,60}}|like\ us)\ (?:on|at|via)\ {_SITES}\b.{{0,120}}
    | (?:subscribe|sign\ up)(?:\ (?:now|today|here|to|for)\b.{{0,120}})?\W*
    | {_ANY}\b(?:subscribe\ to|sign\ up\ (?:for|to))\ (?:our|my|the|\S+[’']s)\b.{{0,60}}{_NEWSLETTER}.{{0,60}}
    | {_ANY}\bclick\ here\ (?:to\ (?:subscribe|sign\ up|join|donate|follow)|for\ (?:more|our|the\ latest))\b.{{0,60}}
    | (?:read\ (?:more|also)|see\ more|also\ read|leggi\ anche(?:\ su)?|lesen\ sie\ auch|lea\ tambi[eé]n
      |leia\ (?:tamb[eé]m|mais)|lire\ aussi|lees\ ook)\s*[:>|]{_ANY}
    | also\ on\ (?!fig\b)[\w-]+\.[a-z]{{2,}}\b{_ANY}
    | {_ANY}\[(?-i:VIDEO|Video|PHOTOS?|PICTURES?|GALLERY|OPINION|LIVE)\]\W*
    | (?:image|media)\ ?caption(?:\b|(?-i:[A-Z])){_ANY}
    | (?!(?:fig(?:ure|\.)?|table|diagram|plate|graph|chart)\s*\w)(?:
        (?:{_ANY}\W)?(?:photo|image|picture)s?\ (?:credits?|by|courtesy(?:\ of)?): | (?:{_ANY}[^\w\s]\ ?)?photo:
        | (?:{_ANY}\S)?(?-i:Credit):)\ ?(?-i:[A-Z©@])[^.]{{0,60}}
    | like\ this\ (?:story|article|post)\b.{{0,80}}
    | tell\ us\ what\ you\ think\b.{{0,60}} | (?:have|got)\ a\ (?:news\ )?tip\?{_ANY}
    | leave\ a\ (?:comment|reply)\b.{{0,40}} | join\ the\ conversation\W*
    | \d+\s*(?:comments?|shares?) | comments | advertisement | sponsored\ content
    | (?:last\ )?(?:updated|modified|published|posted)(?:\ on|\ at)?:?\ {_DATE}(?!:\ [a-z]).{{0,30}}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Lines that call the reader to another page or service, or label what is not in the text."""
_LINKS = re.compile(
    r"""\W*+(?:
    (?:don.t|do\ not)\ miss\W*
    | you\ (?:may|might|.ll)\ (?:also\ )?(?:like|love|enjoy)(?:\ (?:these?|this)\b.{0,40})?\W*
    | (?:recommended|related|trending)(?:\ (?:articles?|posts?|stor(?:y|ies)|videos?|news|coverage|links))?\W*
    | most\ (?:read|popular|viewed|shared)(?:\ (?:in|on|stories|articles|news|posts|videos)\b.{0,40})?\W*
    | editor.s\ picks?\W*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Headings of links to other pages."""
_NO_LINK = re.compile(r"\W*(?:\d{1,3}|[a-z])[.)]\s.*|.*(?:[=→|].*|[.!?:;”\"])", re.IGNORECASE)
"""Points of a numbered list, formulas, rows of a table, and sentences."""


def is_article(html: str, tree: Any) -> bool:
    """Whether a page says of itself that it is an article (Open Graph's type, schema.org's news), and not a lesson."""
    types = (meta.get("content") for meta in tree.iter("meta") if meta.get("property") == "og:type")
    is_named = any((kind or "").strip().casefold() == "article" for kind in types) or (
        "NewsArticle" in html and _NEWS.search(html) is not None
    )
    return is_named and _LESSON.search(html) is None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _is_title(line: str, titles: Iterable[str]) -> bool:
    """Whether a line is one of the page's titles, or the beginning of one, which may have the site's name behind it."""
    letters = _letters(line) if len(line) <= MAX_CALL else ""
    may_be_part = len(letters) > MIN_TITLE and not line.endswith((".", "?", "!"))
    return bool(letters) and any(
        letters == whole or (may_be_part and whole.startswith(letters) and 2 * len(letters) >= len(whole))
        for whole in map(_letters, titles)
    )


def _is_link(line: str) -> bool:
    return MIN_LINK_WORDS <= line.count(" ") + 1 <= MAX_LINK_WORDS and not _NO_LINK.fullmatch(line)


def _without_calls(lines: Iterable[str]) -> Iterator[str]:
    n_links = 0  # that may still come
    for line in lines:
        is_short = len(line) <= MAX_CALL
        if is_short and _LINKS.fullmatch(line):
            n_links = MAX_LINKS
        elif n_links and _is_link(line):
            n_links -= 1
        elif not (is_short and _CALL.fullmatch(line)):
            n_links = n_links if not line else 0
            yield line


def titles_of(tree: Any) -> list[str]:
    """The page's title and its first heading of the first level, which a text may begin with."""
    headings = islice(tree.iter("h1"), 1)
    return [page_title(tree), *(heading.text_content()[:MAX_HEADING] for heading in headings)]


def article_text(text: str, titles: Iterable[str]) -> str:
    """An article's clean text without a first line that is one of its titles, and without calls to the reader."""
    lines = list(_without_calls(text.split("\n")))
    first = next((at for at, line in enumerate(lines) if line), len(lines))
    if first < len(lines) and _is_title(lines[first], titles):
        del lines[first]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
