"""The rank on the clean subset is that of a table of these questions alone, by a calculation that lists all cases."""

from __future__ import annotations

import csv
import io
import json
from itertools import combinations, product
from pathlib import Path

import fixture_board as made
import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.results import POINTS, ScoreCard
from edu_rag.statistics import rate_intervals
from leaderboard.clean import clean_of
from leaderboard.commands import board as command
from leaderboard.rank import Rank

VALUE = {"c": 1, "i": -1, "a": 0, "u": 0, "f": 0}


def brute_p(first: list[int], second: list[int], units: list[int]) -> float:
    """Sign-flip p by listing every way to turn the units' differences round."""
    sums = [
        sum(a - b for a, b, u in zip(first, second, units, strict=True) if u == unit) for unit in sorted(set(units))
    ]
    observed = abs(sum(sums))
    flips = list(product((1, -1), repeat=len(sums)))
    return sum(abs(sum(s * x for s, x in zip(flip, sums, strict=True))) >= observed for flip in flips) / len(flips)


def brute_firsts(systems: list[list[int]], units: list[int]) -> list[int]:
    """First places of tie groups: Holm over all pairs, then down the distinct scores."""
    pairs = sorted((brute_p(systems[i], systems[j], units), i, j) for i, j in combinations(range(len(systems)), 2))
    adjusted, highest = {}, 0.0
    for at, (p, i, j) in enumerate(pairs):
        highest = max(highest, min(1.0, (len(pairs) - at) * p))
        adjusted[i, j] = adjusted[j, i] = highest
    totals = [sum(system) for system in systems]
    firsts, leaders, first = [0] * len(systems), [], 1
    for level in sorted(set(totals), reverse=True):
        members = [i for i, total in enumerate(totals) if total == level]
        if not leaders:
            leaders = members
        elif all(adjusted[i, j] <= 0.05 for i in members for j in leaders):
            leaders, first = members, 1 + sum(total > level for total in totals)
        for i in members:
            firsts[i] = first
    return firsts


@st.composite
def tables(draw: st.DrawFn) -> list[ScoreCard]:
    n = draw(st.integers(7, 11))
    lessons = tuple(draw(st.sampled_from([(), tuple(at // 2 for at in range(n))])))
    letters = [
        draw(st.sampled_from(["c" * n, "i" * n])),
        *draw(st.lists(st.text("ciauf", min_size=n, max_size=n), min_size=1, max_size=2)),
    ]
    overlaps = [draw(st.just("") | st.text("0001", min_size=n, max_size=n)) for _ in letters]
    return [
        made.card_of(f"system-{at}", outcomes, overlap=overlap, lessons=lessons)
        for at, (outcomes, overlap) in enumerate(zip(letters, overlaps, strict=True))
    ]


@given(tables())
@settings(max_examples=60, deadline=None)
def test_clean_figures_are_those_of_a_table_of_the_clean_questions_alone(cards: list[ScoreCard]) -> None:
    for at, (card, clean) in enumerate(zip(cards, clean_of(cards), strict=True)):
        kept = [place for place, declared in enumerate(card.overlap) if declared == "0"]
        if "1" not in card.overlap:
            assert clean is None
            continue
        assert clean is not None
        assert (clean.n, clean.n_declared) == (len(kept), card.counts.n - len(kept))
        if not kept:
            assert clean.rank is clean.score is clean.interval is None
            continue
        systems = [[VALUE[one.outcomes[place]] for place in kept] for one in cards]
        lessons = [card.lessons[place] for place in kept] if card.lessons else []
        units = lessons if len(set(lessons)) > 1 else list(range(len(kept)))
        firsts = brute_firsts(systems, units)
        assert clean.rank == Rank(firsts[at], firsts[at] + firsts.count(firsts[at]) - 1)
        assert clean.score == pytest.approx(sum(systems[at]) / len(kept))
        letters = "".join(card.outcomes[place] for place in kept)
        assert clean.interval == rate_intervals(letters, lessons)[0]["score"]


def test_each_system_has_the_subset_of_its_own_declaration() -> None:
    cheat = made.card_of("cheat", "c" * 20 + "i" * 20, overlap="1" * 20 + "0" * 20)
    honest = made.card_of("honest", "a" * 20 + "c" * 20, overlap="0" * 39 + "1")
    silent = made.card_of("silent", "a" * 40)
    first, second, third = clean_of([cheat, honest, silent])
    assert first is not None
    assert second is not None
    assert (first.n, first.score, first.rank) == (20, -1.0, Rank(3, 3))
    assert (second.n, second.rank) == (39, Rank(1, 2))
    assert third is None


def test_points_are_those_of_the_scorecards() -> None:
    assert {name[0]: points for name, points in POINTS.items()} == VALUE


def write(folder: Path) -> Path:
    overlap = "1" * 20 + "0" * 20
    made.write_card(folder / "results", made.card_of("cheat", "c" * 20 + "i" * 20, overlap=overlap, team="one"))
    made.write_card(folder / "results", made.card_of("honest", "a" * 20 + "c" * 20, team="two"))
    made.write_card(folder / "results", made.card_of("all-seen", "c" * 40, overlap="1" * 40, team="three"))
    site = folder / "site"
    CliRunner().invoke(command, [str(folder / "results"), "--out", str(site)], catch_exceptions=False)
    return site


def test_the_page_shows_both_places_and_says_once_what_clean_means(tmp_path: Path) -> None:
    site = write(tmp_path)
    index = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")
    rows = {row.th.a.text: row for row in index.select("table.board tbody tr")}
    ranks = {name: list(row.select_one("[data-column=rank]").stripped_strings) for name, row in rows.items()}
    assert ranks == {"all-seen": ["1"], "honest": ["2–3"], "cheat": ["2–3", "clean", "3"]}
    assert "clean −1.000" in " ".join(rows["cheat"].select_one("[data-column=score]").stripped_strings)
    assert list(rows["all-seen"].select_one("[data-column=n]").stripped_strings) == ["40", "clean", "0"]
    assert index.text.count("every system of the table is scored on the same ones") == 1
    page = (site / "systems/tqa.v1.val/cheat.html").read_text(encoding="utf-8")
    assert "may have seen 20 questions of these 40" in page
    assert "No question is left" in (site / "systems/tqa.v1.val/all-seen.html").read_text(encoding="utf-8")


def test_csv_and_json_carry_the_clean_columns(tmp_path: Path) -> None:
    site = write(tmp_path)
    (table,) = json.loads((site / "board.json").read_bytes())["tables"]
    rows = {row["slug"]: row for row in table["rows"]}
    cheat = rows["cheat"]
    assert (cheat["overlap_declared"], cheat["clean_n"], cheat["clean_score"]) == (20, 20, -1.0)
    assert (cheat["clean_rank_first"], cheat["clean_rank_last"]) == (3, 3)
    assert (rows["honest"]["overlap_declared"], rows["honest"]["clean_n"]) == (0, None)
    assert (rows["all-seen"]["clean_n"], rows["all-seen"]["clean_rank_first"]) == (0, None)
    lines = {line["slug"]: line for line in csv.DictReader(io.StringIO((site / "board.csv").read_text("utf-8")))}
    assert lines["cheat"]["clean_score"] == "-1.0"
    assert lines["honest"]["clean_score"] == ""
