"""How good a tool's text of a page is: a model says of each block whether it is main text, and texts are held to that.

The model is gradient-boosted trees, fitted on one half of the test pages by host (`bench/extraction_model.py`) and kept
in `text_estimate.json`. Leaf values are whole numbers, so that no machine rounds a sum in another way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from builder.extract.page_blocks import MARKS, PageBlocks, TextBlock, blocks_of

_MODEL = Path(__file__).with_name("text_estimate.json")
SCALE = 10_000
"""What a leaf's value is multiplied by before it is rounded."""
SHORT = 250
_TAGS_TEXT = "p li h1 h2 h3 h4 h5 h6 div tr dt dd pre blockquote figcaption section label"
_TAGS = {tag: number for number, tag in enumerate(_TAGS_TEXT.split())}
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_END = re.compile(r"[.!?…][\"')\]’”]?(?:\s|$)")
_FRAME_TEXT = (
    "share tweet pin email e-mail print facebook twitter linkedin whatsapp instagram pinterest reddit comment comments"
    " reply replies login log sign register subscribe newsletter follow copyright © rights reserved privacy cookie"
    " cookies terms read more next full see also view show load learn related recommended like most popular viewed"
    " trending latest recent advertisement sponsored promoted skip back previous home menu search contact cart buy"
    " stock categories filed posted author by ago updated published tags: tags"
)
_FRAME = frozenset(_FRAME_TEXT.split())
"""Words of a page's frame, for short blocks."""
_SECTION_TEXT = (
    r"related|recommend|you (?:may|might)|also like|more (?:from|in|on|stories|news|articles)|most |popular|trending"
    r"|latest|recent|comments?|repl(?:y|ies)|leave a|share|follow|subscribe|newsletter|sign up|about (?:us|the author)"
    r"|contact|categories|tags|archives?|links|navigation|menu|search|footer|sponsored|advert|read next|up next"
    r"|see also|references|sources|notes|external"
)
"""Headings of sections that are no main text."""
_SECTION, _SECTION_LOWER = re.compile(_SECTION_TEXT, re.IGNORECASE), re.compile(_SECTION_TEXT)


@dataclass(frozen=True, slots=True)
class _Counts:
    """What is counted of each block: arrays of one length."""

    chars: Any
    words: Any
    linked: Any
    ends: Any
    prose: Any
    frame: Any
    tags: Any

    @property
    def link_share(self) -> Any:
        return self.linked / self.chars


def _array(values: Any) -> Any:
    return np.fromiter(values, dtype=np.float64)


def _counts(page: PageBlocks) -> _Counts:
    texts = [block.text for block in page.blocks]
    chars, words = _array(map(len, texts)), _array(text.count(" ") + 1 for text in texts)
    linked, ends = _array(block.n_linked for block in page.blocks), _array(map(_n_ends, texts))
    is_prose = (words >= 10) & (linked < 0.35 * chars) & ((ends > 0) | (words >= 25))
    frame = _array(map(_n_frame_words, texts))
    tags = _array(_TAGS.get(block.tag, 30) for block in page.blocks)
    return _Counts(chars, words, linked, ends, chars * is_prose, frame, tags)


def _share(part: Any, whole: Any) -> Any:
    return part / np.maximum(1.0, whole)


def _shifted(values: Any, by: int, fill: float) -> Any:
    """Each block's neighbour's value: `by` blocks before it, or after it if `by` is negative."""
    result = np.full_like(values, fill)
    if by > 0:
        result[by:] = values[:-by]
    else:
        result[:by] = values[-by:]
    return result


