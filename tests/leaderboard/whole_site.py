"""A site with every kind of page, made by the command itself, and its pages by kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import fixture_board as made
import fixture_quiz as quiz
from click.testing import CliRunner
from fixture_retrieval import RUNS

from edu_rag.scorecard.retrieval_card import write_retrieval_card
from leaderboard.commands import board as command

URL = "https://board.example/"
SVGS_OF_PAGES = ("plots", "datasets", "badges", "assets")


def run_board(results: Path, site: Path, datasets: Sequence[Path] = ()) -> Path:
    """`edu-rag board` with all that it can be given; the site."""
    given = [word for dataset in datasets for word in ("--dataset", str(dataset))]
    words = [str(results), "--out", str(site), *given, "--url", URL, "--repository", quiz.REPOSITORY]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return site


def build_whole(folder: Path) -> Path:
    """Made-up results on two datasets, of one of which the questions are shown, and runs; the site below the folder."""
    dataset = quiz.write_exam(folder / "dataset")
    quiz.write_results(folder / "results", dataset)
    made.write_board(folder / "results")
    for run in RUNS:
        write_retrieval_card(folder / "results", run)
    return run_board(folder / "results", folder / "site", [dataset.folder])


def kind_of(inside: Path) -> str:
    """The kind of a page by its path in the site: folders of one depth hold one kind, and an index is another."""
    if len(inside.parts) == 1:
        return inside.name
    last = "index" if inside.name == "index.html" else "*"
    return "/".join([inside.parts[0], *["*"] * (len(inside.parts) - 2), last])


def kinds(site: Path) -> dict[str, Path]:
    """One page of every kind that a site holds: the one with most in it."""
    found: dict[str, Path] = {}
    for path in sorted(site.rglob("*.html"), key=lambda path: path.stat().st_size):
        found[kind_of(path.relative_to(site))] = path
    return dict(sorted(found.items()))
