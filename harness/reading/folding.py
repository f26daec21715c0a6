"""Folding of texts for comparison: which differences of writing do not matter, in levels from strict to loose.

docs/scoring-spec.md, section 2.1, calls these levels writing, edges, plain, bare and core.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

APOSTROPHES = "\u2018\u2019\u201b\u02bc\u02b9\u2032\uff07`\u00b4"
QUOTES = "\u201c\u201d\u201e\u00ab\u00bb\u2033\u300c\u300d\u300e\u300f"
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
LETTER_SIGNS = {chr(first + i): chr(ord("a") + i) for first in (0x1F150, 0x1F170, 0x1F1E6) for i in range(26)}
"""Letters that NFKC does not fold: on dark circles, on dark squares, and those of flags."""
_WRITING = str.maketrans(
    dict.fromkeys(APOSTROPHES, "'")
    | dict.fromkeys(QUOTES, '"')
    | dict.fromkeys(DASHES, "-")
    | LETTER_SIGNS
    # NFKC alone would make 10² equal to 102.
    | {raised: f"^{plain}" for raised, plain in SUPERSCRIPTS.items()}
)
VARIATION = re.compile(r"[\ufe00-\ufe0f]")
ARTICLE = re.compile(r"(?:the|an|a) (?=\S)")
POSSESSIVE = re.compile(r"(?<=\w\w)'s?(?= \w)")
# An `a` inside is an article behind a preposition alone: `vitamin a`, `type a blood`, `both a and b`.
INNER_ARTICLE = re.compile(
    r" (?:the|an)(?= \w)|(?:(?<= (?:of|in|on|to|by|as|at))|(?<= for)|(?<= with)|(?<= from)) a(?= \w)(?! (?:and|or)\b)"
)
OF = re.compile(r"(?P<what>\w+) of (?P<whose>\w+)")
# A possessive without its apostrophe, `newtons first law`; `mass`, `genus` and `axis` keep their letter.
INNER_S = re.compile(r"(?<=\w\w[^\W\dsui])s(?= \w)")
ALL_OF = re.compile(r"\b(?P<all>all|both|none) of(?= \w)")
# How TeX, and people without it, write formulas and units.
TEX_SPACE = re.compile(r"\\[,;:! ]|~|\$|\\[()\[\]]")
TEX_GROUP = re.compile(r"\\(?:text|mathrm|mathbf|mathit|operatorname)(?=\{)|[{}]")
TIMES = re.compile(r"(?<=\d) ?(?:\u00d7|\\times|\\cdot|\u00b7|\*|x) ?(?=\d)")
PERCENT = re.compile(r"(?<=\d) ?(?:\\?%|percent\b|per cent\b)")
ABOUT = re.compile(r"(?:\u2248|\\approx|approximately\b|about\b|roughly\b) ?(?=\d)")
BELOW = re.compile(r"(?<=\w)_(?=\w)")
# A dot or comma before a digit, a minus before a number and signs such as % + < ^ mean something; the rest is dress.
# A run of asterisks is tried from its start alone: from each of 20,000 it took ten seconds an answer.
NUMBER_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
DRESS = re.compile(
    r"""\.(?!\d)|,(?!\d)|[;:!?"()\[\]{}]|(?<=\w)-(?=[^\W\d])|-(?!\w)|(?:^|(?<=\s))[*_]+|(?<![*_])[*_]+(?=\s|$)"""
)


_REMEMBERED = 4_096
"""Texts a level remembers: enough for the choices of the question at hand, too few for long answers to fill memory."""


@lru_cache(maxsize=_REMEMBERED)
def fold_writing(text: str) -> str:
    """NFKC, small letters, one kind of apostrophe, quote and dash, single spaces, nothing invisible."""
    if text.isascii():  # the same in a tenth of the time: of ASCII only the grave accent is folded
        return " ".join(text.lower().replace("`", "'").split())
    text = unicodedata.normalize("NFKC", VARIATION.sub("", text.translate(_WRITING))).casefold()
    if not text.isascii():
        text = "".join(char for char in text if unicodedata.category(char) != "Cf").translate(_WRITING)
    return " ".join(text.split())


@lru_cache(maxsize=_REMEMBERED)
def fold_edges(text: str) -> str:
    """`fold_writing` without quotes, asterisks and stops around the whole text."""
    return fold_writing(text).strip("\"'*_ ").rstrip(".!;, ").strip("\"'*_ ")


@lru_cache(maxsize=_REMEMBERED)
def fold_punctuation(text: str) -> str:
    """The specification's `plain`: `fold_edges` without apostrophes and without punctuation that carries no meaning.

    Signs and numbers stay.
    """
    text = fold_edges(text)
    for _ in range(8):  # taking one mark away may lay another bare: `0*)`
        if text.isascii() and text.replace(" ", "").isalnum():
            return text  # beyond ASCII, `fold_edges` may still join what an invisible character kept apart
        before, text = text, NUMBER_COMMA.sub("", fold_edges(text)).replace("'", "")
        text = " ".join(DRESS.sub(" ", text).split())
        if text == before:
            break
    return text


@lru_cache(maxsize=_REMEMBERED)
def fold_article(text: str) -> str:
    """The specification's `bare`: `fold_punctuation` without an article at the start.

    An `a` is an article only if a space and another word follow, so a label never is.
    """
    edges = fold_edges(text)
    article = ARTICLE.match(edges)
    return fold_punctuation(edges[article.end() :] if article else text)


@lru_cache(maxsize=_REMEMBERED)
def fold_owner(text: str) -> str:
    """The specification's `core`: `fold_article` without inner articles and possessives.

    `crust of earth` is `earth crust`.
    """
    words = ALL_OF.sub(r"\g<all>", INNER_ARTICLE.sub("", fold_article(POSSESSIVE.sub("", fold_edges(text)))))
    owner = OF.fullmatch(words)
    return f"{owner['whose']} {owner['what']}" if owner else INNER_S.sub("", words)


@lru_cache(maxsize=_REMEMBERED)
def fold_formula(text: str) -> str:
    """The specification's `formula`, `fold_punctuation` without TeX: `$50\\%$`, `50 percent` and `50%` are one."""
    text = TEX_GROUP.sub("", TEX_SPACE.sub(" ", fold_writing(text)))
    text = BELOW.sub("", PERCENT.sub("%", TIMES.sub("x", text)))
    return fold_punctuation(ABOUT.sub("", " ".join(text.split())))
