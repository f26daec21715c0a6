"""The board's page of retrieval runs: a table for each kind of relevant pages, and no trace of it without a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fixture_board import DATASET, card_of
from fixture_retrieval import RUNS, run_card

from edu_rag.errors import FaultsError
from edu_rag.files.board_file import BoardDataset, BoardFile
from edu_rag.scorecard.results_folder import place_of, write_scorecard
from edu_rag.scorecard.retrieval_card import RetrievalCard, write_retrieval_card
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.board.retrieval_tables import retrieval_tables
from leaderboard.edition import Edition
from leaderboard.pages.retrieval_page import files
from leaderboard.render import MORE, environment_of, more_of


def results_of(folder: Path, *runs: RetrievalCard) -> Path:
    card = card_of()
    (folder / place_of(card)).mkdir(parents=True)
    write_scorecard(folder / place_of(card) / "scorecard.json", card)
    for run in runs:
        write_retrieval_card(folder, run)
    return folder


def edition_of(results: Path) -> Edition:
    groups = collect(results)
    return Edition(board=present(groups), groups=groups, retrieval=retrieval_tables(results))


def test_without_a_run_the_board_has_no_page_and_no_link_to_one(tmp_path: Path) -> None:
    edition = edition_of(results_of(tmp_path))
    assert list(files(edition, environment_of(edition))) == []
    assert tuple(more_of(edition)) == MORE


def test_runs_have_a_table_for_each_kind_of_pages_best_first(tmp_path: Path) -> None:
    edition = edition_of(results_of(tmp_path, *RUNS))
    ((name, raw),) = files(edition, environment_of(edition))
    assert isinstance(raw, bytes)
    page = raw.decode()
    assert (name, page.count("<table")) == ("retrieval.html", 2)
    assert page.index("&lt;script&gt;x") < page.index("worse")
    assert "<script>x" not in page
    assert "8 of 10" in page


def test_the_foot_of_every_page_leads_to_it(tmp_path: Path) -> None:
    edition = edition_of(results_of(tmp_path, *RUNS))
    assert more_of(edition)[-1].href == "retrieval.html"
    foot = environment_of(edition).get_template("errata.html.j2").render(root="", here="", entries=[])
    assert '<a href="retrieval.html">' in foot


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
