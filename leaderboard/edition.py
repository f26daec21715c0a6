"""One edition of the site: everything that its pages are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from edu_rag.comparing.tested_pairs import AllPairs, all_pairs_of
from leaderboard.board.collect import ResultGroup
from leaderboard.board.present import Board, Table
from leaderboard.board.retrieval_tables import RetrievalTable
from leaderboard.exams import SiteExam, explorer_of
from leaderboard.history.errata import Erratum

EXPLORERS = "questions/index.html"
"""The list of question explorers, where there are several."""
RETRIEVAL_PAGE = "retrieval.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """The board, its groups of results in the same order as its tables, and what else was given to the build.

    `exams` are the splits whose questions may be shown, by (dataset name, major, split): see leaderboard.exams.
    `base_url` is the address of the site with a '/' at its end, or empty; `repository` is the web address of the
    project's repository without a '/' at its end, or empty. `errata` is the ledger, newest first; `retrieval` the
    tables of retrieval runs. `workers` is how many
    processes may make pages; no byte depends on it. `day` picks the question of the day; None for the newest result's.
    """

    board: Board
    groups: Sequence[ResultGroup]
    exams: Mapping[tuple[str, int, str], SiteExam] = field(default_factory=dict)
    base_url: str = ""
    repository: str = ""
    errata: Sequence[Erratum] = ()
    retrieval: Sequence[RetrievalTable] = ()
    workers: int = 1
    day: date | None = None
    _pairs: dict[str, AllPairs] = field(default_factory=dict, init=False, repr=False, compare=False)

    def pairs_of(self, table: Table) -> AllPairs | None:
        """Every pair of a table's rows, tested when first asked for; None if it has one row."""
        if len(table.rows) < 2:
            return None
        if table.key.id not in self._pairs:
            self._pairs[table.key.id] = all_pairs_of([row.result.card for row in table.rows])
        return self._pairs[table.key.id]

    def exam_of(self, group: ResultGroup) -> SiteExam | None:
        """The split that a table's systems were asked, where its questions may be shown."""
        return self.exams.get((group.key.name, group.key.major, group.key.split))


def questions_page(edition: Edition) -> str | None:
    """Where the navigation leads: the only explorer, or the list of several; None if no questions are shown."""
    exams = list(edition.exams.values())
    if not exams:
        return None
    return explorer_of(exams[0]) if len(exams) == 1 else EXPLORERS