def _window(values: Any, reach: int) -> Any:
    """The sum over a block and `reach` blocks on both sides of it."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    return total[np.minimum(len(values), at + reach + 1)] - total[np.maximum(0, at - reach)]


def _own(page: PageBlocks, counts: _Counts) -> Iterator[tuple[str, Any]]:
    """What a block is by itself."""
    texts = [block.text for block in page.blocks]
    yield from (("words", counts.words), ("chars", counts.chars), ("link share", counts.link_share))
    yield "ends", counts.ends
    yield "commas", _array(text.count(",") for text in texts)
    yield "cells", _array(text.count(" | ") for text in texts)
    yield "is ended", _array(text[-1] in '.!?…:"”)' for text in texts)
    yield "is upper", _array(text[0].isupper() for text in texts)
    yield from (("frame words", counts.frame), ("tag", counts.tags))
    yield "depth", _array(block.depth for block in page.blocks)


def _n_ends(text: str) -> int:
    """The ends of sentences in a text. Most short texts have no character that could be one."""
    may_end = "." in text or "?" in text or "!" in text or "…" in text
    return len(_END.findall(text)) if may_end else 0


def _n_frame_words(text: str) -> int:
    return len(_FRAME.intersection(text.lower().split())) if len(text) < SHORT else 0


def _is_other(heading: str) -> bool:
    if heading.isascii():  # an expression that ignores case takes three times as long
        return _SECTION_LOWER.search(heading.lower()) is not None
    return _SECTION.search(heading) is not None


def _under(page: PageBlocks) -> Iterator[tuple[str, Any]]:
    """What a block is under: the last heading, and how far away that is."""
    other, since, n_headings = [], [], []
    is_other, n_since, n = False, 0, 0
    for block in page.blocks:
        if block.tag in _HEADINGS:
            is_other = len(block.text) < 60 and _is_other(block.text)
            n, n_since = n + 1, 0
        other.append(is_other)
        since.append(n_since)
        n_headings.append(n)
        n_since += len(block.text)
    yield from (("other section", _array(other)), ("since heading", _array(since)), ("headings", _array(n_headings)))


def _around(counts: _Counts) -> Iterator[tuple[str, Any]]:
    """The neighbours of a block."""
    for by in (1, 2, 3, -1, -2, -3):
        yield f"words {by}", _shifted(counts.words, by, 0.0)
        yield f"link share {by}", _shifted(counts.link_share, by, 1.0)
    for by in (1, 2, -1, -2):
        yield f"tag {by}", _shifted(counts.tags, by, -1.0)
        yield f"frame words {by}", _shifted(counts.frame, by, 0.0)
        yield f"ends {by}", _shifted(counts.ends, by, 0.0)
    for reach in (5, 15):
        chars = _window(counts.chars, reach)
        yield f"link share of {reach}", _window(counts.linked, reach) / chars
        yield f"prose of {reach}", _window(counts.prose, reach) / chars
        yield f"chars of {reach}", chars


def _place(page: PageBlocks, counts: _Counts) -> Iterator[tuple[str, Any]]:
    """Where on the page a block is."""
    ends = np.cumsum(counts.chars)
    starts = ends - counts.chars
    yield "place", starts / ends[-1]
    yield "number", np.arange(len(starts)) / len(starts)
    first = next((at for at, block in enumerate(page.blocks) if block.tag == "h1"), None)
    yield "after h1", starts - starts[first] if first is not None else np.full(len(starts), -1e6)
    prose = np.flatnonzero(counts.prose)
    yield "after prose", starts - (starts[prose[0]] if len(prose) else 0.0)
    yield "before prose ends", (ends[prose[-1]] if len(prose) else ends[-1]) - ends


def _held(page: PageBlocks, counts: _Counts) -> Iterator[tuple[str, Any]]:
    """What the elements that hold a block hold in all, from the nearest one up."""
    holders, parents = np.array([block.holder for block in page.blocks]), np.array(page.parents)
    ends = _ends_of(page.parents)
    sums = {
        name: _summed_up(values, holders, ends)
        for name, values in (("chars", counts.chars), ("linked", counts.linked), ("prose", counts.prose))
    }
    sums["blocks"] = _summed_up(np.ones(len(holders)), holders, ends)
    n_prose, n_chars, at = counts.prose.sum(), counts.chars.sum(), holders
    for level in range(5):
        chars = sums["chars"][at]
        yield f"chars in {level}", chars
        yield f"blocks in {level}", sums["blocks"][at]
        yield f"link share in {level}", _share(sums["linked"][at], chars)
        yield f"share of prose in {level}", _share(sums["prose"][at], n_prose)
        yield f"prose in {level}", _share(sums["prose"][at], chars)
        at = parents[at]
    for share in (0.5, 0.8, 0.95):
        main = int(np.flatnonzero(sums["prose"] >= share * n_prose)[-1])
        yield f"in main {share}", ((main <= holders) & (holders < ends[main])).astype(np.float64)
        yield f"main {share}", np.full(len(holders), sums["chars"][main] / n_chars)


def _ends_of(parents: list[int]) -> Any:
    """For each element the number after its last descendant's: elements are numbered as a page begins them."""
    ends = list(range(1, len(parents) + 1))
    for at in range(len(parents) - 1, 0, -1):
        if ends[at] > ends[parents[at]]:
            ends[parents[at]] = ends[at]
    return np.array(ends)


def _summed_up(values: Any, holders: Any, ends: Any) -> Any:
    """The sum over all blocks that each element holds, itself or in another. Values are whole: no sum is rounded."""
    before = np.concatenate([[0.0], np.cumsum(np.bincount(holders, weights=values, minlength=len(ends)))])
    return before[ends] - before[:-1]


