"""Every number that a reader sees in a row, a frame and a system's page is the scorecard's: read from the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import fixture_board as made
import pytest
from bs4 import BeautifulSoup, Tag
from some_pages import build_some

from edu_rag.scorecard.card import OUTCOMES, ScoreCard

NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?")
POINTS = {"c": 1, "i": -1}
SEEN = (
    "rank",
    "system",
    "team",
    "score",
    "axis",
    "outcomes",
    "accuracy",
    "hallucination",
    "missing",
    "accuracy_given_attempted",
    "strict_score",
    "n",
    "cost",
    "median_latency_s",
    "scored_at",
    "links",
)
COSTS = {
    "dear": {"cost_usd": {"mean": 0.01234, "total": 3.7, "n": 60, "source": "declared"}},
    "cheap": {"cost_usd": {"mean": 0.00089, "total": 0.05, "n": 60, "source": "declared"}, "input_tokens": {"mean": 9}},
    "wordy": {"input_tokens": {"mean": 1700.6, "n": 60}, "output_tokens": {"mean": 12.2, "n": 60}},
    "quick": {"latency_s": {"median": 0.1234, "source": "measured"}},
    "odd": {"cost_usd": {"mean": "free"}, "input_tokens": {"mean": True}, "output_tokens": [3], "latency_s": -1},
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, str], ScoreCard]]:
    folder = tmp_path_factory.mktemp("numbers")
    cards = made.write_board(folder / "results")
    for slug, cost in COSTS.items():
        outcomes = made.outcomes_of((50, 30, 10, 5, 5), 60, seed=len(slug))
        cards.append(made.card_of(slug, outcomes, split="dev", cost=cost, name=f"{slug.title()} model", licence="MIT"))
        made.write_card(folder / "results", cards[-1])
    return build_some(folder / "results", folder / "site"), {(card.split, card.system.slug): card for card in cards}


@cache
def soup_of(path: Path) -> BeautifulSoup:
    """A page of a site that no test changes."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


def assert_shows(text: str, values: Sequence[float | None]) -> None:
    """The text holds these numbers and no other, each rounded to the places that it is shown with."""
    known = [value for value in values if value is not None]
    found = numbers(text)
    assert len(found) == len(known), (text, known)
    for shown, value in zip(found, known, strict=True):
        places = len(shown.partition(".")[2])
        number = float(shown.replace(",", "").replace("−", "-"))
        assert abs(number - value) <= 0.5 * 10**-places + 1e-9, (text, value)
        assert (number < 0) == (round(value, places) < 0), (text, value)


def score_of(outcomes: str, overlap: str, mark: str) -> float | None:
    points = [POINTS.get(letter, 0) for letter, declared in zip(outcomes, overlap, strict=True) if declared == mark]
    return sum(points) / len(points) if points else None


def score_cell(card: ScoreCard) -> list[float | None]:
    c, n = card.counts, card.counts.n
    values: list[float | None] = [(c.correct - c.incorrect) / n, *card.intervals["score"]]
    if "1" in card.overlap:
        values += [score_of(card.outcomes, card.overlap, "0"), score_of(card.outcomes, card.overlap, "1")]
    return values


def badge_numbers(card: ScoreCard, runs: int | None) -> list[float | None]:
    values: list[float | None] = [card.overlap.count("1") or None]
    rerun = card.rerun
    if rerun and not rerun["own"] and rerun["n"] != rerun["n_same"]:
        values += [rerun["n_same"], rerun["n"]]
    return [*values, runs]


