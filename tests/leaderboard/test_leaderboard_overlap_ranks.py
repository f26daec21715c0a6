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

from edu_rag.scorecard.card import POINTS, ScoreCard
from edu_rag.statistics import rate_intervals
from leaderboard.board.overlap_ranks import MAX_DECLARATIONS, MIN_CLEAN, clean_of
from leaderboard.board.rank import BoardRank
from leaderboard.commands import board as command

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


def place_on_all(cards: list[ScoreCard], at: int) -> BoardRank:
    lessons = list(cards[0].lessons)
    units = lessons if len(set(lessons)) > 1 else list(range(cards[0].counts.n))
    firsts = brute_firsts([[VALUE[letter] for letter in one.outcomes] for one in cards], units)
    return BoardRank(firsts[at], firsts[at] + firsts.count(firsts[at]) - 1)


@given(tables())
@settings(max_examples=60, deadline=None)
def test_clean_figures_are_those_of_a_table_of_the_clean_questions_alone(cards: list[ScoreCard]) -> None:
    for at, (card, clean) in enumerate(zip(cards, clean_of(cards, fewest=1), strict=True)):
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
        own = BoardRank(firsts[at], firsts[at] + firsts.count(firsts[at]) - 1)
        full = place_on_all(cards, at)
        assert clean.rank == BoardRank(max(own.first, full.first), max(own.last, full.last))
        assert clean.is_held == (clean.rank != own)
        assert clean.score == pytest.approx(sum(systems[at]) / len(kept))
        letters = "".join(card.outcomes[place] for place in kept)
        assert clean.interval == rate_intervals(letters, lessons)[0]["score"]


def test_each_system_has_the_subset_of_its_own_declaration() -> None:
    cheat = made.card_of("cheat", "c" * 20 + "i" * 20, overlap="1" * 20 + "0" * 20)
    honest = made.card_of("honest", "a" * 20 + "c" * 20, overlap="0" * 39 + "1")
    silent = made.card_of("silent", "a" * 40)
    first, second, third = clean_of([cheat, honest, silent], fewest=1)
    assert first is not None
    assert second is not None
    assert (first.n, first.score, first.rank) == (20, -1.0, BoardRank(3, 3))
    assert (second.n, second.rank, second.is_held) == (39, BoardRank(1, 3), True)
    assert third is None


def test_points_are_those_of_the_scorecards() -> None:
    assert {name[0]: points for name, points in POINTS.items()} == VALUE


def wrong_ones(outcomes: str) -> str:
    """The declaration of a team that games it: exactly what its system did not get right."""
    return "".join("0" if letter == "c" else "1" for letter in outcomes)


def test_declaring_what_was_answered_wrongly_gains_no_place_and_is_named() -> None:
    outcomes = "c" * 300 + "i" * 300
    gamed = made.card_of("gamed", outcomes, overlap=wrong_ones(outcomes))
    better = made.card_of("better", "c" * 250 + "i" * 50 + "c" * 300)
    _, clean = clean_of([better, gamed])
    assert clean is not None
    assert (clean.score, clean.declared_score) == (1.0, -1.0)
    assert (clean.rank, clean.is_held) == (BoardRank(2, 2), True)
    assert clean.is_lower


def test_an_honest_declaration_and_a_handful_of_questions_are_not_called_lower() -> None:
    half = "ci" * 300
    honest = made.card_of("honest", half, overlap="1" * 200 + "0" * 400)
    seen = made.card_of("seen", "c" * 200 + half[200:], overlap="1" * 200 + "0" * 400)
    few = made.card_of("few", "i" * 19 + half[19:], overlap="1" * 19 + "0" * 581)
    assert [clean is not None and clean.is_lower for clean in clean_of([honest, seen, few])] == [False] * 3


@pytest.mark.parametrize(
    ("n", "n_left", "has_rank"), [(600, 179, False), (600, 180, True), (150, 99, False), (150, 100, True)]
)
def test_a_clean_part_of_few_questions_gives_a_score_and_no_place(n: int, n_left: int, has_rank: bool) -> None:
    card = made.card_of("one", "c" * n, overlap="1" * (n - n_left) + "0" * n_left)
    other = made.card_of("two", "i" * n)
    clean, _ = clean_of([card, other])
    assert clean is not None
    assert (clean.score, clean.n) == (1.0, n_left)
    assert (clean.rank is not None) == has_rank
    assert (clean.why_unranked == "") == has_rank


def test_no_more_declarations_are_ranked_than_a_table_can_bear_and_the_others_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 2 * MIN_CLEAN
    cards = [
        made.card_of(f"system-{at:02}", "c" * n, overlap="0" * at + "1" + "0" * (n - at - 1))
        for at in range(MAX_DECLARATIONS + 3)
    ]
    rankings = []
    from leaderboard.board import overlap_ranks as module

    original = module.rank_outcomes
    monkeypatch.setattr(module, "rank_outcomes", lambda *given: rankings.append(1) or original(*given))
    found = [clean for clean in clean_of(cards) if clean is not None]
    assert [clean.rank is not None for clean in found] == [True] * MAX_DECLARATIONS + [False] * 3
    assert len(rankings) == MAX_DECLARATIONS
    assert all(f"ranks {MAX_DECLARATIONS} different declarations" in clean.why_unranked for clean in found[-3:])
    assert all(clean.score == 1.0 for clean in found)


