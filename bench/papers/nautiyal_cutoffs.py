"""P, R and NDCG at 1 to 10, and whether the hybrid's lead grows with the cutoff (Nautiyal et al., 5.3 and 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from board_runs import table
from nautiyal_medquad import METHODS, K, Values
from nautiyal_tests import pooled_p, pooled_row
from plots import COLOURS, panels, save
from scored_runs import p_text

from edu_rag.statistics import holm

MEASURES = ("P", "R", "NDCG")
CUTOFFS = range(1, K + 1)
OWN = {True: "kept", False: "out"}
"""Whether the question's own pair may be found."""
Found = Mapping[bool, Mapping[str, Values]]
"""Own pair kept or not -> method -> metric -> question -> value."""


def lines(found: Found) -> Iterator[tuple[str, str, str, list[float]]]:
    """Measure, own pair, method, and the means at 1 to 10 in per cent."""
    for measure in MEASURES:
        for own, values in found.items():
            for name in METHODS:
                means = [100 * mean(values[name][f"{measure}@{k}"].values()) for k in CUTOFFS]
                yield measure, OWN[own], name, means


def leads(found: Found, focus: Sequence[str], seed: int) -> Iterator[tuple[str, ...]]:
    """The hybrid minus each method at 1 and at 10, and the change from 1 to 10, with its p after Holm over all rows."""
    named = [(measure, own, other) for measure in MEASURES for own in found for other in METHODS[:2]]
    changes = [[_lead(found[own], other, f"{measure}@{k}") for k in (1, K)] for measure, own, other in named]
    adjusted = holm([pooled_p(last, first, focus, seed) for first, last in changes])
    for (measure, own, other), (first, last), p in zip(named, changes, adjusted, strict=True):
        nothing = dict.fromkeys(first, 0.0)
        shown = [pooled_row(*pair, focus, seed) for pair in ((first, nothing), (last, nothing), (last, first))]
        cells = [f"{difference} ({interval})" for _, difference, interval, _ in shown]
        yield f"{measure}, hybrid − {other}", OWN[own], shown[0][0], *cells, p_text(p)


def _lead(values: Mapping[str, Values], other: str, at: str) -> dict[int, float]:
    """The hybrid's value minus the other's, by question."""
    return {row: value - values[other][at][row] for row, value in values["hybrid"][at].items()}


def draw(found: Found, path: Path) -> None:
    """One panel for each measure, the own pair kept above, taken out below."""
    titles = [f"{measure}@k, own pair {OWN[own]}" for own in found for measure in MEASURES]
    axes = dict(zip(titles, panels(titles, "k", "%", columns=len(MEASURES)), strict=True))
    for measure, own, name, means in lines(found):
        colour, one = COLOURS[METHODS.index(name)], axes[f"{measure}@k, own pair {own}"]
        one.plot(CUTOFFS, means, "o-", color=colour, markersize=3, label=name)
        one.set_xticks(CUTOFFS)
    save(axes[titles[0]], path)


def tables(found: Found, focus: Sequence[str], seed: int, plot: Path | None) -> str:
    """The means, and the tests of the lead; with `plot` the picture as well."""
    rows = [(measure, name, own, *(f"{value:.1f}" for value in means)) for measure, own, name, means in lines(found)]
    means = table(("%", "method", "own pair", *(f"@{k}" for k in CUTOFFS)), rows)
    at_both = ("at 1 (95 %)", f"at {K} (95 %)", f"at {K} minus at 1 (95 %)")
    head = ("points of", "own pair", "questions, areas", *at_both, "p of the change, after Holm")
    tested = table(head, leads(found, focus, seed))
    if plot is None:
        return f"{means}\n\n{tested}"
    draw(found, plot)
    return f"![P, R and NDCG at 1 to 10, by method]({plot.name})\n\n{means}\n\n{tested}"
