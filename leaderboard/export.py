"""The board as data: board.json, board.csv that no spreadsheet runs, and each system's files to download."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.look.texts import JOINERS, one_line
from edu_rag.results import OUTCOMES
from leaderboard.badges import count_of, is_sandboxed
from leaderboard.present import Board, Row, Table

FORMAT = "edu-rag-board-v1"
RATE_NAMES = (
    "score", "accuracy", "hallucination", "missing", "accuracy_given_attempted", "attempt_rate", "strict_score",
)  # fmt: skip
# The last four are full-width: some spreadsheets read them as the first four.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def time_text(row: Row) -> str:
    """The time of scoring in UTC, to the second; empty where the scorecard has none."""
    when = row.result.scored_at
    return "" if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"


def _clean_values(row: Row) -> dict[str, Any]:
    """The place among all systems on the questions that this one does not declare; empty where it declares none."""
    clean = row.clean
    first, last = (None, None) if clean is None or clean.rank is None else clean.rank
    low, high = (None, None) if clean is None or clean.interval is None else clean.interval
    return {
        "overlap_declared": 0 if clean is None else clean.n_declared,
        "clean_n": None if clean is None else clean.n, "clean_rank_first": first, "clean_rank_last": last,
        "clean_score": None if clean is None else clean.score, "clean_score_low": low, "clean_score_high": high,
        "declared_score": None if clean is None else clean.declared_score,
        "declared_part_lower": clean is not None and clean.is_lower,
    }  # fmt: skip


def _rerun_values(row: Row) -> dict[str, Any]:
    rerun = row.result.card.rerun
    n, n_same = count_of(rerun.get("n")), count_of(rerun.get("n_same"))
    return {"rerun_own": rerun.get("own") is True, "rerun_n": n, "rerun_same": n_same}


def _row_values(table: Table, row: Row) -> dict[str, Any]:
    card, system, counts = row.result.card, row.result.card.system, row.counts
    rates = counts.rates()
    low, high = row.interval or (None, None)
    return {
        "dataset": card.dataset, "split": card.split, "sample": card.sample,
        "rank_first": row.rank.first, "rank_last": row.rank.last,
        "slug": system.slug, "name": system.name, "team": system.team,
        "blind": system.blind, "runnable": system.runnable, "older_dataset": row.older,
        "withdrawn": system.withdrawn, **_clean_values(row), **_rerun_values(row), "sandboxed": is_sandboxed(card.caps),
        "team_runs": row.n_runs, "resembles": " | ".join(row.resembles),
        "n": counts.n, **{outcome: getattr(counts, outcome) for outcome in OUTCOMES},
        **{name: rates[name] for name in RATE_NAMES},
        "score_low": low, "score_high": high, "interval_method": card.interval_method,
        "median_latency_s": row.median_latency_s, "latency_measured": row.latency_measured,
        "answers_rule": card.answers_rule, "harness": card.harness,
        "scored_at": time_text(row), "predictions_sha256": card.predictions_sha256,
        "system_sha256": card.system_sha256, "page": row.page, "badge": row.badge, "scorecard": row.scorecard,
        "predictions": row.predictions,
    }  # fmt: skip


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
    return csv_text(value) if isinstance(value, str) else value


def board_csv(board: Board) -> bytes:
    """One line a row of every table, with a header."""
    rows = [_row_values(table, row) for table in board.tables for row in table.rows]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return stream.getvalue().encode("utf-8")


def _copies(board: Board) -> Iterator[tuple[Path, str]]:
    for table in board.tables:
        for row in table.rows:
            yield row.result.scorecard, row.scorecard
            if row.result.predictions is not None and row.predictions is not None:
                yield row.result.predictions, row.predictions
            for run in row.earlier:
                yield run.result.scorecard, run.page


def export(board: Board, site: Path) -> None:
    """Write board.json, board.csv and the copies of scorecards and predictions into a site folder."""
    values = msgspec.json.encode(board_values(board))
    (site / "board.json").write_bytes(msgspec.json.format(values, indent=2) + b"\n")
    (site / "board.csv").write_bytes(board_csv(board))
    for source, name in _copies(board):
        target = site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # Contents only: the mode and times of the source are no part of the site.
        shutil.copyfile(source, target)
