"""Results by query: differences, box plots, spread, and the first place by source (Nautiyal et al., 5.5 and 5.9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from board_runs import table
from nautiyal_behaviour import Shares
from nautiyal_cutoffs import OWN, Found
from nautiyal_medquad import METHODS, Relevance, Values
from nautiyal_tests import numbered, p_of, pooled_row, resampled_spreads, spreads
from plots import COLOURS, panels, save
from scored_runs import p_text

from edu_rag.statistics import holm

METRIC = "NDCG@10"
FIRST = "P@1"
PAIRS = (("hybrid", "BM25"), ("hybrid", "dense"), ("BM25", "dense"))
SPREADS = ("lower quartile", "median", "upper quartile", "standard deviation")
"""The columns of `spreads`, in order."""
TESTED = (1, 3)
"""Those of section 5.9: the median and the standard deviation."""


def _matrix(values: Mapping[str, Values]) -> tuple[list[int], np.ndarray]:
    """The questions, and NDCG@10 of each method, floats of shape (methods, questions)."""
    rows = list(values[METHODS[0]][METRIC])
    return rows, np.array([[values[name][METRIC][row] for row in rows] for name in METHODS])


def _spread_rows(found: Found) -> Iterator[tuple[str, ...]]:
    for own, values in found.items():
        rows, matrix = _matrix(values)
        for name, shown in zip(METHODS, spreads(matrix), strict=True):
            yield f"{OWN[own]} ({len(rows)})", name, *(f"{100 * value:.1f}" for value in shown)


def _spread_tests(found: Found, focus: Sequence[str], seed: int) -> Iterator[tuple[str, ...]]:
    """Differences of medians and of standard deviations; focus areas are drawn whole; p after Holm over the table."""
    rows, ps = [], []
    for own, values in found.items():
        asked, matrix = _matrix(values)
        seen, drawn = spreads(matrix), resampled_spreads(matrix, numbered(asked, focus), seed)
        for first, second in PAIRS:
            one, other = METHODS.index(first), METHODS.index(second)
            gain, draws = seen[one] - seen[other], drawn[:, one] - drawn[:, other]
            rows.append((f"{first} − {second}", OWN[own], *(_interval(gain[at], draws[:, at]) for at in TESTED)))
            ps += [p_of(draws[:, at]) for at in TESTED]
    adjusted = iter(holm(ps))
    for name, own_pair, *cells in rows:
        yield name, own_pair, *(f"{cell}, p {p_text(next(adjusted))}" for cell in cells)


def _interval(value: float, draws: np.ndarray) -> str:
    """`points (low … high)`, 95 %."""
    low, high = np.quantile(draws, (0.025, 0.975))
    return f"{100 * value:+.1f} ({100 * low:+.1f} … {100 * high:+.1f})"


def difference_rows(found: Found, search: Relevance) -> Iterator[tuple[str, ...]]:
    """How often one method is better than another, equal or worse, and by how much where it is."""
    for own, values in found.items():
        rows, matrix = _matrix(values)
        shares = Shares(search, rows)
        for first, second in PAIRS:
            gains = matrix[METHODS.index(first)] - matrix[METHODS.index(second)]
            signs = [shares.of((np.sign(gains) == sign).astype(float).tolist()) for sign in (1, 0, -1)]
            parts = (gains[gains > 0], gains[gains < 0])
            sizes = [f"{100 * part.mean():+.1f}" if len(part) else "–" for part in parts]
            yield f"{first} − {second}", f"{OWN[own]} ({len(rows)})", *signs, *sizes


def source_rows(found: Found, search: Relevance, seed: int) -> Iterator[tuple[str, ...]]:
    """The share of questions whose first result is relevant, by source, the largest first."""
    for own, values in found.items():
        by_source: dict[str, list[int]] = {}
        for row in values[METHODS[0]][FIRST]:
            by_source.setdefault(search.data.source[row], []).append(row)
        for source, rows in sorted(by_source.items(), key=lambda item: (-len(item[1]), item[0])):
            parts = [{row: values[name][FIRST][row] for row in rows} for name in METHODS]
            shown = [Shares(search, rows).of(list(part.values())) for part in parts]
            _, difference, interval, _ = pooled_row(parts[2], parts[0], search.data.focus, seed)
            yield source, f"{OWN[own]} ({len(rows)})", *shown, f"{difference} ({interval})"


def draw_boxes(found: Found, path: Path) -> None:
    """NDCG@10 by query: median, quartiles, and whiskers to the last value within 1.5 boxes."""
    titles = [f"own pair {OWN[own]}" for own in found]
    every = panels(titles, "", f"{METRIC} of a question (%)")
    for axes, values in zip(every, found.values(), strict=True):
        _, matrix = _matrix(values)
        boxes = axes.boxplot([100 * row for row in matrix], patch_artist=True, widths=0.5, manage_ticks=False)
        axes.set_xticks(range(1, len(METHODS) + 1), METHODS)  # the axes share them: boxplot would write each twice
        axes.set_xlim(0.5, len(METHODS) + 0.5)
        for box, line, colour in zip(boxes["boxes"], boxes["medians"], COLOURS, strict=False):
            box.set(facecolor=f"{colour}40", edgecolor=colour)
            line.set(color=colour, linewidth=2.5)
        for point in boxes["fliers"]:
            point.set(markersize=2, alpha=0.4)
    save(every[0], path)


def draw_differences(found: Found, path: Path) -> None:
    """The hybrid minus each other method, the differences of all questions in order."""
    titles = [f"own pair {OWN[own]}" for own in found]
    every = panels(titles, "questions, % (largest gain first)", f"hybrid minus the other, {METRIC} (points)")
    for axes, values in zip(every, found.values(), strict=True):
        rows, matrix = _matrix(values)
        places = 100 * (np.arange(len(rows)) + 0.5) / len(rows)
        for name, colour, style in zip(METHODS[:2], COLOURS, ("-", "--"), strict=False):
            gains = 100 * np.sort(matrix[METHODS.index("hybrid")] - matrix[METHODS.index(name)])[::-1]
            axes.plot(places, gains, style, color=colour, label=f"hybrid − {name}")
        axes.axhline(0, color="#555555", linewidth=0.8)
    save(every[0], path)


def tables(found: Found, search: Relevance, seed: int, folder: Path | None) -> str:
    """All tables; with a folder the pictures as well."""
    asked = "own pair (questions)"
    spread = table((asked, METRIC + ", %", *SPREADS), _spread_rows(found))
    tested = ("points (95 %), p after Holm", "own pair", "of medians", "of standard deviations")
    signs = ("above 0", "equal", "below 0", "mean where above", "mean where below")
    first = ("first result relevant, by source", asked, *METHODS, "hybrid − BM25, points (95 %)")
    parts = [
        spread,
        table(tested, _spread_tests(found, search.data.focus, seed)),
        table((f"{METRIC} of a question", asked, *signs), difference_rows(found, search)),
        table(first, source_rows(found, search, seed)),
    ]
    if folder is not None:
        draw_boxes(found, folder / "nautiyal-queries.svg")
        draw_differences(found, folder / "nautiyal-differences.svg")
        parts.insert(0, "![NDCG@10 by query, box plots](nautiyal-queries.svg)")
        parts.insert(3, "![The hybrid's gains and losses by query](nautiyal-differences.svg)")
    return "\n\n".join(parts)
