"""Which front page a table has, and which table leads its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edu_rag.look.texts import clip
from leaderboard.board.present import Table
from leaderboard.board.system_kinds import role_of

FRONT = "index.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontTable:
    """A table with its front page's path in the site; `has_tab` where it stands for its dataset.

    `words` tell it from the other tables of its dataset; `n_most` are the questions of the largest of these.
    """

    table: Table
    page: str
    has_tab: bool
    words: str
    n_most: int

    @property
    def dataset(self) -> tuple[str, int]:
        """The name and major version of its dataset."""
        return self.table.key.name, self.table.key.major


def _weight(table: Table) -> tuple[int, int]:
    """The table of a dataset that leads: with most systems that are not blind, then with most questions."""
    return sum(role_of(row.result.card) != "blind" for row in table.rows), table.n


def _words(table: Table, others: Sequence[Table]) -> str:
    """A table in few words: the split and the rule of reading answers are named where they differ."""
    split = f"{table.key.split}: " if len({other.key.split for other in others}) > 1 else ""
    rule = f", {clip(table.key.answers_rule, 40)}" if len({other.key.answers_rule for other in others}) > 1 else ""
    return f"{split}{'all' if table.key.sample is None else 'a sample of'} {table.n:,} questions{rule}"


def front_tables(tables: Sequence[Table]) -> list[FrontTable]:
    """Every table with its front page, in the board's order; the first dataset's leading table has index.html."""
    of_dataset: dict[tuple[str, int], list[Table]] = {}
    for table in tables:
        of_dataset.setdefault((table.key.name, table.key.major), []).append(table)
    found = []
    for number, group in enumerate(of_dataset.values()):
        leading, n_most = max(group, key=_weight), max(table.n for table in group)
        for table in group:
            is_first = number == 0 and table is leading
            page = FRONT if is_first else f"front/{table.key.id}.html"
            words = _words(table, group)
            found.append(FrontTable(table=table, page=page, has_tab=table is leading, words=words, n_most=n_most))
    return found


def leading_first(tables: Sequence[Table]) -> list[Table]:
    """The tables in the board's order, but the one with index.html first."""
    first = next((front.table for front in front_tables(tables) if front.page == FRONT), None)
    return sorted(tables, key=lambda table: table is not first)
