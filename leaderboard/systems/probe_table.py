"""A system asked again under other conditions: what its scorecard's probes say, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leaderboard.board.badges import count_of
from leaderboard.systems.retrieval_table import interval_of, number_of

ASKED: Mapping[str, str] = {
    "no-context": "without any page: what it knows, or guesses",
    "evidence-only": "with the evidence sentences alone: the ceiling of better retrieval",
    "other-pages": "with the pages of another question: it should abstain",
    "half-noise": "with half of its pages replaced by those of other questions",
    "permuted": "with the choices in another order",
    "repeat": "the same again",
}
"""Every probe in the harness's order, and how the system is asked."""
_TABLED = frozenset(("n", "score", "interval", "main_score", "difference", "difference_interval", "p"))


class Probe(NamedTuple):
    """A probe of n questions and the main run on the same ones; `difference` is probe - main run."""

    name: str
    asked: str
    n: int
    score: float
    interval: tuple[float, float] | None
    main_score: float
    difference: float
    difference_interval: tuple[float, float] | None
    p: float | None


class Probes(NamedTuple):
    """The probes that we know, and what else the scorecard says of them."""

    rows: Sequence[Probe]
    rest: Mapping[str, Any]


def _probe(name: str, values: Mapping[str, Any]) -> Probe | None:
    n = count_of(values.get("n"))
    score, main = number_of(values.get("score"), -1, 1), number_of(values.get("main_score"), -1, 1)
    difference = number_of(values.get("difference"), -2, 2)
    if not n or score is None or main is None or difference is None:
        return None
    return Probe(
        name,
        ASKED[name],
        n,
        score,
        interval_of(values.get("interval"), -1, 1),
        main,
        difference,
        interval_of(values.get("difference_interval"), -2, 2),
        number_of(values.get("p"), 0, 1),
    )


def _rest(name: str, values: object, probe: Probe | None) -> Iterator[tuple[str, object]]:
    if probe is None or not isinstance(values, Mapping):
        yield name, values
        return
    shown = {field for field in _TABLED if getattr(probe, field) is not None}
    further = {field: value for field, value in values.items() if field not in shown}
    if further:
        yield name, further


def probes_of(probes: Mapping[str, Any]) -> Probes:
    """The table of `ScoreCard.probes`, in the harness's order; without rows where none is known."""
    known = {name: values for name in ASKED if isinstance(values := probes.get(name), Mapping)}
    rows = {name: probe for name, values in known.items() if (probe := _probe(name, values)) is not None}
    rest = dict(pair for name, values in probes.items() for pair in _rest(name, values, rows.get(name)))
    return Probes(list(rows.values()), rest)
