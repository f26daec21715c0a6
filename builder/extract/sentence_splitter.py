"""Cutting a page's text into sentences: Punkt with its English parameters and abbreviations of science.

Kiss & Strunk, Unsupervised Multilingual Sentence Boundary Detection, Computational Linguistics 32(4), 2006.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from edu_rag.records import Span

SPLITTER = "punkt-v1"
_SCIENCE_ABBREVIATIONS_TEXT = (
    "al anon approx app atm avg ca cf ch chap co conc dept diam dil dist ed eds edn eq eqn eqs eqns esp est etc e.g ex"
    " exp fig figs freq gen govt hort i.e illus inc incl intl jr lab lat lect long max mfg min misc mol mt mtn mts n.b"
    " neg no nos obs orig p pg phys pl pos pp prof prob pt publ q.v ref refs resp sec sect sol soln sp spp sq ssp st"
    " std subsp suppl tab tech temp univ var vars viz vol vols vs wt yr yrs"
)
SCIENCE_ABBREVIATIONS = frozenset(_SCIENCE_ABBREVIATIONS_TEXT.split())
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
# Punkt looks at tokens that end in one of these: a line without any is one sentence, without asking Punkt.
MAX_ENDS = 100_000
"""Possible ends that Punkt weighs on one page, at up to 14 microseconds each: more than 5 MB of prose have."""
_MAY_END = re.compile(r"[.?!][\s\")'\]’”»]")


@cache
def _tokenizer() -> Any:
    import copy

    from punkt import PunktSentenceTokenizer, load_model

    parameters = copy.deepcopy(load_model("english"))
    parameters.abbrev_types |= SCIENCE_ABBREVIATIONS
    return PunktSentenceTokenizer(parameters)


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends, or None if nothing else is in it."""
    cut = text[start:end]
    inner = cut.strip()
    if not inner:
        return None
    start += len(cut) - len(cut.lstrip())
    return Span(start, start + len(inner))


def split_sentences(text: str) -> tuple[Span, ...]:
    """The sentences of a text as offsets: trimmed, in order, never overlapping, together holding all that is not a
    space.

    A line break always ends a sentence (headings and list items have no full stop). A line with which a page has more
    than MAX_ENDS possible ends is one sentence.
    """
    spans: list[Span] = []
    n_ends = 0
    for line in _LINE.finditer(text):
        start, end = line.span()
        pieces: Iterable[tuple[int, int]] = ()
        n_here = len(_MAY_END.findall(text, start, end))
        if n_here and n_ends + n_here <= MAX_ENDS:
            n_ends += n_here
            pieces = _tokenizer().span_tokenize(line[0])
        last = start
        for _, piece_end in pieces:
            # Text between two pieces belongs to the later one, so that no character is lost.
            span = _trimmed(text, last, start + piece_end)
            last = start + piece_end
            if span is not None:
                spans.append(span)
        if last < end and (rest := _trimmed(text, last, end)) is not None:
            spans.append(rest)
    return tuple(spans)
