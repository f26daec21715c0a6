"""Submissions of the base that its results do not hold yet: merged since a maintainer last committed results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import EduRagError
from edu_rag.scorecard.card import ScoreCard
from harness.exam.exam import Exam
from harness.pulls.tables import PullTable
from harness.scoring.score import card_of, score_within
from harness.submission.folder import open_submission
from harness.submission.target import Target
from harness.trust.rerun_log import NOBODY

MAX_SCORED = 300
MAX_BYTES = 300_000_000
"""Predictions files of the base that one table scores here, and their size together: some 20 seconds of work."""


class Merged(NamedTuple):
    """The scorecards of merged submissions, and a word on those that were left out because they are too many."""

    cards: list[ScoreCard]
    left_out: tuple[str, ...]


def scored_now(base: Path, table: PullTable, exam: Exam, cards: Sequence[ScoreCard], scored_at: datetime) -> Merged:
    """Scorecards of the base's predictions for a table that none of `cards` is on, in order of slug.

    Faulty files are left out silently: their team's pull request has reported them.
    """
    asked = exam.dataset, exam.split, exam.sample
    have = {card.system.slug for card in cards if (card.dataset, card.split, card.sample) == asked}
    found: list[ScoreCard] = []
    n_tried, n_bytes, n_left = 0, 0, 0
    for path in _predictions(base, table):
        slug = path.parents[2].name
        if slug in have:
            continue
        have.add(slug)
        n_tried, n_bytes = n_tried + 1, n_bytes + path.stat().st_size
        if n_tried > MAX_SCORED or n_bytes > MAX_BYTES:
            n_left += 1
            continue
        try:
            submission = open_submission(path.parents[2])
            target = Target(path, submission.facts, folder=submission.folder)
            card = score_within(exam, target, card_of, scored_at=scored_at, vouched=NOBODY)
            found.append(card)
        except EduRagError:  # the job on main reports it again
            continue
    return Merged(found, _left_out(n_left))


def _left_out(n: int) -> tuple[str, ...]:
    if not n:
        return ()
    limits = f"{MAX_SCORED} files or {MAX_BYTES // 1_000_000} MB are scored here"
    return (
        f"{n:,} merged submission(s) without a result yet: at most {limits}; maintainers: commit the board's results",
    )


def _predictions(base: Path, table: PullTable) -> Iterator[Path]:
    """The base's files for a table: its own ones first, then those of the whole split."""
    for name in dict.fromkeys((table.name, table.split)):
        for path in sorted((base / "submissions").glob(f"*/predictions/{table.folder}/{name}.jsonl")):
            if path.is_file() and not path.is_symlink():
                yield path
