"""The board over time: versions of the datasets, scores that moved between them, withdrawn systems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from edu_rag.names import DatasetId
from leaderboard.board.collect import Result, ResultGroup, TableKey
from leaderboard.board.present import Board, Row, Table, earlier_scorecard, present

STEPS = ("questions or gold changed", "pages, evidence or extraction changed", "only metadata changed")
"""The meaning of each of a version's three numbers."""


def version_page(dataset: DatasetId) -> str:
    """The path of the board of a dataset version in the site; it stays when the version is superseded."""
    return f"history/{dataset.release.folder}.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOnBoard:
    """One dataset version that has results: `groups` hold these alone, best score first, in the board's order.

    `newest` is the newest version of the dataset that has results, `before` the next older one.
    """

    dataset: DatasetId
    dataset_id: str
    newest: DatasetId
    before: DatasetId | None
    groups: Sequence[ResultGroup]

    @property
    def text(self) -> str:
        """`2.1.0`."""
        return str(self.dataset.version)

    @property
    def page(self) -> str:
        """Its own board."""
        return version_page(self.dataset)

    @property
    def is_current(self) -> bool:
        """Whether no newer version has results."""
        return self.dataset == self.newest

    @property
    def step(self) -> str:
        """The change against the version before, by the numbers; empty for the first."""
        if self.before is None:
            return ""
        pairs = zip(self.dataset.version, self.before.version, strict=True)
        return STEPS[next(place for place, (new, old) in enumerate(pairs) if new != old)]

    @property
    def results(self) -> list[Result]:
        """All results on it."""
        return [result for group in self.groups for result in group.results]

    @property
    def times(self) -> list[datetime]:
        """When its results were scored, oldest first."""
        return sorted(result.scored_at for result in self.results if result.scored_at is not None)


class Move(NamedTuple):
    """A system whose score on one part of a dataset is another one on a newer version.

    `n_other`: the questions whose outcome changed; None across majors, where questions or gold changed.
    """

    old: Result
    new: Result
    n_other: int | None

    @property
    def difference(self) -> float:
        """New score less old."""
        return self.new.card.counts.score - self.old.card.counts.score

    @property
    def why(self) -> str:
        """The possible causes, in words."""
        if self.new.key.major != self.old.key.major:
            return "other questions or gold"
        if self.new.card.made_on:
            return "answers of an older version, scored again"
        same = self.new.card.predictions_sha256 and self.new.card.predictions_sha256 == self.old.card.predictions_sha256
        if same:
            return "the same answers, scored again"
        # A patch changes metadata alone.
        is_patch = self.new.dataset.version[:2] == self.old.dataset.version[:2]
        return "answered again" if is_patch else "answered again, on other pages"


def all_results(groups: Iterable[ResultGroup]) -> list[Result]:
    """Every result of the groups, those that were replaced too."""
    return [result for group in groups for result in (*group.results, *group.earlier)]


def _groups_on(dataset: DatasetId, groups: Sequence[ResultGroup]) -> list[ResultGroup]:
    found = []
    for group in groups:
        own = [result for result in all_results([group]) if result.dataset == dataset]
        own.sort(key=lambda result: (-result.card.counts.score, result.card.system.slug))
        if own:
            found.append(ResultGroup(key=group.key, results=tuple(own)))
    return found


def versions_of(groups: Sequence[ResultGroup]) -> list[VersionOnBoard]:
    """Every dataset version that has results: datasets in the board's order, their newest version first."""
    by_name: dict[str, dict[DatasetId, str]] = defaultdict(dict)
    for result in all_results(groups):
        by_name[result.dataset.name][result.dataset] = result.card.dataset
    found = []
    for known in by_name.values():
        ordered = sorted(known, reverse=True)
        for dataset, before in zip(ordered, [*ordered[1:], None], strict=True):
            found.append(
                VersionOnBoard(
                    dataset=dataset,
                    dataset_id=known[dataset],
                    newest=ordered[0],
                    before=before,
                    groups=_groups_on(dataset, groups),
                )
            )
    return found


def _chain_key(result: Result) -> tuple[str, str, str, str, str]:
    """The properties that stay the same over the versions of a dataset."""
    key = result.key
    return key.name, key.split, key.sample or "", key.answers_rule, result.card.system.slug


def _n_other(old: Result, new: Result) -> int | None:
    before, after = old.card.outcomes, new.card.outcomes
    if old.key != new.key or len(before) != len(after) or not before:
        return None
    return sum(one != other for one, other in zip(before, after, strict=True))


def moves_of(groups: Sequence[ResultGroup]) -> list[Move]:
    """Systems whose score differs between two versions that follow one another, in the board's order, newest first."""
    chains: dict[tuple[str, str, str, str, str], list[Result]] = defaultdict(list)
    for result in all_results(groups):
        chains[_chain_key(result)].append(result)
    found = []
    for results in chains.values():
        ordered = sorted(results, key=lambda result: result.age, reverse=True)
        for new, old in pairwise(ordered):
            if new.card.counts.score != old.card.counts.score:
                found.append(Move(old, new, _n_other(old, new)))
    return sorted(found, key=lambda move: move.new.dataset.version, reverse=True)


def withdrawn_of(board: Board) -> list[tuple[Table, Row]]:
    """The rows that teams took back, each with its table."""
    return [(table, row) for table in board.tables for row in table.rows if row.withdrawn]


def _kept_row(row: Row, replaced: set[Path]) -> Row:
    """A row with the downloads of this result, not of the newer one that has its page."""
    if row.result.scorecard not in replaced:
        return row
    return replace(row, scorecard=earlier_scorecard(row.result), predictions=None)


def tables_on(version: VersionOnBoard, groups: Sequence[ResultGroup], board: Board) -> list[Table]:
    """The board as it is on one version alone: ranks are tested among the results on it."""
    standing: Mapping[TableKey, tuple[ResultGroup, Table]] = {
        group.key: (group, table) for group, table in zip(groups, board.tables, strict=True)
    }
    # A table without results on other versions is the board's own: its ranks need no second test.
    other = [group for group in version.groups if standing[group.key][0].results != group.results]
    anew = {table.key: table for table in present(other).tables} if other else {}
    replaced = {result.scorecard for group in groups for result in group.earlier}
    tables = [anew.get(group.key) or standing[group.key][1] for group in version.groups]
    return [replace(table, rows=[_kept_row(row, replaced) for row in table.rows]) for table in tables]
