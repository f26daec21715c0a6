"""A system's page: what it adds to its scorecard's numbers, and where it leads."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from bs4 import BeautifulSoup
from some_pages import build_some

from edu_rag.__main__ import root
from harness.probing.probe_questions import NAMES
from leaderboard.systems.remake_commands import steps_of
from leaderboard.systems.scorecard_tables import ASKED, losses_of, probes_of, retrieved_of

PROBE = {
    "n": 9,
    "score": 0.5,
    "interval": [0.1, 0.9],
    "main_score": 0.25,
    "difference": 0.25,
    "difference_interval": [-0.5, 1.0],
    "p": 0.4,
    "rejection": 0.1,
}


def page_of(tmp_path: Path, *cards: Any, slug: str = "one", table: str = "tqa.v1.val") -> BeautifulSoup:
    """The page of a system of a board of these scorecards."""
    for card in cards:
        made.write_card(tmp_path / "results", card)
    site = build_some(tmp_path / "results", tmp_path / "site")
    return BeautifulSoup((site / "systems" / table / f"{slug}.html").read_text(encoding="utf-8"), "html.parser")


def test_the_points_of_all_causes_are_those_that_the_score_lacks() -> None:
    card = made.card_of("one", "cciiaauf", attribution={"evidence_not_found": 4, "not_used": 1, "a new cause": 1})
    losses = losses_of(card)
    assert losses is not None
    assert losses.points == card.counts.n * (1 - card.counts.score) == 8
    assert [(loss.cause, loss.n, loss.width) for loss in losses.rows] == [
        ("evidence_not_found", 4, "100"),
        ("not_used", 1, "25"),
        ("a new cause", 1, "25"),
    ]
    assert losses.rows[2].meaning == ""
    assert losses_of(made.card_of("two", "cc")) is None


def test_causes_without_number_do_not_fill_a_page() -> None:
    causes = {f"cause {number}": 1 for number in range(60)}
    losses = losses_of(made.card_of("one", "i" * 60, attribution=causes))
    assert losses is not None
    assert (len(losses.rows), losses.n_left_out, losses.n) == (40, 20, 60)


def test_metrics_stand_in_a_table_by_depth_and_strange_ones_below_it() -> None:
    retrieval = {
        "n_citing": 7,
        "metrics": {"P@5": 0.25, "P@1": 0.5, "MRR": 0.75, "R@1": "many", "P@0": 0.5, "odd": 3},
        "intervals": {"P@5": [0.1, 0.4], "MRR": [0.9], "R@9": [0, 1]},
    }
    found = retrieved_of(retrieval)
    assert found.depths == [1, 5, 0]
    assert [(row.words, [one and tuple(one) for one in row.values]) for row in found.rows] == [
        ("Precision", [(0.5, None), (0.25, (0.1, 0.4)), None]),
        ("MRR", [None, None, (0.75, None)]),
    ]
    assert found.rest == {
        "n_citing": 7,
        "metrics": {"R@1": "many", "P@0": 0.5, "odd": 3},
        "intervals": {"MRR": [0.9], "R@9": [0, 1]},
    }


def test_metrics_at_very_many_depths_are_no_table() -> None:
    retrieval = {"metrics": {f"P@{depth}": 0.5 for depth in range(1, 20)}}
    assert retrieved_of(retrieval) == ([], [], retrieval)


def test_probes_stand_in_the_harness_s_order_and_what_makes_no_sense_below_them() -> None:
    assert tuple(ASKED) == NAMES
    found = probes_of({"permuted": PROBE, "no-context": PROBE | {"p": "small"}, "half-noise": {"n": 3}, "mine": 7})
    assert [(probe.name, probe.n, probe.p) for probe in found.rows] == [("no-context", 9, None), ("permuted", 9, 0.4)]
    assert found.rest == {
        "permuted": {"rejection": 0.1},
        "no-context": {"p": "small", "rejection": 0.1},
        "half-noise": {"n": 3},
        "mine": 7,
    }


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({}, "--dataset DATASET --split val"),
        ({"sample": "stratified-3-seed-7"}, "--dataset DATASET --split val --sample 3 --seed 7"),
        ({"dataset": "edu-rag-mini@2.0.0#520bf2f4", "split": "test"}, "--dataset demo/dataset --split test"),
    ],
)
def test_every_command_that_makes_a_number_again_is_one_that_the_command_line_takes(
    changes: dict[str, Any], asked: str
) -> None:
    card = made.card_of("my-system", "cci", runnable=True, probes={"no-context": PROBE}, **changes)
    commands = [step.command for step in steps_of(card)]
    assert [command.split()[1] for command in commands][-6:] == ["run", "probe", "score", "explain", "board", "verify"]
    for command in commands:
        name, *arguments = shlex.split(command)[1:]
        known = root.get_command(root.make_context("edu-rag", ["--help"], resilient_parsing=True), name)
        assert known is not None
        known.make_context(name, arguments)  # raises where an option is unknown or a value cannot be read
        if "submissions/" in command:
            assert f"submissions/my-system {asked}" in command


def test_handed_in_answers_are_scored_again_but_not_made_again(tmp_path: Path) -> None:
    page = page_of(tmp_path, made.card_of("one", "cci"))
    assert not [step for step in page.select("#again code") if step.text.startswith("edu-rag run")]
    assert "cannot" not in page.select_one("#again ol").text
    assert "scored again but not made again" in " ".join(page.select_one("#again p").text.split())


def test_every_result_of_a_system_is_listed_newest_first_with_what_moved_it(tmp_path: Path) -> None:
    one, other = "aa" * 32, "bb" * 32
    old = made.card_of("one", "cciii", predictions_sha256=one)
    new = made.card_of("one", "cccci", dataset="tqa@1.1.0#99999999", predictions_sha256=one)
    newest = made.card_of("one", "ccccc", dataset="tqa@2.0.0#88888888", predictions_sha256=other)
    sampled = made.card_of("one", "ci", sample="stratified-2-seed-0", predictions_sha256=other)
    elsewhere = made.card_of("one", "i", dataset="other@3.0.0#77777777", scored_at="2026-12-01T00:00:00Z")
    page = page_of(tmp_path, old, new, newest, sampled, elsewhere, made.card_of("two", "ciaca"))
    rows = [" ".join(row.get_text(" ").split()) for row in page.select("#history tbody tr")]
    assert [row.split()[0] for row in rows] == [
        "tqa@2.0.0#88888888",
        "tqa@1.1.0#99999999",
        "tqa@1.0.0#0a1b2c3d",
        "tqa@1.0.0#0a1b2c3d",
        "other@3.0.0#77777777",
    ]
    assert "0.400 other questions or gold" in rows[0]
    assert rows[0].endswith("page")
    assert "0.800 the same answers, scored again" in rows[1]
    assert rows[1].endswith("this page")
    links = [row.select("a")[-1]["href"].removeprefix("../../") for row in page.select("#history tbody tr")]
    assert links[1].startswith("history/tqa-1.1.0.html#")
    replaced = tmp_path / "site" / next(link for link in links if link.endswith("scorecard.json"))
    assert json.loads(replaced.read_bytes())["outcomes"] == "cciii"


def test_a_page_leads_to_its_neighbours_in_rank_and_to_its_table_as_data(tmp_path: Path) -> None:
    cards = [
        made.card_of(slug, outcomes) for slug, outcomes in (("one", "cccaa"), ("two", "ccaaa"), ("three", "caaaa"))
    ]
    page = page_of(tmp_path, *cards, slug="two")
    assert [" ".join(line.text.split()) for line in page.select("nav.on li")][:2] == [
        "Compare with one (above)",
        "Compare with three (below)",
    ]
    assert [a["href"] for a in page.select("nav.on li a")][:3] == [
        "../../compare.html?table=tqa.v1.val&a=two&b=one",
        "../../compare.html?table=tqa.v1.val&a=two&b=three",
        "../../plots/tqa.v1.val.html",
    ]
    first = BeautifulSoup((tmp_path / "site/systems/tqa.v1.val/one.html").read_text(encoding="utf-8"), "html.parser")
    assert " ".join(first.select_one("nav.on li").text.split()) == "Compare with two (below)"
    for link in page.select("#downloads a[download]"):
        assert (tmp_path / "site" / link["href"].removeprefix("../../")).is_file()
    rows = json.loads((tmp_path / "site/tables/tqa.v1.val.json").read_bytes())["tables"][0]["rows"]
    assert [row["slug"] for row in rows] == ["one", "two", "three"]


def test_what_a_scorecard_does_not_say_the_page_says(tmp_path: Path) -> None:
    page = page_of(tmp_path, made.card_of("one", "cci", retrieval={"n_citing": 3}, cost={"latency_s": {"mean": 1}}))
    text = " ".join(page.select_one("section[aria-labelledby=details-heading] > p").text.split())
    assert text == (
        "This scorecard does not say where its points go, how it fares under other conditions (probes), how well it "
        "knows what it knows or whether it gives the same answers again."
    )
