"""The board's page of retrieval runs: a table for each kind of relevant pages, and no trace of it without a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from fixture_board import DATASET, card_of
from nu_checker import checker, complaints

from edu_rag.errors import FaultsError
from edu_rag.files.board_file import BoardDataset, BoardFile
from edu_rag.scorecard.card import SystemFacts
from edu_rag.scorecard.results_folder import place_of, write_scorecard
from edu_rag.scorecard.retrieval_card import PageMeasures, RetrievalCard, write_retrieval_card
from leaderboard.board.retrieval_tables import SHOWN, retrieval_tables
from leaderboard.commands import board


def measured(value: float, n: int = 9) -> PageMeasures:
    names = [*SHOWN, "P@5"]
    return PageMeasures(n=n, metrics=dict.fromkeys(names, value), intervals=dict.fromkeys(names, (0.0, 1.0)))


def run_card(slug: str, evidence: float | None = 0.5, home: float | None = None, **more: str) -> RetrievalCard:
    return RetrievalCard(
        system=SystemFacts(slug=slug, name=more.pop("name", slug), team="<b>a team</b>"),
        dataset=more.pop("dataset", DATASET),
        split="val",
        sample=None,
        harness="edu-rag-bench 0.1.0",
        n=10,
        n_ranked=8,
        evidence=None if evidence is None else measured(evidence),
        home=None if home is None else measured(home, 10),
        run_sha256="0" * 64,
        scored_at="2026-11-22T08:00:00Z",
    )


def site_of(folder: Path, *runs: RetrievalCard) -> Path:
    results = folder / "results"
    card = card_of()
    (results / place_of(card)).mkdir(parents=True)
    write_scorecard(results / place_of(card) / "scorecard.json", card)
    for run in runs:
        write_retrieval_card(results, run)
    done = CliRunner().invoke(board, [str(results), "--out", str(folder / "site")])
    assert done.exception is None, done.exception
    return folder / "site"


def test_without_a_run_the_board_has_no_page_and_no_word_of_retrieval_runs(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    assert not (site / "retrieval.html").exists()
    assert "retrieval.html" not in (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = (run_card("worse", 0.25, 0.75), run_card("better", 0.5, name="<script>x</script>"))
    return site_of(tmp_path_factory.mktemp("board"), *runs)


def test_runs_have_a_table_for_each_kind_of_pages_best_first(site: Path) -> None:
    page = (site / "retrieval.html").read_text(encoding="utf-8")
    assert page.count("<table") == 2
    assert page.index("&lt;script&gt;x") < page.index("worse")
    assert "<script>x" not in page
    assert "8 of 10" in page
    assert '<a href="retrieval.html">' in (site / "index.html").read_text(encoding="utf-8")


def test_the_page_is_valid_html(site: Path) -> None:
    checker()
    assert complaints([site / "retrieval.html"], site) == []


def test_a_run_on_a_newer_version_replaces_the_older_one(tmp_path: Path) -> None:
    older, newer = run_card("one", 0.2), run_card("one", 0.4, dataset=DATASET.replace("1.0.0", "1.1.0"))
    for card in (older, newer):
        write_retrieval_card(tmp_path, card)
    (table,) = retrieval_tables(tmp_path)
    assert [row.card.dataset for row in table.rows] == [newer.dataset]


def test_a_run_on_other_content_than_the_boards_dataset_is_refused(tmp_path: Path) -> None:
    write_retrieval_card(tmp_path, run_card("one"))
    pinned = BoardDataset(
        name="tqa",
        version="1.0.0",
        content_sha256="f" * 64,
        manifest_sha256="f" * 64,
        split="val",
        samples=("whole",),
    )
    with pytest.raises(FaultsError, match="and the board's dataset is tqa@"):
        retrieval_tables(tmp_path, BoardFile(baselines_team="us", datasets=[pinned]))


def test_every_broken_card_is_named(tmp_path: Path) -> None:
    for slug in ("one-run", "two-run"):
        write_retrieval_card(tmp_path, replace(run_card(slug))).write_text("{}")
    with pytest.raises(FaultsError) as caught:
        retrieval_tables(tmp_path)
    text = "\n".join(map(str, caught.value.faults))
    assert "one-run" in text
    assert "two-run" in text
