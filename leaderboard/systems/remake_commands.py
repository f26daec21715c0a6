"""How to make the numbers of a scorecard again: the exact commands, in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from edu_rag.files.board_file import read_board_file
from edu_rag.names import Release, Sample
from edu_rag.scorecard.card import ScoreCard

FOLDER = "DATASET"
"""Stands for a dataset's folder, which is somewhere else on every machine."""
DEMO = "demo/dataset"


class RemakeStep(NamedTuple):
    """A command, and what it does, as half a sentence."""

    command: str
    does: str


@cache
def _bundled() -> frozenset[Release]:
    """The datasets that `edu-rag demo` builds."""
    known = read_board_file(Path(__file__).resolve().parents[1] / "board.toml").datasets
    return frozenset(dataset.release for dataset in known if dataset.bundled)


def is_bundled(card: ScoreCard) -> bool:
    """Whether the dataset comes with the package."""
    return card.dataset_id.release in _bundled()


def drawn_sample(card: ScoreCard) -> Sample | None:
    """The sample that was asked, where a command can draw it again."""
    return None if card.sample is None else Sample.parse(card.sample)


def options_of(card: ScoreCard) -> str:
    """The options that name what was asked; a sample that no command draws has none."""
    sample = drawn_sample(card)
    asked = f"--dataset {DEMO if is_bundled(card) else FOLDER} --split {card.split}"
    return asked if sample is None else f"{asked} --sample {sample.n} --seed {sample.seed}"


def _steps(card: ScoreCard) -> Iterator[RemakeStep]:
    system, asked = f"submissions/{card.system.slug}", options_of(card)
    if is_bundled(card):
        yield RemakeStep("edu-rag demo --light --out demo", f"builds the dataset, in {DEMO}")
    if card.system.runnable:
        yield RemakeStep(
            f"edu-rag run     {system} {asked} --no-cache", "makes the answers, and measures the time of each"
        )
    if card.probes:
        yield RemakeStep(f"edu-rag probe   {system} {asked}", "makes the answers to the probes")
    yield RemakeStep(
        f"edu-rag score   {system} {asked} --out results",
        "makes the scorecard from the answers: counts, rates, intervals, slices, causes, retrieval, confidence, cost",
    )
    yield RemakeStep(f"edu-rag explain {system} {asked}", "lists the causes again, with the questions of each")
    yield RemakeStep(
        "edu-rag board   results --out site", "makes the ranks and every page, this one too, from all scorecards"
    )
    folder = DEMO if is_bundled(card) else FOLDER
    yield RemakeStep(
        f"edu-rag verify  --dataset {folder}", "makes every committed scorecard again and says which numbers differ"
    )


def steps_of(card: ScoreCard) -> list[RemakeStep]:
    """The commands, in the order in which they are typed; names in them are plain, by `leaderboard.board.collect`."""
    return list(_steps(card))