def write(folder: Path) -> Path:
    overlap = "1" * 200 + "0" * 200
    made.write_card(folder / "results", made.card_of("cheat", "c" * 200 + "i" * 200, overlap=overlap, team="one"))
    made.write_card(folder / "results", made.card_of("honest", "a" * 200 + "c" * 200, team="two"))
    made.write_card(folder / "results", made.card_of("all-seen", "c" * 400, overlap="1" * 400, team="three"))
    gamed = "c" * 120 + "i" * 280
    made.write_card(folder / "results", made.card_of("gamed", gamed, overlap=wrong_ones(gamed), team="four"))
    site = folder / "site"
    CliRunner().invoke(command, [str(folder / "results"), "--out", str(site)], catch_exceptions=False)
    return site


def test_the_page_shows_both_places_and_says_once_what_clean_means(tmp_path: Path) -> None:
    site = write(tmp_path)
    index = BeautifulSoup((site / "board.html").read_text(encoding="utf-8"), "html.parser")
    rows = {row.th.a.text: row for row in index.select("table.board tbody tr")}
    ranks = {name: list(row.select_one("[data-column=rank]").stripped_strings) for name, row in rows.items()}
    assert ranks == {"all-seen": ["1"], "honest": ["2"], "cheat": ["3", "clean", "3–4"], "gamed": ["4", "clean", "4"]}
    score = " ".join(rows["cheat"].select_one("[data-column=score]").stripped_strings)
    assert "clean −1.000" in score
    assert "declared 1.000" in score
    assert list(rows["all-seen"].select_one("[data-column=n]").stripped_strings) == ["400", "clean", "0"]
    assert index.text.count("every system of the table is scored on the same questions") == 1
    assert index.text.count("never shown as better than the rank on all questions") == 1
    page = (site / "systems/tqa.v1.val/cheat.html").read_text(encoding="utf-8")
    assert "may have seen 200 questions of these 400" in page
    assert "more than luck" not in page
    assert "no question is left" in (site / "systems/tqa.v1.val/all-seen.html").read_text(encoding="utf-8")


def test_a_declaration_that_goes_the_wrong_way_is_named_on_the_row_and_the_systems_page(tmp_path: Path) -> None:
    site = write(tmp_path)
    index = BeautifulSoup((site / "board.html").read_text(encoding="utf-8"), "html.parser")
    row = next(row for row in index.select("table.board tbody tr") if row.th.a.text == "gamed")
    badges = {one.text.strip(): one["title"] for one in row.select("[title]")}
    parts = "declared part: score −1.000; rest: score 1.000"
    assert badges["declared overlap: 280"].endswith(f"280 questions of these 400: {parts}")
    assert badges["declared part: lower"].startswith("The declared part scores lower than the rest, by more than luck")
    assert badges["declared part: lower"].endswith(parts)
    other = next(row for row in index.select("table.board tbody tr") if row.th.a.text == "cheat")
    assert "lower" not in other.text
    page = " ".join(
        BeautifulSoup((site / "systems/tqa.v1.val/gamed.html").read_text("utf-8"), "html.parser").text.split()
    )
    assert "The declared part scores lower than the rest, by more than luck" in page
    assert "its rank 4 of 4" in page
    assert "the worse place is shown" in page


def test_csv_and_json_carry_the_clean_columns(tmp_path: Path) -> None:
    site = write(tmp_path)
    (table,) = json.loads((site / "board.json").read_bytes())["tables"]
    rows = {row["slug"]: row for row in table["rows"]}
    cheat, gamed = rows["cheat"], rows["gamed"]
    assert (cheat["overlap_declared"], cheat["clean_n"], cheat["clean_score"]) == (200, 200, -1.0)
    assert (cheat["clean_rank_first"], cheat["clean_rank_last"]) == (3, 4)
    assert (cheat["declared_score"], cheat["declared_part_lower"]) == (1.0, False)
    assert (gamed["declared_score"], gamed["declared_part_lower"], gamed["clean_rank_first"]) == (-1.0, True, 4)
    assert (rows["honest"]["overlap_declared"], rows["honest"]["clean_n"]) == (0, None)
    assert (rows["honest"]["declared_score"], rows["honest"]["declared_part_lower"]) == (None, False)
    assert (rows["all-seen"]["clean_n"], rows["all-seen"]["clean_rank_first"]) == (0, None)
    lines = {line["slug"]: line for line in csv.DictReader(io.StringIO((site / "board.csv").read_text("utf-8")))}
    assert lines["cheat"]["clean_score"] == "-1.0"
    assert lines["honest"]["clean_score"] == ""
