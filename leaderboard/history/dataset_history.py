"""The board over time: dataset versions, moved scores, withdrawn systems, corrections; as events, the newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from edu_rag.look.texts import clip, one_line, signed
from edu_rag.names import DatasetId
from leaderboard.board.collect import Result, ResultGroup, TableKey
from leaderboard.board.present import Board, Row, Table, earlier_scorecard, present
from leaderboard.history.errata import Erratum

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
    presented = {table.key: table for table in present(other).tables} if other else {}
    replaced = {result.scorecard for group in groups for result in group.earlier}
    tables = [presented.get(group.key) or standing[group.key][1] for group in version.groups]
    return [replace(table, rows=[_kept_row(row, replaced) for row in table.rows]) for table in tables]


MAX_EVENTS = 100
"""Events that the feed and the history tell; older ones are in the results themselves."""
MAX_NAMES = 5
ERRATA_PAGE = "errata.html"


class Event(NamedTuple):
    """`name` stays the same over editions: it is the event's id. `page` is a path inside the site, with a fragment."""

    name: str
    at: datetime
    kind: str
    title: str
    text: str
    page: str


def system_name(result: Result) -> str:
    """A system's name on one line, or its slug where the name is blank."""
    system = result.card.system
    return clip(one_line(system.name), 60) or system.slug


def _systems(results: Sequence[Result]) -> str:
    shown = [f"{system_name(result)} {signed(result.card.counts.score)}" for result in results[:MAX_NAMES]]
    more = [f"and {len(results) - MAX_NAMES:,} more"] if len(results) > MAX_NAMES else []
    return f"Scores, best first: {', '.join(shown + more)}."


def _result_events(version: VersionOnBoard, group: ResultGroup) -> Iterator[Event]:
    """The results of one table that were scored on one day."""
    by_day: dict[str, list[Result]] = defaultdict(list)
    for result in group.results:
        if result.scored_at is not None:
            by_day[f"{result.scored_at:%Y-%m-%d}"].append(result)
    where = f"{version.dataset.name} {version.text}, {group.key.split}"
    where += f", {group.key.sample}" if group.key.sample else ""
    for day, results in by_day.items():
        systems = f"{len(results):,} system{'' if len(results) == 1 else 's'}"
        yield Event(
            name=f"results.{group.key.id}.{version.text}.{day}",
            at=max(result.scored_at for result in results if result.scored_at is not None),
            kind="results",
            title=f"{systems} scored on {where}",
            text=_systems(results),
            page=f"{version.page}#{group.key.id}",
        )


def _version_event(version: VersionOnBoard) -> Iterator[Event]:
    if not version.times:
        return
    step = f" Against {version.before.version}: {version.step}." if version.before else ""
    yield Event(
        name=f"version.{version.dataset.name}.{version.text}",
        at=version.times[0],
        kind="dataset version",
        title=f"Dataset {version.dataset.name} {version.text} has its first results",
        text=f"{version.dataset_id}.{step}",
        page=version.page,
    )


def about(erratum: Erratum) -> str:
    """The subject of an entry of the ledger, in words."""
    named = (("", erratum.dataset), ("system ", erratum.system), ("question ", erratum.question), ("", erratum.page))
    return ", ".join(f"{word}{clip(one_line(value), 80)}" for word, value in named if value)


def _erratum_event(erratum: Erratum) -> Event:
    return Event(
        name=f"erratum.{erratum.id}",
        at=datetime(erratum.date.year, erratum.date.month, erratum.date.day, tzinfo=UTC),
        kind="correction",
        title=f"Correction: {about(erratum)}",
        text=f"{clip(one_line(erratum.fault), 600)} {clip(one_line(erratum.done), 600)}",
        page=f"{ERRATA_PAGE}#{erratum.id}",
    )


def events_of(groups: Sequence[ResultGroup], errata: Sequence[Erratum]) -> list[Event]:
    """The newest MAX_EVENTS events. Results without a time are not events."""
    found = [_erratum_event(erratum) for erratum in errata]
    for version in versions_of(groups):
        found += _version_event(version)
        for group in version.groups:
            found += _result_events(version, group)
    return sorted(sorted(found, key=lambda event: event.name), key=lambda event: event.at, reverse=True)[:MAX_EVENTS]
