"""All runs of a team, counted, and names that resemble another team's: from the declared names of a whole board."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edu_rag.files.board_file import read_board_file
from edu_rag.look.lookalikes import lookalikes, name_key
from edu_rag.scorecard.card import SystemFacts
from leaderboard.board.collect import Result

MAX_SHOWN = 3
"""The most look-alike names that a row shows."""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """A team's submissions for one dataset: every result, newest first, and the number of different runs."""

    results: Sequence[Result]
    n_runs: int


def _team_key(system: SystemFacts) -> str:
    """The team of a system; a system without a team's name is its own team."""
    return name_key(system.team) or f"\n{system.slug}"


def _key(result: Result) -> Key:
    return result.dataset.name, _team_key(result.card.system)


def _order(result: Result) -> tuple[object, ...]:
    return result.age, result.card.system.slug, result.key.id


def tries_of(results: Iterable[Result]) -> Mapping[Key, Tries]:
    """The results of each team on each dataset, over all its versions, splits and samples.

    One predictions file that is scored on two versions of a dataset is one run.
    """
    found: dict[Key, list[Result]] = defaultdict(list)
    for result in results:
        found[_key(result)].append(result)
    return {
        key: Tries(
            results=sorted(own, key=_order, reverse=True),
            n_runs=len({result.card.predictions_sha256 or str(result.scorecard) for result in own}),
        )
        for key, own in found.items()
    }


@cache
def _baselines_key() -> str:
    """The team name of the project's own systems, from the maintainers' file."""
    return name_key(read_board_file(Path(__file__).resolve().parents[1] / "board.toml").baselines_team)


def tellers(results: Iterable[Result]) -> set[Path]:
    """The scorecards, best first, whose rows tell how many runs their team has: each team's best one.

    Many runs raise the best score by luck; the same note on every row would add nothing. The project's own baselines do
    not compete, so their rows have no note.
    """
    best: dict[str, Path] = {}
    for result in results:
        best.setdefault(_team_key(result.card.system), result.scorecard)
    best.pop(_baselines_key(), None)
    return set(best.values())


def tries_by(found: Mapping[Key, Tries], result: Result) -> Tries:
    """The submissions of a result's team."""
    return found[_key(result)]


class Lookalikes:
    """Which team names and slugs of a board resemble those of other teams."""

    def __init__(self, systems: Iterable[SystemFacts]) -> None:
        known = list(systems)
        self._teams = lookalikes(system.team for system in known if system.team.strip())
        self._slugs = lookalikes(system.slug for system in known)
        self._owners: dict[str, set[str]] = defaultdict(set)
        for system in known:
            self._owners[system.slug].add(_team_key(system))

    def of(self, system: SystemFacts) -> list[str]:
        """Names of other teams, and slugs that other teams own, that this system's look like."""
        own = _team_key(system)
        slugs = (slug for slug in self._slugs.get(system.slug, ()) if own not in self._owners[slug])
        return [*self._teams.get(system.team, ()), *slugs][:MAX_SHOWN]
