"""Planning a comparison: what so many questions can find, and how many a difference needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edu_rag.detectable_difference import Spread, n_needed, power_of, smallest_detectable_difference
from edu_rag.errors import SubmissionError

if TYPE_CHECKING:
    from harness.comparing.compare import Choice

_ASSUMED_SD = 1.0
"""Where nothing is known: two systems that answer everything, exactly one of them right on every fourth question."""

_LARGEST = 2
"""From every answer wrong to every answer right."""


class PlanSource(NamedTuple):
    """Where a spread comes from: two systems by name, and the questions that they were compared on."""

    first: str
    second: str
    n: int
    spread: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPlan:
    """A plan of a two-sided paired test at level `alpha`.

    `detectable` is the smallest true difference found with probability `power` on n questions (None without n; at most
    2 is possible), `n_needed` the questions for `difference`, `found` the probability of finding it on n questions.
    """

    n: int | None
    difference: float | None
    power: float
    alpha: float
    sd: float
    design_effect: float
    systems: tuple[str, str] | None
    detectable: float | None
    n_needed: int | None
    found: float | None


def spread_from(first: Path, second: Path, choice: Choice) -> PlanSource:
    """The spread between two systems. Raises SubmissionError if they do not differ on any question."""
    from edu_rag.statistics import shared_lessons, spread_of  # numpy: a plan without systems needs none
    from harness.comparing.compare import sides_of

    (a, b), _ = sides_of([first, second], choice)
    lessons = shared_lessons([a.card.lessons, b.card.lessons])
    spread = spread_of(a.card.outcomes, b.card.outcomes, lessons)
    if not spread.sd:
        raise SubmissionError("power", "the two systems differ by the same points on every question", "give --sd")
    return PlanSource(a.card.system.slug, b.card.system.slug, a.card.counts.n, spread)


def plan(
    source: PlanSource | None, *, n: int | None, difference: float | None, sd: float | None, power: float, alpha: float
) -> ComparisonPlan:
    """What follows from what is known; n is the source's where none is given, sd 1.0 where nothing is known."""
    spread = source.spread if source else Spread(_ASSUMED_SD if sd is None else sd, 1.0)
    n = source.n if n is None and source else n
    own = spread.effective_sd
    return ComparisonPlan(
        n=n,
        difference=difference,
        power=power,
        alpha=alpha,
        sd=spread.sd,
        design_effect=spread.design_effect,
        systems=(source.first, source.second) if source else None,
        detectable=None if n is None else smallest_detectable_difference(n, own, alpha=alpha, power=power),
        n_needed=None if difference is None else n_needed(difference, own, alpha=alpha, power=power),
        found=None if n is None or difference is None else power_of(n, difference, own, alpha=alpha),
    )


def plan_values(found: ComparisonPlan) -> dict[str, Any]:
    """A plan as JSON-ready values."""
    return asdict(found)


def true_difference(found: float) -> str:
    """A detectable difference in words; beyond 2 there is none to be found."""
    return f"a true difference of {100 * found:.2f} %" if found <= _LARGEST else "no difference that scores can have"


def _spread_line(found: ComparisonPlan) -> str:
    if found.systems:
        source = f"of {found.systems[0]} and {found.systems[1]}"
    else:
        source = "as given" if found.sd != _ASSUMED_SD else "assumed: give two systems or --sd"
    effect = "" if found.design_effect == 1 else f", design effect of lessons {found.design_effect:.2f}"
    return f"standard deviation of the difference a question: {found.sd:.3f} ({source}{effect})"


def plan_lines(found: ComparisonPlan) -> Iterator[str]:
    """A plan as readable lines."""
    yield _spread_line(found)
    test = f"a two-sided paired test at level {found.alpha:g}"
    if found.detectable is not None and found.n is not None:
        small = true_difference(found.detectable)
        yield f"with n = {found.n:,} questions {test} finds with {100 * found.power:g} % power {small}"
    if found.difference is not None:
        wanted = f"{100 * found.difference:g} %"
        if found.found is not None:
            yield f"a true difference of {wanted} is found there with probability {100 * found.found:.1f} %"
        yield f"a true difference of {wanted} needs {found.n_needed:,} questions for {100 * found.power:g} % power"
