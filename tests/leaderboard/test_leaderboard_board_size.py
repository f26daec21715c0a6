"""A board of 500 rows: what goes over the wire, and what the browser holds."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from real_browser import opened
from some_pages import build_some

from edu_rag.look.jinja_pages import look_css
from leaderboard.board import present as presenting
from leaderboard.board.rank import BoardRank
from leaderboard.pages import assets, board_page

ROWS = 500
MAX_WIRE = 200_000
MAX_NODES = 25_000


def write_many(results: Path) -> None:
    """Made-up rows with the spread of real ones; their intervals are drawn, not computed."""
    chance = random.Random("500 rows")
    for number in range(ROWS):
        slug, name, team, shares, blind, runnable, latency = made.SYSTEMS[number % len(made.SYSTEMS)]
        outcomes = "".join(chance.choices("ciauf", [share + 3 * chance.random() for share in shares], k=2524))
        base = made.card_of(f"{slug}-{number}", "ci", slices=())
        counts = made.counts_of(outcomes)
        half = chance.uniform(0.01, 0.05)
        facts = replace(
            base.system,
            name=f"{name}, variant {chance.randrange(10**6):x}",
            blind=blind,
            runnable=runnable,
            team=f"{team.split(',')[0]} {chance.randrange(90)}",
            licence=chance.choice(["", "MIT"]),
            models=(f"model-{chance.randrange(150)}B-Instruct",),
            links=(f"https://example.org/{number}",),
        )
        card = replace(
            base,
            system=facts,
            outcomes=outcomes,
            counts=counts,
            slices=(),
            intervals={"score": (max(-1, counts.score - half), min(1, counts.score + half))},
            cost=made.latency_cost(latency or 0.1, 2524, measured=runnable) | {"input_tokens": {"mean": 700 + number}},
            scored_at=f"2026-{chance.randrange(1, 12):02d}-10T09:30:00Z",
        )
        made.write_card(results, card)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    write_many(folder / "results")
    with pytest.MonkeyPatch.context() as patch:
        # Places cost time and change no size: 124,750 pairs.
        patch.setattr(presenting, "rank", lambda cards: [BoardRank(at, at) for at in range(1, len(cards) + 1)])
        return build_some(folder / "results", folder / "site", (board_page, assets))


def test_the_first_view_of_500_rows_is_under_200_kb_over_the_wire(site: Path) -> None:
    names = ("style.css", "board.js", "icon.svg", "inter-latin.woff2")
    first = [site / "board.html", *(site / "assets" / name for name in names)]
    assert look_css() in first[1].read_text(encoding="utf-8")
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 6)) for path in first}
    assert sum(sizes.values()) <= MAX_WIRE


def test_500_rows_are_sorted_filtered_and_seen_at_once(browser: Any, site: Path) -> None:
    for width in (1280, 390):
        page, troubles = opened(browser, site / "board.html", viewport={"width": width, "height": 900})
        assert page.locator("table.board tbody tr").count() == ROWS
        assert page.evaluate("document.querySelectorAll('*').length") <= MAX_NODES
        page.get_by_label("Filter").fill("GPT-4o")
        page.locator("th[data-column=score] button").click()
        assert 0 < page.locator("table.board tbody tr:not([hidden])").count() < ROWS
        assert troubles == []
        page.context.close()
