"""Columns in which every row of a table has the same: a page says it once and hides them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from edu_rag.look.texts import date, percent, seconds, signed

if TYPE_CHECKING:
    from leaderboard.board.present import Row

NONE = "not known"


def _texts(row: Row) -> Mapping[str, str]:
    """What a row shows in the columns that may be hidden."""
    counts, cost = row.counts, row.cost
    return {
        "team": row.result.card.system.team.strip(),
        "accuracy": f"{percent(counts.accuracy)} %",
        "hallucination": f"{percent(counts.hallucination)} %",
        "missing": f"{percent(counts.missing)} %",
        "strict_score": signed(counts.strict_score),
        "n": f"{counts.n:,}",
        "cost": NONE if cost is None else cost.text,
        "median_latency_s": NONE if row.median_latency_s is None else f"{seconds(row.median_latency_s)} s",
        "scored_at": date(row.result.scored_at),
    }


def same_columns(rows: Sequence[Row]) -> Mapping[str, str]:
    """The columns in which two rows or more all have the same, each with what they have; nothing that is blank.

    A declared overlap gives a row a second number of questions, so `n` differs there.
    """
    if len(rows) < 2:
        return {}
    texts = [_texts(row) for row in rows]
    same = {name: text for name, text in texts[0].items() if text and all(one[name] == text for one in texts)}
    if any(row.clean for row in rows):
        same.pop("n", None)
    return same
