"""Submissions of the base that its results do not hold yet: merged since a maintainer last committed results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from edu_rag.errors import EduRagError
from edu_rag.results import ScoreCard
from harness.pulls.tables import Table
from harness.reruns import NOBODY
from harness.score import Exam, score_on
from harness.submission import open_submission
from harness.target import Target

MAX_SCORED = 500


def scored_now(
    base: Path, table: Table, exam: Exam, cards: Sequence[ScoreCard], scored_at: datetime
) -> list[ScoreCard]:
    """Scorecards of the base's predictions for a table that none of `cards` is on; what is faulty there is left out."""
    asked = exam.dataset, exam.split, exam.sample
    have = {card.system.slug for card in cards if (card.dataset, card.split, card.sample) == asked}
    found: list[ScoreCard] = []
    for path in _predictions(base, table):
        slug = path.parents[2].name
        if slug not in have and len(found) < MAX_SCORED:
            try:
                submission = open_submission(path.parents[2])
                target = Target(path, submission.facts, folder=submission.folder)
                found.append(score_on(exam, target, scored_at=scored_at, vouched=NOBODY).card)
            except EduRagError:  # its own team's pull request told it, and the job on main tells it again
                continue
            have.add(slug)
    return found


def _predictions(base: Path, table: Table) -> Iterator[Path]:
    """The base's files for a table: its own ones first, then those of the whole split."""
    for name in dict.fromkeys((table.name, table.split)):
        for path in sorted((base / "submissions").glob(f"*/predictions/{table.folder}/{name}.jsonl")):
            if path.is_file() and not path.is_symlink():
                yield path
