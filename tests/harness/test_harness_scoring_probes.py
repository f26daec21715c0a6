"""Sections 8 and 9 of docs/scoring-spec.md: every number of their tables is what the code gives."""

from __future__ import annotations

from pathlib import Path

from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.probing.probe_questions import NAMES, permute
from harness.probing.probe_rates import wilson
from harness.probing.run_probes import PROBES
from harness.scoring.cost import DECLARED, cost_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md").read_text(encoding="utf-8")
CHOICES = {"a": "iron", "b": "gold", "c": "zinc", "d": "lead"}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under this head row."""
    after = PAGE.split(f"| {heading} |\n", 1)[1].splitlines()[1:]
    table = after[: next(i for i, line in enumerate(after) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_page_names_every_probe_in_order() -> None:
    named = rows("probe | asked are | the system gets | what it is for")
    assert [row[0].strip("`") for row in named] == list(PROBES) == list(NAMES)


def test_permutations_are_those_of_the_page() -> None:
    table = rows("seed | question_id | a, b, c, d hold what was")
    assert len(table) == 3
    for seed, question_id, order in table:
        asked = Question(question_id=question_id, text="?", choices=CHOICES, kind="multiple_choice", split="test")
        assert list(permute(asked, int(seed)).original.values()) == order.split(", ")


def test_intervals_of_shares_are_those_of_the_page() -> None:
    table = rows("holds | of n | 95 % interval")
    assert len(table) == 3
    for holds, n, interval in table:
        assert interval == "{:.4f} … {:.4f}".format(*wilson(int(holds), int(n)))


def test_quantiles_are_those_of_the_page() -> None:
    table = rows("latencies in seconds | median | p95 | mean")
    assert len(table) == 3
    for latencies, *expected in table:
        seconds = [float(part) for part in latencies.split(", ")]
        said = [Prediction(question_id=f"q{i}", answer=None, latency_s=s) for i, s in enumerate(seconds)]
        latency = cost_of(said, measured=True)["latency_s"]
        assert [latency[name] for name in ("median", "p95", "mean")] == [float(part) for part in expected]


def test_the_page_names_every_cost() -> None:
    named = "".join(row[0] for row in rows("field | holds | source"))
    assert all(f"`{name}`" in named for name in ("latency_s", *DECLARED))
