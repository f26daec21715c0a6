"""Articles of news sites and blogs: which pages are one, and their text without its title and its calls to the reader.

The patterns were chosen on half 0 of the test pages by host (`bench/extraction.py`).
"""

from __future__ import annotations

import re
from typing import Any

_NEWS = re.compile(r"(?:[\"']|schema\.org/)(?:News|Reportage|OpinionNews|AnalysisNews)Article[\"']")
MIN_TITLE = 20
"""Letters from which a first line that is only a part of the page's title counts as the title."""
MAX_CALL = 300
_SITES = "(?:facebook|twitter|instagram|youtube|linkedin|telegram|whatsapp|pinterest|tiktok|flipboard)"
_NEWSLETTER = r"\b(?:newsletters?|updates|e-?mails?|inbox|channel)\b"
_OTHERS = "(?:articles?|posts?|stor(?:y|ies)|reads?|reading|videos?|news|coverage|links|content)"
_REST = ".{0,160}"
_CALL = re.compile(
    rf"""\W*(?:
    (?:please\ )?(?:follow|find|join|watch|like|reach|contact)\b.{{0,80}}\b(?:on|at|via)\ {_SITES}\b{_REST}
    | (?:subscribe|sign\ up)\b{_REST}
    | {_REST}\b(?:subscribe\ to|sign\ up\ (?:for|to))\b.{{0,60}}{_NEWSLETTER}.{{0,60}}
    | (?:(?:see|read)\ (?:more|also)|also\ (?:read|see))\s*:{_REST}
    | also\ on\ [\w-]+\.\w{_REST}
    | (?:leggi\ anche|lesen\ sie\ auch|lea\ tambi[eé]n|leia\ (?:tamb[eé]m|mais)|lire\ aussi|lees\ ook)\b{_REST}
    | (?:don.t|do\ not)\ miss\W*
    | you\ (?:may|might|.ll)\ (?:also\ )?(?:like|love|enjoy).{{0,80}}
    | (?:recommended|related|trending)(?:\ {_OTHERS}\b.{{0,80}}|\s*:{_REST}|\W*)
    | most\ (?:read|popular|viewed|shared).{{0,60}} | editor.s\ picks?.{{0,60}}
    | (?:image|media)\ ?caption{_REST} | (?:photo|image|picture)\ (?:credit|copyright|source)s?\s*:{_REST}
    | like\ this\ (?:story|article|post)\b.{{0,80}}
    | (?:tell\ us\ what|(?:have|got)\ a\ (?:news\ )?tip|leave\ a\ (?:comment|reply)|join\ the\ conversation){_REST}
    | \d*\s*comments? | \d+\s*shares? | advertisement | sponsored\ content
    | (?:last\ )?(?:updated|modified|published|posted)\b(?:\ on|\ at)?:?\ .{{0,20}}\d.{{0,30}}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Lines that call the reader to another page or service, or label what is not in the text."""


def is_article(html: str, tree: Any) -> bool:
    """Whether a page says of itself that it is an article: by Open Graph's type or as schema.org's news."""
    types = (meta.get("content") for meta in tree.iter("meta") if meta.get("property") == "og:type")
    return any((kind or "").strip().casefold() == "article" for kind in types) or _NEWS.search(html) is not None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _is_title(line: str, title: str) -> bool:
    """Whether a line is the page's title, which often has the site's name behind it."""
    letters, whole = _letters(line), _letters(title)
    return bool(letters) and (letters == whole or (len(letters) > MIN_TITLE and letters in whole))


def article_text(text: str, title: str) -> str:
    """An article's clean text without a first line that repeats its title, and without calls to the reader."""
    lines = [line for line in text.split("\n") if len(line) > MAX_CALL or not _CALL.fullmatch(line)]
    first = next((at for at, line in enumerate(lines) if line), len(lines))
    if first < len(lines) and _is_title(lines[first], title):
        del lines[first]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