def check_row(row: Tag, card: ScoreCard) -> None:
    """All cells of a row but the rank, which the whole table decides."""
    cells = {cell["data-column"]: cell for cell in row.select("td, th")}
    c, n = card.counts, card.counts.n
    rates = {"accuracy": c.correct, "hallucination": c.incorrect, "missing": c.abstained + c.unparseable + c.failed}
    shown = {name: [100 * count / n] for name, count in rates.items()}
    attempted = c.correct + c.incorrect
    shown["accuracy_given_attempted"] = [100 * c.correct / attempted] if attempted else []
    shown["strict_score"] = [(c.correct - c.incorrect - c.unparseable - c.failed) / n]
    shown["n"] = [n, card.overlap.count("0")] if "1" in card.overlap else [n]
    shown["scored_at"] = [int(part) for part in card.scored_at[:10].split("-")]
    latency = card.cost.get("latency_s")
    shown["median_latency_s"] = [latency["median"]] if isinstance(latency, dict) else []
    for name, values in shown.items():
        if name in cells:
            # '<0.001' is a bound, and a date's hyphens are no signs.
            text = cells[name].get_text(" ").replace("<0.001", str(values)).replace("-", " ")
            assert_shows(text, values)
    assert_shows(cells["score"].get_text(" "), score_cell(card))
    bar = [value for outcome in OUTCOMES for value in (getattr(c, outcome), 100 * getattr(c, outcome) / n)]
    assert_shows(cells["outcomes"].title.text, [*bar, n])
    runs = next((badge for badge in cells["system"].select(".badge") if "runs by" in badge.text), None)
    own = [
        one.text for one in cells["system"].select(".badge") if not re.match("resembles|withdrawn", one.text.strip())
    ]
    assert_shows(" ".join(own), badge_numbers(card, int(numbers(runs.text)[0]) if runs else None))
    assert cells["system"].a.text == card.system.name
    assert cells["team"].text == card.system.team
    assert not numbers(" ".join(cells[name].get_text(" ") for name in ("axis", "links") if name in cells))


def test_every_number_of_every_row_is_the_scorecards(built: tuple[Path, dict[tuple[str, str], ScoreCard]]) -> None:
    site, cards = built
    rows = soup_of(site / "board.html").select("table.board tbody tr")
    assert len(rows) == len(cards) == 28
    for row in rows:
        assert tuple(cell["data-column"] for cell in row.select("td, th")) == SEEN
        table, slug = row.th.a["href"].removeprefix("systems/").removesuffix(".html").split("/")
        check_row(row, cards[table.split(".")[2], slug])


def test_a_table_alone_shows_the_same_numbers(built: tuple[Path, dict[tuple[str, str], ScoreCard]]) -> None:
    site, _ = built
    embedded = sorted((site / "embed").glob("*.html"))
    assert len(embedded) == 3
    whole = {row.th.a["href"]: row for row in soup_of(site / "board.html").select("table.board tbody tr")}
    for path in embedded:
        for row in soup_of(path).select("table.board tbody tr"):
            twin = whole.pop(row.th.a["href"].removeprefix("../"))
            assert [cell.get_text(" ") for cell in row.select("td, th")] == [
                cell.get_text(" ") for cell in twin.select("td, th")[: len(row.select("td, th"))]
            ]
            assert row.th.a["target"] == "_top"
    assert not whole


def test_cost_is_dollars_where_they_are_declared_else_tokens(
    built: tuple[Path, dict[tuple[str, str], ScoreCard]],
) -> None:
    rows = soup_of(built[0] / "board.html").select("[id='tqa.v1.dev'] tbody tr")
    costs = {row.th.a.text.split()[0].lower(): row.select_one("[data-column=cost]") for row in rows}
    assert {slug: cell.get_text(" ") for slug, cell in costs.items()} == {
        "dear": "$0.012",
        "cheap": "$0.0009",
        "wordy": "1,713 tokens",
        "quick": "–",
        "odd": "–",
    }


def test_the_sentence_under_a_table_has_the_blind_systems_scores(
    built: tuple[Path, dict[tuple[str, str], ScoreCard]],
) -> None:
    site, cards = built
    text = soup_of(site / "board.html").select_one("[id='tqa.v1.val'] > p:not(.quiet)").get_text()
    blind = [card for (split, _), card in cards.items() if split == "val" and card.system.blind]
    assert len(blind) == 4
    for card in blind:
        (score,) = re.findall(rf"{re.escape(card.system.name)} \([^)]*\) ([−\d.]+\d)", " ".join(text.split()))
        assert_shows(score, [card.counts.score])
