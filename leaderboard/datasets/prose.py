"""The prose of a dataset's card and CHANGES.md: paragraphs and list items with a few marks, everything else is text.

The files are Markdown that the builder wrote, with every outside string escaped; a page gets back what was meant. It
knows no link, no picture and no HTML, so that nothing in a file can become one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

Mark = Literal["", "strong", "em", "code"]
MAX_CHARACTERS = 40_000
"""The limit of one section."""
_TOKEN = re.compile(r"\\([!-/:-@\[-`{-~])|(&lt;)|(\*\*|\*|`)")
_ITEM = re.compile(r"( *)- (.*)")
_MARKS: dict[str, Mark] = {"**": "strong", "*": "em", "`": "code"}


class ProseSpan(NamedTuple):
    """Words in one way of writing."""

    text: str
    mark: Mark = ""


class Block(NamedTuple):
    """A paragraph (`depth` 0) or an item of a list (1, and 2 for one inside another)."""

    spans: tuple[ProseSpan, ...]
    depth: int = 0


class Section(NamedTuple):
    """The text under a heading of the second level."""

    title: str
    blocks: Sequence[Block]


def spans_of(text: str) -> tuple[ProseSpan, ...]:
    """A line with its marks taken out; a mark that is never closed runs to the end."""
    found: list[ProseSpan] = []
    mark: Mark = ""
    done = 0
    for token in _TOKEN.finditer(text):
        escaped, less, turned = token.groups()
        if mark == "code" and turned != "`":
            continue  # inside code a mark is a character
        found.append(ProseSpan(text[done : token.start()], mark))
        done = token.end()
        if turned:
            mark = "" if _MARKS[turned] == mark else _MARKS[turned]
        else:
            found.append(ProseSpan("<" if less else escaped, mark))
    found.append(ProseSpan(text[done:], mark))
    return tuple(_joined(found))


def _joined(spans: Iterable[ProseSpan]) -> Iterator[ProseSpan]:
    """Neighbours of one mark as one span, empty ones left out."""
    held: ProseSpan | None = None
    for span in spans:
        if not span.text:
            continue
        if held is not None and held.mark == span.mark:
            held = ProseSpan(held.text + span.text, held.mark)
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def blocks_of(lines: Iterable[str]) -> list[Block]:
    """Paragraphs and items; a line that begins none goes on with the one before."""
    found: list[tuple[int, list[str]]] = []
    ended = True
    for line in lines:
        item = _ITEM.match(line)
        if not line.strip():
            ended = True
        elif item is not None:
            found.append((2 if item[1] else 1, [item[2]]))
            ended = False
        elif ended:
            found.append((0, [line.strip()]))
            ended = False
        else:
            found[-1][1].append(line.strip())
    return [Block(spans_of(" ".join(words)), depth) for depth, words in found]


def sections_of(text: str, most: int = 100) -> list[Section]:
    """The first `most` sections under `## ` headings, each cut at MAX_CHARACTERS; text before the first heading is left
    out.
    """
    parts = re.split(r"^## ", text, maxsplit=most + 1, flags=re.MULTILINE)[1 : most + 1]
    found = []
    for part in parts:
        title, _, body = part.partition("\n")
        cut = body[:MAX_CHARACTERS] + (" …" if len(body) > MAX_CHARACTERS else "")
        plain = "".join(span.text for span in spans_of(title.strip()[:200]))
        found.append(Section(plain, blocks_of(cut.splitlines())))
    return found
