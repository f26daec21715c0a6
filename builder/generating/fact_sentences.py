"""The sentences of a page that a question can be made from: each states a fact, and can be understood alone."""

from __future__ import annotations

import re
from typing import NamedTuple

MIN_WORDS = 8
MAX_WORDS = 32
_POINTS_AWAY = re.compile(
    r"\b(?:figures?|tables?|images?|photos?|photographs?|micrographs?|diagrams?|drawings?|illustrations?|pictures?"
    r"|pictured|axis|axes|panels?|arrows?|labell?ed|shown|shows|seen|depicts|graphs?|equations?|examples?"
    r"|exercises?|problems?|chapters?|sections?|modules?|visit|video|in other words|perhaps"
    r"|this|these|those|above|below|following|former|latter|here|herein|see|recall|note|consider|credit|et al|accessed"
    r"|learning|objectives?|understanding|essential"
    r"|we|our|us|i|my|you|your|let|such|same|another|others|dr|mr|mrs|patient|her|his|he|she)\b|https?:|@|\|",
    re.IGNORECASE,
)
"""Words of a sentence that describes a picture, tells a story, or cannot be understood without the text around it."""
_BEGINS_AWAY = re.compile(
    r"(?:it|its|they|their|them|both|each|all|some|many|most|several|one|two|three|four|other|however|thus|therefore"
    r"|hence|then|also|but|and|or|so|because|first|second|third|next|finally|similarly|instead|moreover|furthermore"
    r"|in addition|in contrast|in fact|as a result|for instance|likewise|again|there|visit|even|only|once|now"
    r"|today|indeed"
    r"|the (?:first|second|third|last|other|two|three|latter|former|remaining|resulting))\b",
    re.IGNORECASE,
)
_MATHS = re.compile(r"[=→×∆Δ∝≈∑∫√^_{}\\]|\d\s*[+−*/]\s*\d|subscript|superscript")
_GLOSSARY_LINE = re.compile(r"([a-z][\w '’-]{2,40})(?: \([\w ,'’-]+\))?: ([a-z].+)$")
_WHOLE = re.compile(r"[A-Z][^?!:]*\.\)?$")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


class GlossaryLine(NamedTuple):
    """A term and what it means."""

    term: str
    meaning: str


def glossary_line(sentence: str) -> GlossaryLine | None:
    """A line of a glossary, "magma: molten rock under the surface"; None for another sentence."""
    found = _GLOSSARY_LINE.match(sentence)
    return GlossaryLine(found[1], found[2]) if found is not None and len(found[1].split()) <= 5 else None


def is_fact(sentence: str) -> bool:
    """Whether a sentence can be understood alone, as far as its words show; a line of a glossary is one, too."""
    if not MIN_WORDS <= len(sentence.split()) <= MAX_WORDS or not sentence.isprintable():
        return False
    if glossary_line(sentence) is None and not _WHOLE.match(sentence):
        return False
    if _POINTS_AWAY.search(sentence) or _BEGINS_AWAY.match(sentence) or _MATHS.search(sentence):
        return False
    return all(sentence.count(left) == sentence.count(right) for left, right in _PAIRS)
