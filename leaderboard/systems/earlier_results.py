"""Every result of a system, newest first: on which data, with what score, and what moved it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from leaderboard.board.collect import Result, ResultGroup
from leaderboard.board.present import earlier_scorecard, page_of
from leaderboard.history.dataset_history import Move, version_page

MAX_SHOWN = 100
"""Results that a page lists; all are counted."""


class PastResult(NamedTuple):
    """A result, its page (or its scorecard, where a newer result has the page), and the board of its dataset version.

    `move` leads from the same system's result on the version before, where there is one.
    """

    result: Result
    page: str
    is_replaced: bool
    version_page: str
    move: Move | None


def _chain(result: Result) -> tuple[str, str, str | None, str]:
    """The properties that stay the same over the versions of a dataset."""
    return result.key.name, result.key.split, result.key.sample, result.key.answers_rule


def _newest_first(results: Iterable[Result]) -> list[Result]:
    return sorted(results, key=lambda result: (*result.age, result.key.id), reverse=True)


def _before(results: Sequence[Result], at: int) -> Move | None:
    new = results[at]
    old = next((one for one in results[at + 1 :] if _chain(one) == _chain(new)), None)
    return None if old is None else Move(old, new, n_other=None)


def _entry(results: Sequence[Result], at: int, replaced: set[str]) -> PastResult:
    result = results[at]
    is_replaced = str(result.scorecard) in replaced
    page = earlier_scorecard(result) if is_replaced else page_of(result.key, result.card.system.slug)
    return PastResult(result, page, is_replaced, version_page(result.dataset), _before(results, at))


def past_of(groups: Sequence[ResultGroup]) -> Mapping[str, list[PastResult]]:
    """The results of every system by its slug, newest first, over all tables and dataset versions."""
    by_slug: dict[str, list[Result]] = defaultdict(list)
    for group in groups:
        for result in (*group.results, *group.earlier):
            by_slug[result.card.system.slug].append(result)
    replaced = {str(result.scorecard) for group in groups for result in group.earlier}
    ordered = {slug: _newest_first(results) for slug, results in by_slug.items()}
    return {slug: [_entry(results, at, replaced) for at in range(len(results))] for slug, results in ordered.items()}


def past_in(past: Sequence[PastResult], name: str) -> list[PastResult]:
    """Those on this dataset first, each part newest first."""
    return sorted(past, key=lambda one: one.result.dataset.name != name)
