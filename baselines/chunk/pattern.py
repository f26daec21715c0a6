"""Pattern chunks: a page is split at a delimiter that its structure has, such as "\\n§" (HyPA-RAG, section 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from baselines.chunk.sentences import chunker, n_tokens, runs
from baselines.parts import Chunk
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemPage

_HEADING = r"(?:#{1,6} [^\n]*|[^\Wa-z_][^\n.!?:;,|]{2,60})\n"
BLANK_LINES_AND_HEADINGS = rf"\n(?:[ \t]*\n)+(?:{_HEADING})*|\n(?:{_HEADING})+"
"""Blank lines; lines that begin with #; and short lines without a mark, as extracted pages have headings."""

Span = tuple[int, int]


def pieces(text: str, delimiter: re.Pattern[str]) -> list[Span]:
    """The spans between delimiters, without the white space around them; a delimiter opens the piece that it begins.

    Pieces of white space alone are left out. A delimiter may be empty (a look-ahead).
    """
    starts = sorted({0, *(match.start() for match in delimiter.finditer(text))})
    found = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        stripped = text[start:end].strip()
        if stripped:
            at = start + len(text[start:end]) - len(text[start:end].lstrip())
            found.append((at, at + len(stripped)))
    return found


def _inside(sentences: Sequence[Span], pieces: Sequence[Span]) -> Iterator[tuple[Span, list[Span]]]:
    """Each piece with its parts of sentences: a delimiter inside a sentence splits it."""
    ordered, first = sorted(sentences), 0
    for start, end in pieces:
        while first < len(ordered) and ordered[first][1] <= start:
            first += 1
        inside, at = [], first
        while at < len(ordered) and ordered[at][0] < end:
            inside.append((max(ordered[at][0], start), min(ordered[at][1], end)))
            at += 1
        yield (start, end), inside


def _cut(page: SystemPage, delimiter: re.Pattern[str], tokens: int) -> Iterator[Span]:
    for (start, end), sentences in _inside(page.sentences, pieces(page.text, delimiter)):
        if not sentences or n_tokens(page.text[start:end]) <= tokens:
            yield start, end
            continue
        found = runs([n_tokens(page.text[a:b]) for a, b in sentences], tokens)
        yield from ((sentences[first][0], sentences[last - 1][1]) for first, last in found)


def pattern(delimiter: str | None = None, regex: str | None = None, tokens: int = 512) -> Chunk:
    """The chunker that starts a new passage at each `delimiter` (a text) or match of `regex`.

    Without either, at blank lines and headings: the paper has "\\n§" for one law, and says that a delimiter belongs to
    a corpus. A passage of more than `tokens` is cut between sentences; the paper sets no limit here, but one for
    sentences, of 512. A piece without any sentence stays whole. Raises ConfigError on a wrong regex, an empty
    delimiter, or both.
    """
    if tokens < 1:
        raise ConfigError("parts.chunk.tokens", f"{tokens} is under 1", "give a number of at least 1")
    if delimiter is not None and regex is not None:
        raise ConfigError("parts.chunk", "has a delimiter and a regex", "name one of them")
    if "" in (delimiter, regex):
        raise ConfigError("parts.chunk", "the delimiter is empty", 'name one, such as "\\n§", or leave it out')
    wanted = re.escape(delimiter) if delimiter is not None else regex
    try:
        compiled = re.compile(wanted if wanted is not None else BLANK_LINES_AND_HEADINGS)
    except re.error as error:
        raise ConfigError(
            "parts.chunk.regex", f"{regex!r} is not a regular expression ({error})", "correct it"
        ) from None
    return chunker(lambda page: _cut(page, compiled, tokens))
