"""Every number on every page of the board and its systems is the scorecards', and no page shows another one."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import fixture_board as made
import pytest
from bs4.element import Comment, Doctype, NavigableString
from index_numbers import index_numbers
from page_numbers import NUMBER, Card, Ledger, cards_in, read, standing
from places_of import Places
from some_pages import build_some
from system_numbers import SystemPage

REAL = Path(__file__).resolve().parents[2] / "leaderboard" / "results"
KEPT = (
    "edu-rag-mini-2.0.0/test",
    "open-textbooks-1.0.0/test",
    "open-textbooks-1.0.0/test-stratified-500-seed-0",
    "tqa-val-3.0.0/val",
)
SYSTEMS = (
    "house-light",
    "mala-sparse",
    "edu-rag-vanilla-qwen1b",
    "edu-rag-vanilla-gemma3",
    "sbert-overlap",
    "blind-abstain",
    "blind-a",
    "edu-rag-paper-smollm2",
    "bm25-overlap",
)
NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
N_DIGITS = 80 if NIGHTLY else 20
"""Digits of a page that are changed, each in its turn: all checks of a page run for each of them."""
PROBES = {
    "no-context": {
        "n": 1255,
        "sample": None,
        "seed": 0,
        "counts": {"correct": 400, "incorrect": 855},
        "score": -0.3625,
        "interval": [-0.4, -0.31],
        "main_score": 0.1,
        "difference": -0.4625,
        "difference_interval": [-0.5, -0.41],
        "p": 0.004,
        "rejection": 0.25,
        "rejection_interval": [0.2, 0.31],
        "main_rejection": 0.03125,
    },
    "repeat": {
        "n": 60,
        "score": 0.5,
        "interval": [0.25, 0.7],
        "main_score": 0.5,
        "difference": 0.0,
        "difference_interval": [-0.05, 0.05],
        "p": 1.0,
        "n_identical": 58,
        "scores": [0.5, 0.5, 0.5],
    },
}
COST = {"cost_usd": {"mean": 0.01234, "total": 3.7, "n": 300, "source": "declared"}, "energy_j": {"mean": 12.5}}


class Built(NamedTuple):
    """A site, all scorecards as JSON, those that stand by table and slug, and the places of each table."""

    site: Path
    cards: list[Card]
    tables: Mapping[str, Mapping[str, Card]]
    places: Mapping[str, Places]


def built(folder: Path) -> Built:
    """The board's and the systems' pages of folder/results."""
    site, cards = build_some(folder / "results", folder / "site"), cards_in(folder / "results")
    tables = standing(cards)
    return Built(site, cards, tables, {name: Places(list(table.values())) for name, table in tables.items()})


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    """One of made-up scorecards, in which every field is filled, and one of committed ones."""
    folder = tmp_path_factory.mktemp("numbers")
    made.write_board(folder / "made/results")
    further = made.card_of(
        "probed",
        made.outcomes_of((50, 30, 10, 5, 5), 1255, 99),
        name="Probed 3.5",
        probes=PROBES,
        cost=COST,
        made_on="tqa@0.9.0",
        models=("Model 70B, 4 bit",),
        description="Version 2.5 of 7 parts. " * 40,
        attribution={},
        dataset="tqa@1.1.0#99999999",
        predictions_sha256="ab" * 32,
    )
    made.write_card(folder / "made/results", further)
    for name in KEPT:
        for slug in SYSTEMS:
            if (REAL / name / slug).is_dir():
                shutil.copytree(REAL / name / slug, folder / "real/results" / name / slug)
    return {name: built(folder / name) for name in ("made", "real")}


def check_index(board: Built, page: Any) -> None:
    index_numbers(Ledger(page), board.tables, board.cards, board.places)


def check_system(board: Built, table: str, slug: str, page: Any) -> None:
    card, others = board.tables[table][slug], board.tables[table]
    SystemPage(Ledger(page), card, others, board.cards, board.places[table]).check()


def mutations(page: Any, n: int) -> list[tuple[NavigableString, str]]:
    """Texts of the page's body, each with one digit changed."""
    texts = [text for text in page.body.find_all(string=NUMBER) if not isinstance(text, Comment | Doctype)]
    chance = random.Random("digits")
    found = []
    for text in chance.sample(texts, min(n, len(texts))):
        at = chance.choice([place for place, char in enumerate(text) if char in "0123456789"])
        found.append((text, f"{text[:at]}{(int(text[at]) + chance.randrange(1, 10)) % 10}{text[at + 1 :]}"))
    return found


def unseen(page: Any, check: Callable[[Any], None], n: int) -> list[str]:
    """The changed texts that the check lets through."""
    missed = []
    for text, changed in mutations(page, n):
        other = NavigableString(changed)
        text.replace_with(other)
        try:
            check(page)
            missed.append(changed)
        except (AssertionError, LookupError, StopIteration, ValueError):
            pass
        other.replace_with(text)
    return missed


@pytest.mark.parametrize("name", ["made", "real"])
def test_every_number_of_the_board_is_the_scorecards(boards: dict[str, Built], name: str) -> None:
    board = boards[name]
    check_index(board, read(board.site / "board.html"))


@pytest.mark.parametrize("name", ["made", "real"])
def test_every_number_of_every_system_page_is_the_scorecards(boards: dict[str, Built], name: str) -> None:
    board = boards[name]
    pages = [(table, slug) for table, standing_cards in board.tables.items() for slug in standing_cards]
    assert len(pages) == len(list((board.site / "systems").rglob("*.html"))) > 15
    for table, slug in pages if NIGHTLY else random.Random("pages").sample(pages, 12 if name == "made" else 6):
        check_system(board, table, slug, read(board.site / "systems" / table / f"{slug}.html"))


def test_one_changed_digit_of_the_board_is_found(boards: dict[str, Built]) -> None:
    for board in boards.values():
        page = read(board.site / "board.html")
        assert unseen(page, lambda one, board=board: check_index(board, one), N_DIGITS // 2) == []
        check_index(board, page)


@pytest.mark.parametrize(
    ("name", "table", "slug"),
    [
        ("real", "tqa-val.v3.val", "bm25-overlap"),
        ("made", "tqa.v1.val", "probed"),
        ("made", "tqa.v1.val", "gpt-4o"),
    ],
)
def test_one_changed_digit_of_a_system_page_is_found(
    boards: dict[str, Built], name: str, table: str, slug: str
) -> None:
    page = read(boards[name].site / "systems" / table / f"{slug}.html")
    assert unseen(page, lambda one: check_system(boards[name], table, slug, one), N_DIGITS) == []
    check_system(boards[name], table, slug, page)


def test_a_changed_sort_key_label_or_title_is_found(boards: dict[str, Built]) -> None:
    board = boards["real"]
    page = read(board.site / "board.html")
    for selector, name in (
        ("td[data-column=accuracy]", "data-value"),
        ("td[data-column=links] a", "aria-label"),
        (".badge.good", "title"),
    ):
        tag = next(tag for tag in page.select(selector) if NUMBER.search(tag[name]))
        before, at = tag[name], NUMBER.search(tag[name]).end() - 1
        tag[name] = f"{before[:at]}{(int(before[at]) + 1) % 10}{before[at + 1 :]}"
        with pytest.raises(AssertionError):
            check_index(board, page)
        tag[name] = before
    check_index(board, page)
