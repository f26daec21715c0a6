"""The columns of the board's tables, in their order: the header, the chooser and the addresses use the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Column(NamedTuple):
    """`name` is used in addresses and in `data-column`; `words` in the chooser; `head` and `unit` in the header.

    `sort`: '' (not sortable), 'text' or 'number'; `first`: the direction of the first press, the better end first.
    """

    name: str
    words: str
    head: str
    unit: str = ""
    sort: str = "number"
    first: str = "descending"
    title: str = ""
    is_fixed: bool = False


# A soft hyphen lets a long word break where the column is narrow.
COLUMNS: Sequence[Column] = (
    Column("rank", "rank", "Rank", first="ascending", title="tie group: places that systems share", is_fixed=True),
    Column("system", "system", "System", sort="text", first="ascending", is_fixed=True),
    Column("team", "team", "Team", sort="text", first="ascending"),
    Column("score", "score", "Score", "95 %", title="accuracy − hallucination, with its 95 % interval"),
    Column("axis", "score on its axis", "", sort=""),
    Column("outcomes", "outcomes", "Outcomes", sort=""),
    Column("accuracy", "accuracy", "Accu\u00adracy", "%", title="correct / n"),
    Column("hallucination", "hallucination", "Hallu\u00adcination", "%", first="ascending", title="incorrect / n"),
    Column("missing", "missing", "Missing", "%", first="ascending", title="(abstained + unparseable + failed) / n"),
    Column(
        "accuracy_given_attempted",
        "accuracy given attempted",
        "Acc. given attempted",
        "%",
        title="correct / (correct + incorrect)",
    ),
    Column("strict_score", "strict score", "Strict score", title="unparseable and failed cost a point too"),
    Column("n", "number of questions", "n", title="questions"),
    Column(
        "cost",
        "cost of a question",
        "Cost",
        first="ascending",
        title="US dollars a question where declared, else tokens a question (input and output)",
    ),
    Column("median_latency_s", "median latency", "Median latency", "s", first="ascending", title="seconds a question"),
    Column("scored_at", "date", "Scored", sort="text"),
    Column("links", "links", "Links", sort=""),
)
