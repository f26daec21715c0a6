"""docs/teams.md says what the code does: its causes, its probes, its arithmetic."""

from __future__ import annotations

import re
from pathlib import Path

from edu_rag.scorecard.card import CAUSES, POINTS
from harness.pages.compare_page import FULL
from harness.probing.run_probes import PROBES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "teams.md").read_text(encoding="utf-8")


def table_after(heading: str) -> list[list[str]]:
    """The cells of the first table after a heading, its own head and rule left out."""
    rows = re.findall(r"^\|(.*)\|$", TEXT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows][2:]


def test_every_cause_and_no_other_has_a_row() -> None:
    assert {row[0].strip("`") for row in table_after("Find the lost points")} == set(CAUSES)


def test_every_probe_and_no_other_has_a_row() -> None:
    assert [row[0].strip("`") for row in table_after("Run probes")] == list(PROBES)


def test_what_a_guess_earns_is_the_points_times_their_chances() -> None:
    block = TEXT.split("## Decide when to abstain\n", 1)[1].split("\n## ", 1)[0]
    (head, _, earns) = [
        [cell.strip() for cell in row.split("|")] for row in re.findall(r"^\|(.*)\|$", block, re.MULTILINE)
    ]
    for p, earned in zip(head[1:], earns[1:], strict=True):
        expected = float(p) * POINTS["correct"] + (1 - float(p)) * POINTS["incorrect"]
        assert float(earned) == round(expected, 2)
    assert POINTS["abstained"] == 0


def test_the_number_of_questions_shown_in_full_is_the_codes() -> None:
    assert FULL == 12
    assert "at most twelve questions of each kind in full" in " ".join(TEXT.split())
