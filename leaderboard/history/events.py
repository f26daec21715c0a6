"""Events of the board, newest first: results, dataset versions, corrections; for the feed and the history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from edu_rag.look.texts import clip, one_line, signed
from leaderboard.board.collect import Result, ResultGroup
from leaderboard.history.dataset_history import VersionOnBoard, versions_of
from leaderboard.history.errata import Erratum

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
