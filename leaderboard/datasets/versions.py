"""The dataset versions of an edition: those whose folder was given, and those that are known from results alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.names import DatasetId
from edu_rag.scorecard.card import Slice
from leaderboard.board.collect import Result
from leaderboard.board.present import FEW_VALUES, Table
from leaderboard.datasets.prose import Section, sections_of
from leaderboard.datasets.table_figures import Facts, facts_of
from leaderboard.edition import Edition
from leaderboard.exams import SiteExam

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
    def n_told(self) -> int:
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
