"""Risk against coverage: how wrong a system's surest answers are, for those that state a confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.look.texts import percent, signed
from leaderboard.plots.colours import CURVES
from leaderboard.plots.panel import SIZE, KeyEntry, Margins, Mark, Panel, key_lines, paint_key
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Words, fit, of_all
from leaderboard.plots.plotted_systems import FIRST_COLUMNS, System
from leaderboard.plots.scales import linear, score_words

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Coverages of a system's own answers that the table shows."""
LINES = 24
"""Further curves that are drawn thin and without a name."""


class Best(NamedTuple):
    """The best score by giving only the surest `n_kept` answers."""

    score: float
    n_kept: int


class Curve(NamedTuple):
    """A system's risk (wrong among the kept) at each share that it kept of its `n` answers with a confidence."""

    system: System
    n: int
    shares: tuple[float, ...]
    risks: tuple[float, ...]
    aurc: float
    best: Best | None

    def coverages(self) -> list[float]:
        """The kept answers as shares of all questions, so that curves of different systems share an axis."""
        return [share * self.n / self.system.card.counts.n for share in self.shares]

    def risk_at(self, share: float) -> float | None:
        """The risk at the first stored point that keeps at least this share of the answers."""
        found = (risk for kept, risk in zip(self.shares, self.risks, strict=True) if kept >= share - 1e-9)
        return next(found, None)


def _number(value: object, low: float = 0.0, high: float = 1.0) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return None
    return float(value)


def _points(values: object) -> list[tuple[float, float]] | None:
    """(coverage, risk) of each stored point; None if the stored value is not a curve."""
    found: list[tuple[float, float]] = []
    for part in values if isinstance(values, list | tuple) else ():
        point = (part.get("coverage"), part.get("risk")) if isinstance(part, Mapping) else (None, None)
        coverage, risk = _number(point[0]), _number(point[1])
        if coverage is None or risk is None or (found and coverage <= found[-1][0]):
            return None
        found.append((coverage, risk))
    return found or None


def _best(values: object, n: int) -> Best | None:
    if not isinstance(values, Mapping):
        return None
    score, kept = _number(values.get("score"), -1), _number(values.get("n_kept"), 0, n)
    return None if score is None or kept is None else Best(score, int(kept))


def curve_of(system: System) -> Curve | None:
    """The curve that a scorecard holds; None if it holds none, or something else in its place."""
    stored = system.card.confidence
    points, aurc = _points(stored.get("curve")), _number(stored.get("aurc"))
    n = _number(stored.get("n"), 1, system.card.counts.n)
    if points is None or aurc is None or n is None:
        return None
    shares, risks = zip(*points, strict=True)
    return Curve(system, int(n), shares, risks, aurc, _best(stored.get("best"), int(n)))


def _entries(named: Sequence[Curve], n_more: int, sheet: Sheet) -> list[KeyEntry]:
    width = (sheet.width - 60) if sheet.is_narrow else 330
    entries = [
        KeyEntry(fit(curve.system.mark, SIZE, width), line="-", tone=tone)
        for curve, tone in zip(named, CURVES, strict=False)
    ]
    entries.append(KeyEntry("best by abstaining", Mark("o", "ink", is_filled=False)))
    if n_more:
        entries.append(KeyEntry(f"{n_more} more", line="-", tone="crowd"))
    return [*entries, KeyEntry("equal score", line="--", tone="zero")]


def _drawing(curves: Sequence[Curve]) -> Drawing:
    named, others = curves[: len(CURVES)], curves[len(CURVES) : len(CURVES) + LINES]
    top_risk = max(risk for curve in (*named, *others) for risk in curve.risks)

    def height(sheet: Sheet) -> float:
        return (290 if sheet.is_narrow else 400) + 18 * len(
            key_lines(_entries(named, len(others), sheet), sheet.width - 8)
        )

    def paint(figure: Any, sheet: Sheet) -> None:
        most = 4 if sheet.is_narrow else 7
        top = paint_key(figure, _entries(named, len(others), sheet))
        y = linear([0.0, min(1.0, max(top_risk, 0.1))], most, lambda value: f"{100 * value:.0f} %")
        panel = Panel(figure, Margins(48, top + 24, 44, 50), linear([0.0, 1.0], most, lambda v: f"{100 * v:.0f} %"), y)
        panel.names("answers given, of all questions (more →)", "wrong among the given (fewer ↓)")
        _paint_iso(panel, (0.0, 0.2, 0.4, 0.6, 0.8) if sheet.is_narrow else (0.0, 0.1, 0.2, 0.4, 0.6, 0.8))
        for curve in others:
            panel.line(curve.coverages(), curve.risks, "crowd", 1)
        for curve, tone in zip(named, CURVES, strict=False):
            panel.line(curve.coverages(), curve.risks, tone, 2, order=3)
            _paint_best(panel, curve, tone)

    return Drawing(paint, height)


