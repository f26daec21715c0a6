"""The ceiling ladder: without pages, with them, with nothing but the evidence, and with every wrong answer withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.look.texts import signed
from leaderboard.plots.colours import light
from leaderboard.plots.panel import SIZE, KeyEntry, Margins, Mark, Panel, key_lines, paint_key
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn, Sheet
from leaderboard.plots.plot_sentences import Words, fit, of_all
from leaderboard.plots.plotted_systems import FIRST_COLUMNS, System
from leaderboard.plots.scales import Scale, linear

MOST = 30
ROW = 26
RUNGS = ("no context", "system", "evidence only", "oracle")
MARKS: Mapping[str, Mark] = {
    "no context": Mark("o", "system", is_filled=False),
    "system": Mark("o", "system"),
    "evidence only": Mark("s", "front", size=7.5),
    "oracle": Mark("^", "curve2", size=8.5),
}


class Ladder(NamedTuple):
    """A system's scores on one set of `n` questions by rung; a rung that was not run is missing."""

    system: System
    n: int
    scores: Mapping[str, float]


def _number(values: object, name: str, low: float = -1.0, high: float = 1.0) -> float | None:
    value = values.get(name) if isinstance(values, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return None
    return float(value)


def _n(values: object) -> int | None:
    n = _number(values, "n", 1, 1e9)
    return int(n) if n is not None and n == int(n) else None


def _with_evidence(evidence: Mapping[str, Any], bare: object) -> tuple[int | None, Mapping[str, float | None]]:
    """All four rungs on the questions with evidence, if there is a ceiling."""
    n = _n(evidence)
    counts = evidence.get("counts")
    correct = _number(counts, "correct", 0, n or 0)
    supported = bare.get("supported") if isinstance(bare, Mapping) else None
    same = _n(supported) == n  # else they are other questions
    return n, {
        "no context": _number(supported, "score") if same else None,
        "system": _number(evidence, "main_score"),
        "evidence only": _number(evidence, "score"),
        "oracle": None if correct is None or not n else correct / n,
    }


def ladder_of(system: System) -> Ladder | None:
    """The rungs from the probes of a scorecard; None if there are fewer than two."""
    probes = system.card.probes
    evidence, bare = probes.get("evidence-only"), probes.get("no-context")
    if isinstance(evidence, Mapping):
        n, found = _with_evidence(evidence, bare)
    else:
        n, found = _n(bare), {"no context": _number(bare, "score"), "system": _number(bare, "main_score")}
    scores = {rung: score for rung in RUNGS if (score := found.get(rung)) is not None}
    return Ladder(system, n, scores) if n is not None and "system" in scores and len(scores) > 1 else None


def _drawing(ladders: Sequence[Ladder]) -> Drawing:
    drawn = ladders[:MOST]
    entries = [KeyEntry(rung, MARKS[rung]) for rung in RUNGS if any(rung in ladder.scores for ladder in drawn)]

    def height(sheet: Sheet) -> float:
        return 18 * len(key_lines(entries, sheet.width - 8)) + ROW * len(drawn) + 72

    def paint(figure: Any, sheet: Sheet) -> None:
        left = 150.0 if sheet.is_narrow else 300.0
        x = linear([0.0, *(score for ladder in drawn for score in ladder.scores.values())], 4 if sheet.is_narrow else 7)
        top = paint_key(figure, entries)
        rows = Scale(len(drawn) - 0.5, -0.5, (), float)
        panel = Panel(figure, Margins(left, top + 8, 16 if sheet.is_narrow else 80, 46), x, rows)
        panel.axes.spines["left"].set_visible(False)
        panel.axes.axvline(0, color=light("zero"), linewidth=1, zorder=1)
        for row, ladder in enumerate(drawn):
            _paint_row(panel, row, ladder, sheet)
        panel.text(panel.area.right, panel.area.bottom + 34, "score (better →)", tone="quiet", anchor="end")

    return Drawing(paint, height)


def _paint_row(panel: Panel, row: int, ladder: Ladder, sheet: Sheet) -> None:
    ends = (min(ladder.scores.values()), max(ladder.scores.values()))
    panel.line(ends, (row, row), "range", 3)
    for rung, score in ladder.scores.items():
        panel.mark([score], [row], MARKS[rung])
    _, y = panel.at(0, row)
    panel.text(6, y, fit(ladder.system.mark, SIZE, panel.area.left - 18))
    if not sheet.is_narrow:
        panel.text(sheet.width - 6, y, f"n {ladder.n:,}", tone="quiet", anchor="end", size=10)


def _gains(ladders: Sequence[Ladder], low: str, high: str) -> list[tuple[float, Ladder]]:
    return [
        (ladder.scores[high] - ladder.scores[low], ladder)
        for ladder in ladders
        if low in ladder.scores and high in ladder.scores
    ]


def _stands_out(systems: Sequence[System], ladders: Sequence[Ladder]) -> Words:
    words: Words = ()
    steps = (
        ("no context", "system", " gains most from its pages: "),
        ("system", "evidence only", " would gain most, were it given the evidence alone: "),
    )
    for low, high, verb in steps:
        gains = _gains(ladders, low, high)
        if gains:
            gain, ladder = max(gains, key=lambda pair: (pair[0], -pair[1].system.number))
            scores = ladder.scores
            words += (
                ladder.system.named,
                f"{verb}{signed(gain)}, from {signed(scores[low])} to {signed(scores[high])}. ",
            )
    silent = len(systems) - len(ladders)
    return (*words, of_all(silent, len(systems), "was not probed.", "were not probed.")) if silent else words


def _row(ladder: Ladder) -> tuple[Cell, ...]:
    scores = [ladder.scores.get(rung) for rung in RUNGS]
    cells = (Cell("–" if score is None else signed(score), score) for score in scores)
    return (*ladder.system.cells, Cell(f"{ladder.n:,}", ladder.n), *cells)


def ladder_plot(systems: Sequence[System]) -> Plot:
    """How much the pages add to each system's score, and how much better pages would."""
    ladders = [ladder for system in systems if (ladder := ladder_of(system)) is not None]
    empty: Words = (
        "Nothing to draw: no system of this table was probed without its pages or with the evidence alone "
        "(edu-rag probe does both).",
    )
    return Plot(
        name="ladder",
        title="Ceiling ladder",
        kind="dot plot",
        shows=(
            "Each row is a system asked the same questions several times: with no page at all, as it is, and with "
            "nothing but the pages’ evidence for the right answer. The oracle is that last run with every wrong answer "
            "withheld, which no system can know by itself. From no context to system is what its pages are worth; from "
            "there to evidence only, what better finding would bring; the rest is lost in reading. Where the "
            "evidence was tried, all rungs are on the questions that have some."
        ),
        stands_out=_stands_out(systems, ladders) if ladders else empty,
        columns=(*FIRST_COLUMNS, PlotColumn("Questions"), *(PlotColumn(rung.capitalize()) for rung in RUNGS)),
        rows=[_row(ladder) for ladder in ladders],
        drawing=_drawing(ladders) if ladders else None,
    )
