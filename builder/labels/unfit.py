"""Content that is not for minors: the `unfit` flag (EDU-RAG, section 7, asks for pages that suit a school).

Most words come from glin-profanity's English list (MIT licence; most of it is the LDNOOBW list, CC BY 4.0). One word
says little: science, medicine and history use many of them. So the rule counts points.

- A *frank* word, which such pages use and lessons do not, is a point. unfit_words.toml names what the list lacks, and
  which of its words are ordinary.
- An *ambiguous* word ("sex", "cocaine") is a point only with a word of the trade close to it ("videos", "vendor").
- Words of teaching ("disease", "history", "students") take points away: a lesson on drugs, a study of swearing.

A page is unfit if enough points are left, made by different words and dense enough. The constants and words were
chosen on the first half of a set of hand-made pages (tests/builder/unfit_pages.jsonl). Spellings count as listed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import msgspec

from edu_rag.errors import MissingExtraError

PACKAGE = "glin-profanity"
WORD_LIST = "glin_profanity/data/dictionaries/english.json"
MAX_CHARS = 2_000_000
NEAR = 4
"""So many words before and after an ambiguous one are searched for a word of its trade."""
SOBER_COST = 0.5
"""The part of a point that a word of teaching takes away."""
MIN_POINTS = 3.0
MIN_DISTINCT = 2
MIN_PER_1000 = 10.0
"""Points for each 1,000 words of the page, from which it is unfit."""
_WORD = re.compile(r"[a-z0-9$@]+(?:[!*&]+[a-z0-9$@]+)*")
"""Lower case and ASCII, as the list is, with spellings such as "f*ck". No text can be read as words in two ways, so it
takes linear time."""
Term = tuple[str, ...]


class _Trade(msgspec.Struct, forbid_unknown_fields=True):
    words: list[str]
    near: list[str]


class _Words(msgspec.Struct, forbid_unknown_fields=True):
    ordinary: list[str]
    frank: list[str]
    sober: list[str]
    ambiguous: list[_Trade]


class UnfitWords(NamedTuple):
    """The words, ready for matching: terms by their first word, longest first, each with the words of its trade."""

    by_first: dict[str, list[tuple[Term, frozenset[str]]]]
    """A frank term has no words of a trade."""
    sober: frozenset[str]
    singles: frozenset[str]
    phrases: tuple[Term, ...]


def words_of(text: str) -> list[str]:
    """The words of a text, of at most MAX_CHARS characters."""
    return _WORD.findall(text[:MAX_CHARS].lower())


def _terms(words: Iterable[str]) -> set[Term]:
    """The terms and their plurals."""
    terms = {tuple(words_of(word)) for word in words} - {()}
    return terms | {(*term[:-1], f"{term[-1]}s") for term in terms}


def _single(words: Iterable[str]) -> frozenset[str]:
    return frozenset(" ".join(term) for term in _terms(words))


def _listed_words() -> list[str]:
    """The English list of the package, none of whose code runs. Raises MissingExtraError."""
    try:
        path = Path(str(distribution(PACKAGE).locate_file(WORD_LIST)))
        return [str(word) for word in json.loads(path.read_text(encoding="utf-8"))["words"]]
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError) as error:
        remedy = "pip install --force-reinstall 'edu-rag-bench[build]'"
        raise MissingExtraError(
            "the flag unfit", f"the word list of {PACKAGE} cannot be read ({error})", remedy
        ) from error


@cache
def terms() -> UnfitWords:
    """The words of the rule. Raises MissingExtraError if the package with the list is not installed."""
    ours = msgspec.toml.decode((files(__package__) / "unfit_words.toml").read_bytes(), type=_Words)
    frank = (_terms(_listed_words()) - _terms(ours.ordinary)) | _terms(ours.frank)
    trades = {term: _single(trade.near) for trade in ours.ambiguous for term in _terms(trade.words)}
    near = dict.fromkeys(frank, frozenset[str]()) | trades
    by_first: dict[str, list[tuple[Term, frozenset[str]]]] = {}
    for term in sorted(near, key=len, reverse=True):
        by_first.setdefault(term[0], []).append((term, near[term]))
    singles = frozenset(term[0] for term in near if len(term) == 1)
    return UnfitWords(by_first, _single(ours.sober), singles, tuple(term for term in near if len(term) > 1))


def _found(words: Sequence[str], start: int, known: UnfitWords) -> Term | None:
    """The term that is a point at this place."""
    for term, trade in known.by_first[words[start]]:
        end = start + len(term)
        if tuple(words[start:end]) != term:
            continue
        if not trade or not trade.isdisjoint((*words[max(start - NEAR, 0) : start], *words[end : end + NEAR])):
            return term
    return None


def points(words: Sequence[str]) -> Iterator[Term]:
    """The terms that are points, in the order of the text; they do not overlap."""
    known, end = terms(), 0
    for start, word in enumerate(words):
        if word in known.by_first and start >= end:
            term = _found(words, start, known)
            if term is not None:
                end = start + len(term)
                yield term


def _most_points(counts: Counter[str], known: UnfitWords) -> int:
    """No text with these counts of words has more points."""
    n = sum(counts[word] for word in known.singles & counts.keys())
    return n + sum(min(counts[word] for word in term) for term in known.phrases if term[-1] in counts)


def is_unfit(text: str) -> bool:
    """Whether a page's title and text are content that is not for minors. Raises MissingExtraError."""
    words, known = words_of(text), terms()
    wanted = max(MIN_POINTS, MIN_PER_1000 * len(words) / 1000)
    counts = Counter(words)
    if _most_points(counts, known) < wanted:  # most pages: the search for points takes longer
        return False
    found = list(points(words))
    n_sober = sum(counts[word] for word in known.sober & counts.keys())
    return len(set(found)) >= MIN_DISTINCT and len(found) - SOBER_COST * n_sober >= wanted