def iso_points(score: float, most_risk: float) -> list[tuple[float, float]]:
    """Equal score s: of a share c of answers at risk r, c (1 - 2 r) = s, so r = (1 - s / c) / 2; up to a risk."""
    end = 1.0 if score >= 1 - 2 * most_risk else score / (1 - 2 * most_risk)
    steps = (score + (end - score) * step / 40 for step in range(41))
    return [(at, (1 - score / at) / 2) for at in steps if at > 0 and end > score]


def _paint_iso(panel: Panel, scores: Sequence[float]) -> None:
    for score in scores:
        points = iso_points(score, panel.y.high)
        if points:
            ats, risks = zip(*points, strict=True)
            panel.line(ats, risks, "axis" if score else "zero", 1, "--", 1.5)
            x, y = panel.at(*points[-1])
            right, up = (0, 9) if y < panel.area.top + 1 and x < panel.area.right - 20 else (5, 0)
            panel.text(x + right, y - up, f"+{score_words(score)}" if score else "0", tone="quiet", size=10)


def _paint_best(panel: Panel, curve: Curve, tone: str) -> None:
    best = curve.best
    if best is None or not best.n_kept:
        return
    # The stored point that holds it: of a long curve only each hundredth is stored.
    at = best.n_kept / curve.n
    points = zip(curve.shares, curve.coverages(), curve.risks, strict=True)
    found = next((point for point in points if point[0] >= at - 1e-9), None)
    if found is not None:
        panel.mark([found[1]], [found[2]], Mark("o", tone, is_filled=False))


def _stands_out(systems: Sequence[System], curves: Sequence[Curve]) -> Words:
    surest = min(curves, key=lambda curve: (curve.aurc, curve.system.number))
    words: Words = (
        surest.system.named,
        f" has the least risk over its whole curve (the area under it is {surest.aurc:.3f}; 0 is best). ",
    )
    gains = [curve for curve in curves if curve.best is not None]
    if gains:
        most = max(gains, key=lambda curve: ((curve.best or Best(-1, 0)).score, -curve.system.number))
        best = most.best or Best(-1, 0)
        words += (
            "The best score by keeping silent when unsure would be ",
            most.system.named,
            f"’s {signed(best.score)}, with its {best.n_kept:,} surest answers (now {signed(most.system.score)}): an "
            "upper bound, since that threshold is tuned on these very questions. ",
        )
    silent = len(systems) - len(curves)
    said = of_all(silent, len(systems), "states no confidence.", "state no confidence.")
    return (*words, said) if silent else words


def _row(curve: Curve) -> tuple[Cell, ...]:
    risks = [curve.risk_at(share) for share in SHARES]
    best = curve.best
    return (
        *curve.system.cells,
        Cell(f"{curve.n:,}", curve.n),
        Cell(f"{curve.aurc:.4f}", curve.aurc),
        *(Cell(percent(risk), risk) for risk in risks),
        Cell("–" if best is None else signed(best.score), None if best is None else best.score),
        Cell("–" if best is None else f"{best.n_kept:,}", None if best is None else best.n_kept),
    )


def coverage_plot(systems: Sequence[System]) -> Plot:
    """One curve for each system that states how sure it is."""
    curves = [curve for system in systems if (curve := curve_of(system)) is not None]
    empty: Words = ("Nothing to draw: no system of this table states how sure it is of its answers.",)
    return Plot(
        name="coverage",
        title="Risk against coverage",
        kind="line plot",
        shows=(
            "Each curve is a system that says how sure it is. From the left it gives its surest answers first; the "
            "curve says how many of those given so far are wrong. A curve that starts low and rises late belongs to a "
            "system that knows what it knows; with a flat one, confidence carries no information. Along a "
            "dashed line the score is the same: the ring is where the system would score best, had it kept silent on "
            "the rest."
        ),
        stands_out=_stands_out(systems, curves) if curves else empty,
        columns=(
            *FIRST_COLUMNS,
            PlotColumn("Answers with a confidence"),
            PlotColumn("Area (AURC)"),
            *(
                PlotColumn(f"Wrong % of surest {100 * share:.0f} %" if share < 1 else "Wrong % of all")
                for share in SHARES
            ),
            PlotColumn("Best score by abstaining"),
            PlotColumn("Answers kept for it"),
        ),
        rows=[_row(curve) for curve in curves],
        drawing=_drawing(curves) if curves else None,
    )
