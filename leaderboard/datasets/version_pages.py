"""The dataset versions of an edition, those known from results alone too, with the prose of their cards and changes.

The files are Markdown that the builder wrote, with every outside string escaped; a page gets back what was meant. It
knows no link, no picture and no HTML, so that nothing in a file can become one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.names import DatasetId
from edu_rag.scorecard.card import Slice
from leaderboard.board.collect import Result
from leaderboard.board.present import FEW_VALUES, Table
from leaderboard.datasets.table_figures import Facts, facts_of
from leaderboard.edition import Edition
from leaderboard.exams import SiteExam

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


CARD, CHANGES, CROISSANT, MANIFEST = "README.md", "CHANGES.md", "croissant.json", "manifest.json"
MAX_BYTES = 5_000_000
"""A card, a list of changes or a metadata file over this is not shown."""
MOST_CHANGES = 30
"""Versions of CHANGES.md that a page shows; the file has all."""
TOP = "datasets.html"


class VersionTable(NamedTuple):
    """A table of the board with results on a version: how many systems are in it with them, and how many have newer
    results.
    """

    table: Table
    n_systems: int
    n_earlier: int


@dataclass(frozen=True)
class ShownVersion:
    """One version of a dataset. `dataset` is None if its folder was not given."""

    id: DatasetId
    dataset: Dataset | None = None
    exams: Sequence[SiteExam] = ()
    asked: Sequence[VersionTable] = ()
    results: Sequence[Result] = field(default=(), repr=False)

    @property
    def version(self) -> str:
        """`2.1.0`."""
        return str(self.id.version)

    @property
    def text(self) -> str:
        """The id that results name: `name@version#hash8`."""
        return str(self.id)

    @property
    def folder(self) -> str:
        """The folder of its pictures and files in the site."""
        return f"datasets/{self.id.release.folder}-{self.id.hash8}"

    @property
    def page(self) -> str:
        """Its page inside the site."""
        return f"{self.folder}.html"

    @cached_property
    def facts(self) -> Facts | None:
        """Its tables in numbers; reads every table but the gold."""
        return facts_of(self.dataset) if self.dataset else None

    @cached_property
    def card(self) -> dict[str, Section]:
        """The sections of its card by title."""
        return {section.title: section for section in self._sections(CARD)}

    @cached_property
    def changes(self) -> list[Section]:
        """Changes, the newest version first."""
        return self._sections(CHANGES)[:MOST_CHANGES]

    def _sections(self, name: str) -> list[Section]:
        path = self.files().get(name)
        return sections_of(path.read_text(encoding="utf-8", errors="replace")) if path else []

    def files(self) -> dict[str, Path]:
        """Its listed files that are not tables and not too large; and the manifest."""
        if self.dataset is None:
            return {}
        listed = [name for name in (CARD, CROISSANT, CHANGES) if name in self.dataset.manifest.files]
        found = {name: self.dataset.folder / name for name in (*listed, MANIFEST)}
        return {name: path for name, path in found.items() if path.stat().st_size <= MAX_BYTES}

    @property
    def slices(self) -> list[Slice]:
        """The slices of the largest scorecard, of its few-valued attributes."""
        cards = sorted((result.card for result in self.results), key=lambda card: (-card.counts.n, card.system.slug))
        if not cards:
            return []
        found: dict[str, list[Slice]] = {}
        for part in cards[0].slices:
            found.setdefault(part.attribute, []).append(part)
        return [part for name in sorted(found) if len(found[name]) <= FEW_VALUES for part in found[name]]

    @property
    def n_scored(self) -> int:
        """Questions of that scorecard."""
        return max((result.card.counts.n for result in self.results), default=0)


def _version(edition: Edition, one: DatasetId, dataset: Dataset | None, exams: Sequence[SiteExam]) -> ShownVersion:
    asked, results = [], []
    for table, group in zip(edition.board.tables, edition.groups, strict=True):
        now = [result for result in group.results if result.dataset == one]
        before = [result for result in group.earlier if result.dataset == one]
        results += [*now, *before]
        if now or before:
            slugs = {result.card.system.slug for result in before} - {result.card.system.slug for result in now}
            asked.append(VersionTable(table, len(now), len(slugs)))
    return ShownVersion(one, dataset, exams, asked, results)


def versions_of(edition: Edition) -> list[ShownVersion]:
    """Every version, by name, the newest first."""
    exams: dict[DatasetId, list[SiteExam]] = {}
    for exam in edition.exams.values():
        exams.setdefault(DatasetId.parse(exam.dataset.id), []).append(exam)
    named = {result.dataset for group in edition.groups for result in (*group.results, *group.earlier)}
    order = sorted({*exams, *named}, key=lambda one: (one.version, one.hash8), reverse=True)
    return [
        _version(edition, one, exams[one][0].dataset if one in exams else None, exams.get(one, ()))
        for one in sorted(order, key=lambda one: one.name)
    ]
