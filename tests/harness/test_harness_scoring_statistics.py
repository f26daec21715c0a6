"""Sections 4 and 5 of docs/scoring-spec.md: every number of their tables is what the code gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edu_rag import statistics as s
from edu_rag.scorecard.card import Prediction, Verdict
from harness.scoring.confidence import confidence_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md"


def tables(section: str) -> Iterator[list[list[str]]]:
    """The tables of a numbered section as rows of cells, head first."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}. ")[1].split("\n## ")[0]
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
        elif rows:
            yield [row for row in rows if set(row[0]) != {"-"}]
            rows = []


def numbers(cell: str) -> list[int]:
    return [] if cell == "none" else [int(number) for number in cell.split()]


def test_the_intervals_of_the_page() -> None:
    (head, *rows), _ = tables("4")
    assert [name.removesuffix(" interval") for name in head[2:]] == list(s.RATES)
    for outcomes, lessons, *cells in rows:
        intervals, _ = s.rate_intervals(outcomes, numbers(lessons))
        assert cells == [f"{low!r} … {high!r}" for low, high in intervals.values()]
    assert len(rows) == 3


def test_the_comparisons_of_the_page() -> None:
    _, (_, *rows) = tables("4")
    for first, second, lessons, *cells in rows:
        d, m = s.paired(first, second, numbers(lessons)), s.mcnemar(first, second, numbers(lessons))
        strict = s.strict_points_of(first).mean() - s.strict_points_of(second).mean()
        assert cells == [
            str(d.n_units),
            repr(d.difference),
            f"{d.low!r} … {d.high!r}",
            f"{d.p:.12g}",
            f"{m.n_first_only} / {m.n_second_only}",
            f"{m.p:.12g}",
            cells[-1],
        ]
        assert float(cells[-1]) == pytest.approx(float(strict), abs=1e-15)
    assert len(rows) == 5


def test_numpys_stream_is_the_one_that_the_page_names() -> None:
    drawn = np.random.default_rng(0).integers(0, 6, size=(10_000, 6), dtype=np.int32)
    assert f"its first row is {' '.join(map(str, drawn[0].tolist()))}." in PAGE.read_text(encoding="utf-8")
    assert drawn[-1].tolist() == [4, 3, 4, 4, 3, 1]


def test_the_confidence_of_the_page() -> None:
    (_, *fields), (outcomes, stated), (_, cells) = tables("5")
    verdicts = [Verdict(question_id=str(i), outcome=o, reason="") for i, o in enumerate(outcomes[1:])]  # type: ignore[arg-type]
    predictions = {
        str(i): Prediction(question_id=str(i), answer=None, confidence=None if c == "none" else float(c))
        for i, c in enumerate(stated[1:])
    }
    found = confidence_of(verdicts, predictions)
    assert set(found) == {name.strip(" `") for names, _ in fields for name in names.split(",")}
    assert cells == [
        str(found["n"]),
        str(found["n_attempted"]),
        "; ".join(f"{point['coverage']:g}, {point['risk']:g}" for point in found["curve"]),
        *(f"{found[name]:.12g}" for name in ("aurc", "e_aurc", "ece", "brier")),
        f"{found['best']['score']:g}",
        f"{found['best']['threshold']:g}",
    ]
