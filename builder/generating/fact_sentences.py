"""The sentences of a page that a question can be made from: each states a fact, and can be understood alone."""

from __future__ import annotations

import re
from typing import NamedTuple

MIN_WORDS = 8
MAX_WORDS = 32
SUBJECT_WORDS = 4
"""Words after "The" that may name what a sentence is about."""
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
    r"|today|indeed|calculate|find|determine|suppose|assume|compute|estimate|give|list|explain|describe|use|draw|imagine"
    r"|compare|predict|verify|prove|write|name|identify|define|discuss|what|how|why|figure|did|that|solution"
    r"|the (?:first|second|third|last|other|two|three|latter|former|remaining|resulting)"
    r"|the (?:\w+est|most|least) (?:is|are|was|were|has|have|had|can|may))\b",
    re.IGNORECASE,
)
_MATHS = re.compile(r"[=→×∆Δ∝≈∑∫√^_{}\\]|\d\s*[+−*/]\s*\d|subscript|superscript")
_GLOSSARY_LINE = re.compile(r"([a-z][\w '’-]{2,40})(?: \([\w ,'’-]+\))?: ([a-z].+)$")
_WHOLE = re.compile(r"[A-Z][^?!:]*\.\)?$")
_GLUED = re.compile(r"[a-z)]\.[A-Z]|[a-z)] (?:The|An?|In|On|At|For|If|When|Click|Per|Use) [a-z]")
"""The end of a sentence that has become one with the next: a citation, a heading."""
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
    if _BEGINS_AWAY.match(sentence) or any(one.search(sentence) for one in (_POINTS_AWAY, _MATHS, _GLUED)):
        return False
    return all(sentence.count(left) == sentence.count(right) for left, right in _PAIRS)


def has_open_subject(sentence: str, known: re.Pattern[str] | None) -> bool:
    """Whether a sentence begins with "the" and a thing that only the text around it names: "The pan has".

    A name, a term of the page's glossary, or "of" among its first words says which one is meant.
    """
    first, *words = sentence.split()[: SUBJECT_WORDS + 1]
    subject = " ".join(words)
    if first != "The" or "of" in words or any(word[0].isupper() for word in words):
        return False
    return known is None or known.search(subject) is None
