"""The board as data: board.json and board.parquet with the texts as they are, board.csv that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from edu_rag.look.texts import JOINERS, one_line
from edu_rag.scorecard.card import OUTCOMES
from leaderboard.board.answer_cost import mean_of
from leaderboard.board.badges import count_of, is_sandboxed
from leaderboard.board.present import Board, Row, Table

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "edu-rag-board-v1"
RATE_NAMES = (
    "score",
    "accuracy",
    "hallucination",
    "missing",
    "accuracy_given_attempted",
    "attempt_rate",
    "strict_score",
)
COUNT_COLUMNS = frozenset(
    {
        "rank_first",
        "rank_last",
        "n",
        *OUTCOMES,
        "overlap_declared",
        "clean_n",
        "clean_rank_first",
        "clean_rank_last",
        "rerun_n",
        "rerun_same",
        "team_runs",
    }
)
COSTS = ("cost_usd", "input_tokens", "output_tokens")
# The last four are full-width: some spreadsheets read them as the first four.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def time_text(row: Row) -> str:
    """The time of scoring in UTC, to the second; empty if the scorecard has none."""
    when = row.result.scored_at
    return "" if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"


def _clean_values(row: Row) -> dict[str, Any]:
    """The place among all systems on the questions that this one does not declare; empty if it declares none."""
    clean = row.clean
    first, last = (None, None) if clean is None or clean.rank is None else clean.rank
    low, high = (None, None) if clean is None or clean.interval is None else clean.interval
    return {
        "overlap_declared": 0 if clean is None else clean.n_declared,
        "clean_n": None if clean is None else clean.n,
        "clean_rank_first": first,
        "clean_rank_last": last,
        "clean_score": None if clean is None else clean.score,
        "clean_score_low": low,
        "clean_score_high": high,
        "declared_score": None if clean is None else clean.declared_score,
        "declared_part_lower": clean is not None and clean.is_lower,
    }


def _rerun_values(row: Row) -> dict[str, Any]:
    rerun = row.result.card.rerun
    n, n_same = count_of(rerun.get("n")), count_of(rerun.get("n_same"))
    own = rerun.get("own") is True
    return {"reported": row.result.card.reported, "rerun_own": own, "rerun_n": n, "rerun_same": n_same}


def _row_values(table: Table, row: Row) -> dict[str, Any]:
    card, system, counts = row.result.card, row.result.card.system, row.counts
    rates = counts.rates()
    low, high = row.interval or (None, None)
    return {
        "dataset": card.dataset,
        "split": card.split,
        "sample": card.sample,
        "rank_first": row.rank.first,
        "rank_last": row.rank.last,
        "slug": system.slug,
        "name": system.name,
        "team": system.team,
        "blind": system.blind,
        "runnable": system.runnable,
        "open": row.is_open,
        "licence": system.licence,
        "models": list(system.models),
        "older_dataset": row.older,
        "withdrawn": system.withdrawn,
        **_clean_values(row),
        **_rerun_values(row),
        "sandboxed": is_sandboxed(card.caps),
        "team_runs": row.n_runs,
        "resembles": " | ".join(row.resembles),
        "n": counts.n,
        **{outcome: getattr(counts, outcome) for outcome in OUTCOMES},
        **{name: rates[name] for name in RATE_NAMES},
        "score_low": low,
        "score_high": high,
        "interval_method": card.interval_method,
        "median_latency_s": row.median_latency_s,
        "latency_measured": row.latency_measured,
        **{f"mean_{name}": mean_of(card.cost, name) for name in COSTS},
        "answers_rule": card.answers_rule,
        "harness": card.harness,
        "scored_at": time_text(row),
        "predictions_sha256": card.predictions_sha256,
        "system_sha256": card.system_sha256,
        "page": row.page,
        "badge": row.badge,
        "scorecard": row.scorecard,
        "predictions": row.predictions,
    }


def board_values(board: Board) -> dict[str, Any]:
    """The board as plain values: what board.json holds and `edu-rag board --json` prints."""
    return {
        "format": FORMAT,
        "built_at": None if board.built_at is None else f"{board.built_at:%Y-%m-%dT%H:%M:%SZ}",
        "tables": [
            {
                "id": table.key.id,
                "dataset": table.key.name,
                "major": table.key.major,
                "split": table.key.split,
                "sample": table.key.sample,
                "n": table.n,
                "note": table.detectable,
                "rows": [_row_values(table, row) for row in table.rows],
            }
            for table in board.tables
        ],
    }


def csv_text(text: str) -> str:
    """A text that a spreadsheet shows instead of running: controls become blanks, formulas get an apostrophe."""
    text = one_line(text)
    return f"'{text}" if text.lstrip(" " + JOINERS).startswith(_FORMULA_STARTS) else text


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return csv_text(" | ".join(value))
    return csv_text(value) if isinstance(value, str) else value


def _all_rows(board: Board) -> list[dict[str, Any]]:
    return [_row_values(table, row) for table in board.tables for row in table.rows]


def board_csv(board: Board) -> bytes:
    """One line a row of every table, with a header."""
    rows = _all_rows(board)
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return stream.getvalue().encode("utf-8")


def _parquet_type(name: str, value: object) -> pa.DataType:
    """The type of a column, which no value of a board may change: from its name, and from what is never null."""
    import pyarrow as pa

    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, list):
        return pa.list_(pa.string())
    if name in COUNT_COLUMNS:
        return pa.int64()
    if name in RATE_NAMES or name.endswith(("score", "_low", "_high")) or name.startswith(("mean_", "median_")):
        return pa.float64()
    return pa.string()


def board_parquet(board: Board) -> bytes:
    """The rows of board.json as Parquet; the same board gives the same bytes under one version of pyarrow."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = _all_rows(board)
    schema = pa.schema([(name, _parquet_type(name, value)) for name, value in rows[0].items()])
    stream = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema), stream, compression="zstd", version="2.6")
    return stream.getvalue()
