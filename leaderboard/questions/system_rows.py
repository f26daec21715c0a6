"""The systems that were asked: the rows of an exam's tables with their outcomes in the order of the exam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edu_rag.errors import ConfigError, DataError
from edu_rag.scorecard.card import OUTCOME_LETTERS, OUTCOMES, Counts
from leaderboard.exams import ids_sha256

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leaderboard.board.collect import ResultGroup
    from leaderboard.board.present import Row
    from leaderboard.edition import Edition
    from leaderboard.exams import SiteExam

NOT_ASKED = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One row of a table. Both texts hold a letter a question of the exam, '-' if there is none.

    `counted` leaves out the questions that the same slug was asked in an earlier table: a system in the table of the
    split and in that of a sample counts once on a question's page.
    """

    table: str
    row: Row
    outcomes: str
    counted: str

    @property
    def slug(self) -> str:
        """The system's slug, one of its table's."""
        return self.row.result.card.system.slug

    @property
    def predictions(self) -> Path | None:
        """The file that was scored, where it is at hand."""
        return self.row.result.predictions

    def is_on_pages_of(self, exam: SiteExam) -> bool:
        """Whether its passages are of this dataset's pages: another version has other texts under the same ids."""
        card, here = self.row.result.card, exam.dataset.id
        # Where nobody kept the hash, `made_on` is name and version alone.
        return (card.made_on or card.dataset) in (here, str(exam.dataset.manifest.release))


def _places(exam: SiteExam, group: ResultGroup) -> list[int] | None:
    """The exam's number of each question of a table; None for a sample of more questions than it has.

    Raises DataError if the table's scorecards have another number of questions, or other ones.
    """
    try:
        ids = exam.ids(group.key.sample)
    except ConfigError:
        return None
    if len(ids) != group.n:
        what = f"has {group.n} questions, but {exam.dataset.folder} {len(ids)} for {group.key.id}"
        raise DataError(group.results[0].scorecard, what, "give --dataset the folder that was scored on")
    proven = ids_sha256(ids)
    for result in group.results:
        # A scorecard from before there were fingerprints is believed.
        if result.card.exam.get("ids", proven) != proven:
            what = f"was asked other questions than {exam.dataset.folder} has for {group.key.id}"
            raise DataError(result.scorecard, what, "give --dataset the folder that was scored on")
    numbers = {question.question_id: number for number, question in enumerate(exam.questions)}
    return [numbers[question_id] for question_id in ids]


def _spread(letters: str, places: Sequence[int], n: int) -> str:
    spread = [NOT_ASKED] * n
    for place, letter in zip(places, letters, strict=True):
        spread[place] = letter
    return "".join(spread)


def _less(letters: str, others: Sequence[str]) -> str:
    """Without the questions that one of the others holds already."""
    for other in others:
        letters = "".join(a if b == NOT_ASKED else NOT_ASKED for a, b in zip(letters, other, strict=True))
    return letters


def asked_of(edition: Edition, exam: SiteExam) -> Iterator[Asked]:
    """Every row of every table of an exam, tables in the board's order: whole splits before samples."""
    before: dict[str, list[str]] = {}
    for table, group in zip(edition.board.tables, edition.groups, strict=True):
        places = _places(exam, group) if edition.exam_of(group) is exam else None
        for row in table.rows if places is not None else ():
            card = row.result.card
            outcomes = _spread(card.outcomes, places or (), len(exam.questions))
            others = before.setdefault(card.system.slug, [])
            yield Asked(table=table.key.id, row=row, outcomes=outcomes, counted=_less(outcomes, others))
            others.append(outcomes)


def tally(asked: Sequence[Asked], n: int) -> NDArray[np.int32]:
    """How many systems ended in each outcome: a row an outcome in their fixed order, a column a question."""
    counts = np.zeros((len(OUTCOMES), n), np.int32)
    for one in asked:
        letters = np.frombuffer(one.counted.encode("ascii"), np.uint8)
        for place, outcome in enumerate(OUTCOMES):
            counts[place] += letters == ord(OUTCOME_LETTERS[outcome])
    return counts


def counts_at(tallied: NDArray[np.int32], numbers: Sequence[int]) -> Counts | None:
    """The outcomes of some questions together; None if no system was asked."""
    sums = tallied[:, list(numbers)].sum(axis=1).tolist()
    return Counts(**dict(zip(OUTCOMES, sums, strict=True))) if any(sums) else None