def _alike(page: PageBlocks, counts: _Counts) -> Iterator[tuple[str, Any]]:
    """The blocks whose elements look the same."""
    looks = np.array([page.looks[block.holder] for block in page.blocks])
    n, chars = np.bincount(looks)[looks].astype(np.float64), np.bincount(looks, weights=counts.chars)[looks]
    yield "alike", n
    yield "chars alike", chars / n
    yield "link share alike", np.bincount(looks, weights=counts.linked)[looks] / chars
    yield "prose alike", _share(np.bincount(looks, weights=counts.prose)[looks], counts.prose.sum())


def _kind_of_page(counts: _Counts, marks: Any) -> Iterator[tuple[str, Any]]:
    """What kind of page it is: the same for all its blocks."""
    n, n_prose = len(counts.chars), np.count_nonzero(counts.prose)
    for name, value in (
        ("words of page", counts.words.sum()),
        ("link share of page", counts.linked.sum() / counts.chars.sum()),
        ("prose of page", counts.prose.sum()),
        ("prose share of page", counts.prose.sum() / counts.chars.sum()),
        ("prose blocks of page", n_prose),
        ("blocks of page", n),
        ("mean prose of page", counts.prose.sum() / max(1, n_prose)),
    ):
        yield name, np.full(n, float(value))
    for name in ("<article>", "<main>", "forum", "product", "comment", "list"):
        yield f"{name} of page", np.full(n, marks[:, MARKS.index(name)].mean())


def features_of(page: PageBlocks) -> tuple[Any, list[str]]:
    """A row for each block of a page that has some, and the names of its columns."""
    counts = _counts(page)
    bits = np.array([block.marks for block in page.blocks], dtype=np.int64)
    marks = ((bits[:, None] >> np.arange(len(MARKS))) & 1).astype(np.float64)
    parts: tuple[Callable[[], Iterator[tuple[str, Any]]], ...] = (
        lambda: _own(page, counts),
        lambda: _under(page),
        lambda: _around(counts),
        lambda: _place(page, counts),
        lambda: _held(page, counts),
        lambda: _alike(page, counts),
        lambda: _kind_of_page(counts, marks),
    )
    named = [column for part in parts for column in part()]
    columns = np.array([values for _, values in named]).T
    return np.concatenate([columns, marks], axis=1), [*(name for name, _ in named), *MARKS]


@dataclass(frozen=True, slots=True)
class _Trees:
    """All trees' nodes in one row: a leaf leads to itself, so that every block takes the same number of steps."""

    roots: Any
    column: Any
    limit: Any
    sides: Any
    value: Any
    depth: int
    start: int
    names: tuple[str, ...]

    def chances(self, rows: Any) -> Any:
        """For each block, the chance that it is main text, in thousandths of one."""
        points = np.concatenate([self._points(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)])
        return np.round(1 / (1 + np.exp(-points / SCALE)), 3)

    def _points(self, rows: Any) -> Any:
        flat, starts = rows.ravel(), (np.arange(len(rows)) * rows.shape[1])[:, None]
        at = np.repeat(self.roots[None, :], len(rows), axis=0)
        for _ in range(self.depth):
            is_above = flat.take(self.column.take(at) + starts) > self.limit.take(at)
            at = self.sides.take(2 * at + is_above)
        return self.value.take(at).sum(axis=1) + self.start


_ROWS = 2_000
"""Blocks that are weighed at once: it bounds memory on a page of very many."""


@cache
def _trees() -> _Trees:
    """The model as it is kept."""
    kept = json.loads(_MODEL.read_text(encoding="utf-8"))
    whole = {name: np.array(kept[name], dtype=np.int64) for name in ("roots", "column", "sides", "value")}
    names = tuple(kept["names"])
    return _Trees(limit=np.array(kept["limit"]), depth=kept["depth"], start=kept["start"], names=names, **whole)


def _squeezed(text: str) -> str:
    """A text without what tools write in different ways: spaces, cells' bars, list marks."""
    return "".join(text.split()).replace("|", "").replace("-", "")


def _squeezed_block(block: TextBlock) -> str:
    """The same of a block's text, in which words are parted by single spaces."""
    return block.text.replace(" ", "").replace("|", "").replace("-", "")


PIECE = 4
_MIX = (np.uint32(2_654_435_761), np.uint32(2_246_822_519), np.uint32(3_266_489_917))
_SLOT_BITS = 18


