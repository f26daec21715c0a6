"""What a row and a system's page say of runs, re-runs, caps, withdrawals and names; and the badge to link."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from bs4 import BeautifulSoup, Tag
from click.testing import CliRunner
from hostile_board import write_hostile
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.scorecard.card import ScoreCard
from leaderboard.board.badges import VERIFIED, badges_of, caps_words, count_of, rerun_badge
from leaderboard.commands import board as command

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


PLAIN: dict[str, Any] = {"older": False, "clean": None, "n_runs": 1, "resembles": []}


def badges(card: ScoreCard, **known: Any) -> list[str]:
    found = badges_of(card, **{**PLAIN, **known})
    assert all(badge.text and badge.title for badge in found)
    return [badge.text for badge in found]


def build(folder: Path) -> Path:
    site = folder / "site"
    CliRunner().invoke(command, [str(folder / "results"), "--out", str(site)], catch_exceptions=False)
    return site


def rows_of(site: Path) -> dict[str, Tag]:
    soup = BeautifulSoup((site / "board.html").read_text(encoding="utf-8"), "html.parser")
    return {row.th.a["href"].split("/")[-1].removesuffix(".html"): row for row in soup.select("table.board tbody tr")}


def page_of(site: Path, slug: str, table: str = "tqa.v1.val") -> BeautifulSoup:
    return BeautifulSoup((site / "systems" / table / f"{slug}.html").read_text(encoding="utf-8"), "html.parser")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"runnable": True}, "runnable"),
        ({"runnable": False}, "predictions only"),
        ({"rerun": made.RERUN}, "re-run: 20 of 20 answers agree"),
        ({"rerun": made.RERUN | {"n_same": 3}}, "re-run: 3 of 20 answers agree"),
        ({"rerun": made.RERUN | {"own": True}}, "run by the maintainers"),
        ({"caps": made.CAPS}, "sandboxed: 6 GiB of memory, 256 processes"),
        ({"caps": {"sandbox": "none"}}, "not sandboxed"),
        (
            {"caps": made.CAPS | {"network": ["api.example.org", "b.example.org:8443"]}},
            "network: api.example.org, b.example.org:8443",
        ),
        ({"asks_network": ("api.example.org",)}, "asks for network: api.example.org"),
        ({"withdrawn": "a leak in our prompt"}, "withdrawn: a leak in our prompt"),
    ],
)
def test_a_badge_says_in_words_what_the_scorecard_holds(changes: dict[str, Any], text: str) -> None:
    assert text in badges(made.card_of(**changes))


def test_what_the_scorecard_does_not_hold_has_no_badge() -> None:
    assert badges(made.card_of()) == ["predictions only", "reported"]
    assert badges(made.card_of(withdrawn=" ")) == ["predictions only", "reported"]


def test_a_rerun_that_disagrees_is_a_caution_and_one_that_agrees_is_none() -> None:
    manners = [rerun_badge(made.card_of(rerun=made.RERUN | {"n_same": n})) for n in (20, 19)]
    assert [badge and badge.manner for badge in manners] == ["good", "warn"]


@given(st.dictionaries(st.sampled_from(["n", "n_same", "made_at", "caps", "own"]), JSON))
def test_a_rerun_of_any_json_never_breaks_nor_claims_more_than_it_holds(rerun: dict[str, Any]) -> None:
    badge = rerun_badge(made.card_of(rerun=rerun))
    if badge is not None and rerun.get("own") is not True:
        assert 0 <= rerun["n_same"] <= rerun["n"]
        assert len(badge.title) < 200


@given(st.dictionaries(st.sampled_from(["sandbox", "memory_bytes", "n_processes", "cpu_s", "network", "other"]), JSON))
def test_caps_of_any_json_are_words_of_ours_or_nothing(caps: dict[str, Any]) -> None:
    assert all(len(words) < 60 for words in caps_words(caps))
    card = made.card_of(caps=caps)
    assert any("sandboxed" in text for text in badges(card)) == bool(caps)


def test_a_sandbox_with_a_network_does_not_say_that_it_had_none() -> None:
    titles = [
        badge.title for badge in badges_of(made.card_of(caps=made.CAPS | {"network": ["a.example.org"]}), **PLAIN)
    ]
    assert not any("without a network" in title for title in titles)
    assert made.card_of(caps={"network": ["<b>", 1, "a\nb", "a.example.org"]}).network == ("a.example.org",)


def test_a_network_that_was_granted_takes_the_place_of_the_one_that_is_asked_for() -> None:
    caps = made.CAPS | {"network": ["a.example.org"]}
    texts = badges(made.card_of(caps=caps, asks_network=("a.example.org", "b.example.org")))
    assert [text for text in texts if "network" in text] == ["network: a.example.org"]


def test_booleans_and_negative_numbers_are_no_counts() -> None:
    assert [count_of(value) for value in (True, -1, 1.0, "1", None, 10**10, 0)] == [None] * 6 + [0]


def test_a_withdrawn_system_keeps_its_row_and_its_rank_and_the_table_says_so(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("gone", "c" * 40, team="one", withdrawn="we saw the test"))
    made.write_card(tmp_path / "results", made.card_of("here", "i" * 40, team="two"))
    site = build(tmp_path)
    rows = rows_of(site)
    assert "withdrawn" in rows["gone"]["class"]
    assert "withdrawn" not in rows["here"]["class"]
    assert [rows[slug].td.text for slug in ("gone", "here")] == ["1", "2"]
    text = (site / "board.html").read_text(encoding="utf-8")
    assert text.count("keeps its row and its rank") == 1
    assert "we saw the test" in page_of(site, "gone").text
    (table,) = json.loads((site / "board.json").read_bytes())["tables"]
    assert [row["withdrawn"] for row in table["rows"]] == ["we saw the test", ""]


def write_tries(results: Path) -> None:
    """One team under two spellings: two systems, one of them on two versions and on a sample; and another team."""
    old, new = "tqa@1.0.0#0a1b2c3d", "tqa@1.1.0#99999999"
    made.write_card(results, made.card_of("one", "cccii", team="A  Team", dataset=old, predictions_sha256="1" * 64))
    made.write_card(results, made.card_of("one", "cccci", team="a team", dataset=new, predictions_sha256="2" * 64))
    made.write_card(results, made.card_of("two", "ccccc", team="Ａ team", dataset=old, predictions_sha256="3" * 64))
    made.write_card(results, made.card_of("two", "ccccc", team="a team", dataset=new, predictions_sha256="3" * 64))
    made.write_card(results, made.card_of("two", "cc", team="a team", dataset=new, sample="stratified-2-seed-0"))
    made.write_card(results, made.card_of("far", "cc", team="a team", dataset="other@1.0.0#0a1b2c3d"))
    made.write_card(results, made.card_of("six", "iiiii", team="somebody else", dataset=new))
    made.write_card(results, made.card_of("nobody", "iiiii", team="", dataset=new))


def test_all_runs_of_a_team_on_a_dataset_are_counted_and_its_pages_link_them(tmp_path: Path) -> None:
    write_tries(tmp_path / "results")
    site = build(tmp_path)
    rows = rows_of(site)
    assert "4 runs by team" in rows["two"].text
    assert all("runs by" not in rows[slug].text for slug in ("one", "six", "nobody", "far"))  # told once, by the best
    page = page_of(site, "one")
    section = page.select_one("#runs")
    assert section.h2.text == "4 runs by this team on tqa"
    links = {a["href"].removeprefix("../../") for a in section.select("tbody a")}
    assert links == {
        "data/tqa.v1.val/one/earlier/1.0.0/scorecard.json",
        "data/tqa.v1.val/two/earlier/1.0.0/scorecard.json",
        "systems/tqa.v1.val/two.html",
        "systems/tqa.v1.val.stratified-2-seed-0/two.html",
    }
    assert all((site / link).is_file() for link in links)
    assert len(section.select("tbody tr")) == 5
    assert page_of(site, "six").select_one("#runs") is None
    assert (site / "board.html").read_text(encoding="utf-8").count("the more luck in the best of them.") == 2


def test_names_that_look_like_those_of_other_teams_are_flagged_and_a_team_s_own_are_not(tmp_path: Path) -> None:
    results = tmp_path / "results"
    made.write_card(results, made.card_of("science-rag", "cccii", team="OpenAI"))
    made.write_card(results, made.card_of("best-reader", "cciii", team="ОpenAl"))
    made.write_card(results, made.card_of("good-reader", "cciii", team="Somebody"))
    made.write_card(results, made.card_of("good-reeder", "cciii", team="Somebody"))
    made.write_card(results, made.card_of("science-reg", "cciii", team="Else"))
    site = build(tmp_path)
    rows = rows_of(site)
    flagged = {slug: "resembles" in row.text for slug, row in rows.items()}
    assert flagged == {
        "science-rag": True,
        "best-reader": True,
        "science-reg": True,
        "good-reader": False,
        "good-reeder": False,
    }
    assert "“ОpenAl”" in rows["science-rag"].text
    assert "science-reg" in page_of(site, "science-rag").select_one("dl.facts").text
    (table,) = json.loads((site / "board.json").read_bytes())["tables"]
    assert {row["slug"]: row["resembles"] for row in table["rows"]}["best-reader"] == "OpenAI"


def test_a_system_page_names_every_hash_and_version_and_what_was_run(tmp_path: Path) -> None:
    card = made.card_of("one", predictions_sha256="a" * 64, system_sha256="b" * 64, caps=made.CAPS, rerun=made.RERUN)
    made.write_card(tmp_path / "results", card)
    text = " ".join(page_of(build(tmp_path), "one").text.split())
    for part in ("a" * 64, "b" * 64, made.DATASET, "edu-rag 0.1.0", "240 CPU seconds a question", "on 2026-11-20"):
        assert part in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Sandbox the answers were submitted Re-run"),
        ({"rerun": made.RERUN}, "Sandbox the answers were submitted Re-run"),
        (
            {"rerun": made.RERUN | {"own": True}},
            "Sandbox not recorded: the maintainers submitted the answers of their own",
        ),
    ],
)
def test_a_page_does_not_call_a_maintainers_run_handed_in(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", **changes))
    assert said in " ".join(page_of(build(tmp_path), "one").get_text(" ").split())


def read_badge(path: Path) -> tuple[str, list[str]]:
    root = ET.fromstring(path.read_bytes())
    space = "{http://www.w3.org/2000/svg}"
    assert {tag.tag.removeprefix(space) for tag in root.iter()} == {"svg", "title", "rect", "path", "g", "text"}
    title = root.find(f"{space}title")
    assert root.get("aria-labelledby") == title.get("id")
    return str(title.text), [str(tag.text) for tag in root.iter(f"{space}text")]


def test_each_system_has_a_badge_of_its_score_rank_and_table(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", "c" * 40, name="Ours & <yours>"))
    made.write_card(tmp_path / "results", made.card_of("two", "i" * 40, withdrawn="a mistake", team="other"))
    site = build(tmp_path)
    title, words = read_badge(site / "badges/tqa.v1.val/one.svg")
    assert words == ["EDU-RAG · tqa v1 val", "1.000 · rank 1 of 2"]
    assert title.startswith("Ours & <yours> on EDU-RAG, tqa version 1, val: score 1.000 [")
    assert title.endswith("rank 1 of 2")
    assert read_badge(site / "badges/tqa.v1.val/two.svg")[1][1] == "withdrawn"
    assert page_of(site, "one").select_one("a[href='../../badges/tqa.v1.val/one.svg']")
    line = "[![EDU-RAG](SITE/badges/tqa.v1.val/one.svg)](SITE/systems/tqa.v1.val/one.html)"
    assert page_of(site, "one").select_one("code.address").text == line
    assert (
        json.loads((site / "board.json").read_bytes())["tables"][0]["rows"][0]["badge"] == "badges/tqa.v1.val/one.svg"
    )


def test_badges_of_hostile_names_are_well_formed_and_hold_our_elements_alone(tmp_path: Path) -> None:
    write_hostile(tmp_path / "results")
    made.write_card(tmp_path / "results", made.card_of("odd", "c" * 200, name="\ufffe\uffff\x0b\ud7ff&#0;]]>"))
    site = build(tmp_path)
    found = [read_badge(path) for path in sorted((site / "badges").rglob("*.svg"))]
    assert len(found) == 20
    assert all(len(title) < 300 and len(words) == 2 for title, words in found)


def test_reported_results_are_marked_and_come_after_verified_ones_of_their_tie_group(tmp_path: Path) -> None:
    best, own, again, part, here = ("c" * n + "i" * (40 - n) for n in (30, 29, 28, 27, 26))
    whole = {"n": 40, "n_same": 40}
    cards = {
        "handed-in": made.card_of("handed-in", best),
        "own-run": made.card_of("own-run", own, rerun={"own": True, "n": 40, "n_same": 40}, runnable=True),
        "run-again": made.card_of("run-again", again, rerun=made.RERUN | whole, runnable=True),
        "run-in-part": made.card_of("run-in-part", part, rerun=made.RERUN | whole | {"n_same": 39}, runnable=True),
        "made-here": made.card_of("made-here", here, caps=made.CAPS, runnable=True),
        "far-below": made.card_of("far-below", "i" * 40, rerun=made.RERUN | whole),
    }
    assert {slug for slug, card in cards.items() if card.reported} == {"handed-in", "run-in-part"}
    assert "reported" in badges(cards["handed-in"])
    assert "reported" not in badges(cards["own-run"])
    for card in cards.values():
        made.write_card(tmp_path / "results", card)
    site = build(tmp_path)
    rows = rows_of(site)
    assert list(rows) == ["own-run", "run-again", "made-here", "handed-in", "run-in-part", "far-below"]
    assert {slug: "reported" in row.get_text() for slug, row in rows.items()} == {
        slug: card.reported for slug, card in cards.items()
    }
    values = json.loads((site / "board.json").read_bytes())["tables"][0]["rows"]
    assert [row["reported"] for row in values] == [cards[row["slug"]].reported for row in values]
    assert [(row["rank_first"], row["rank_last"]) for row in values] == [(1, 5)] * 5 + [(6, 6)]


@given(st.dictionaries(st.sampled_from(["own", "n", "n_same", "made_at"]), JSON))
def test_whatever_a_scorecard_says_of_a_rerun_it_is_reported_or_verified(rerun: dict[str, Any]) -> None:
    card = made.card_of(rerun=rerun)
    badge = rerun_badge(card)
    assert card.reported == (badge is None or badge.short != VERIFIED)


@pytest.mark.parametrize(
    ("n_questions", "n_again", "confirmed"),
    [(300, 50, True), (300, 49, False), (300, 1, False), (20, 20, True), (20, 19, False), (50, 50, True), (1, 1, True)],
)
def test_a_rerun_confirms_a_result_by_fifty_questions_or_by_all(
    n_questions: int, n_again: int, confirmed: bool
) -> None:
    card = made.card_of("one", "c" * n_questions, rerun=made.RERUN | {"n": n_again, "n_same": n_again})
    assert card.reported != confirmed
    badge = rerun_badge(card)
    assert badge is not None
    assert (badge.short == VERIFIED) == confirmed
    assert f"{n_again} of {n_again} answers agree" in badge.text
