"""The telling words of a query, for engines that would otherwise want every word of a question on a page."""

from __future__ import annotations

import re

_STOP_WORDS = """
a about after all also an and any are as at be been before between both but by can could did do does each few
following for from had has have he her his how i if in into is it its made make many may more most much not of on
one or other our out over own same she should so some such than that the their them then there these they this those
through to under up very was we were what when where which while who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


def telling_words(query: str) -> list[str]:
    """The query's distinct words in lower case, in order, without stop words unless it has no others."""
    words = list(dict.fromkeys(_WORD.findall(query.lower())))
    return [word for word in words if word not in STOP_WORDS] or words


def match_expression(query: str) -> str:
    """The query as an expression of SQLite's FTS5: its telling words, quoted and OR-ed; empty if it has no word."""
    return " OR ".join(f'"{word}"' for word in telling_words(query))


def cut_to(query: str, max_characters: int, max_words: int = 10_000) -> str:
    """The query's first words within an engine's limits; a single over-long word is cut."""
    kept: list[str] = []
    for word in query.split()[:max_words]:
        if len(" ".join([*kept, word])) > max_characters:
            break
        kept.append(word)
    return " ".join(kept) or query.strip()[:max_characters]