def _slots(text: str) -> Any:
    """A number of a few bits for each place of a text: the same wherever the next PIECE characters are the same."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    pairs = codes[:-1] * _MIX[0] + codes[1:]
    return (pairs[:-2] * _MIX[1] + pairs[2:]) * _MIX[2] >> np.uint32(32 - _SLOT_BITS)


def _table_of(text: str) -> Any:
    """For each number whether a place of the text has it."""
    table = np.zeros(1 << _SLOT_BITS, np.bool_)
    table[_slots(text)] = True
    return table


class _Passages:
    """Short passages that are looked for in several texts: most of them are in none, which one look at tables shows."""

    def __init__(self, text: str, starts: Any, passages: list[str]) -> None:
        """`passages` begin at `starts` of `text`."""
        self._passages = passages
        n_chars = np.fromiter(map(len, passages), np.int64, len(passages))
        self._is_tiny = n_chars < PIECE
        places = np.minimum(np.arange(0, ENDS, PIECE), np.maximum(n_chars - PIECE, 0)[:, None]) + starts[:, None]
        slots = _slots(text)
        self._slots = slots.take(places, mode="clip") if len(slots) else places * 0

    def found_in(self, text: str, table: Any, wanted: Any, step: int) -> Any:
        """For each of every so many passages, 1 if it is wanted and in the text, else 0. `table` is the text's."""
        maybe = wanted & (self._is_tiny | table.take(self._slots).all(axis=1))[::step]
        found, last = np.zeros(len(maybe), np.int64), 0
        for at in np.flatnonzero(maybe).tolist():
            passage = self._passages[at * step]
            place = text.find(passage, last)  # a page's passages mostly come in the same order in a text
            if place < 0:
                place = text.find(passage, 0, last + len(passage))
            if place >= 0:
                found[at], last = 1, place
        return found


class PageEstimate:
    """What is expected of one page's blocks, to hold texts to."""

    def __init__(self, page: PageBlocks, chances: Any) -> None:
        self._page = page
        self._thousandths = np.round(1_000 * chances).astype(np.int64)
        keys = [_squeezed_block(block) for block in page.blocks]
        self._n_chars = np.fromiter(map(len, keys), np.int64, len(keys))
        self._holders = np.fromiter((block.holder for block in page.blocks), np.int64, len(keys))
        self._is_dropped = [False] * len(page.parents)
        text, ends = "".join(keys), np.cumsum(self._n_chars)
        self._starts = _Passages(text, ends - self._n_chars, [key[:ENDS] for key in keys])
        self._ends = _Passages(text, ends - np.minimum(self._n_chars, ENDS), [key[-ENDS:] for key in keys])

    def expected_f1(self, text: str) -> float:
        """The F1 that a text of this page is expected to have, over characters of blocks."""
        squeezed = _squeezed(text)
        step = 1 + len(self._n_chars) * len(squeezed) // MAX_SEARCHED
        n_ends = self._n_ends_in(squeezed, step)
        chances, n_chars = self._thousandths[::step], self._n_chars[::step]
        # In whole numbers, so that every machine has the same sums.
        return int((chances * n_ends * n_chars).sum()) / max(1, int(((500 * n_ends + chances) * n_chars).sum()))

    def _n_ends_in(self, squeezed: str, step: int) -> Any:
        """How many of its two ends the text has of each block, or of every so many."""
        is_kept = ~np.array(self._is_dropped)[self._holders][::step]
        is_long, table = self._n_chars[::step] > ENDS, _table_of(squeezed)
        n_starts = self._starts.found_in(squeezed, table, is_kept, step)
        return n_starts + np.where(is_long, self._ends.found_in(squeezed, table, is_kept & is_long, step), n_starts)

    def drop_frame(self) -> None:
        """Remove from the tree the elements that surely hold no main text, if another one does hold some."""
        page, best = self._page, self._best_chances()
        for at in range(1, len(best)) if best[0] >= MAIN_TEXT else ():
            # In HTML's standard an <address> is no text: it names whom to write to.
            limit = MAIN_TEXT if page.elements[at].tag == "address" else FRAME
            if self._is_dropped[page.parents[at]]:
                self._is_dropped[at] = True
            elif best[at] < limit:
                self._is_dropped[at] = True
                page.elements[at].drop_tree()

    def _best_chances(self) -> list[int]:
        """The best chance of the blocks in each element."""
        page = self._page
        best = [0] * len(page.parents)
        for block, chance in zip(page.blocks, self._thousandths.tolist(), strict=True):
            best[block.holder] = max(best[block.holder], chance)
        for at in range(len(best) - 1, 0, -1):
            best[page.parents[at]] = max(best[page.parents[at]], best[at])
        return best


ENDS = 40
"""Characters at both ends of a block by which it is found in a text."""
MAX_SEARCHED = 200_000_000
"""Blocks times characters of a text: on a page with more, only every so many blocks are looked for."""
FRAME = 50
"""Chance, in thousandths, under which a block is part of the page's frame."""
MAIN_TEXT = 500
"""Chance, in thousandths, from which a block is main text."""


def estimate_of(tree: Any, chances_of: Callable[[Any], Any] | None = None) -> PageEstimate | None:
    """The estimate of a prepared page; None for a page without text. Another model gives other chances of its rows."""
    page = blocks_of(tree)
    if not page.blocks:
        return None
    rows, _ = features_of(page)
    return PageEstimate(page, (chances_of or _trees().chances)(rows))
