"""The two tables of published results, their columns, and a writer of shards whose bytes depend on the rows alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag.files.dataset_writer import SHARD_BYTES, open_table
from edu_rag.files.manifest import FileEntry, file_sha256
from edu_rag.scorecard.card import OUTCOMES

if TYPE_CHECKING:
    import pyarrow as pa

CONFIGS = ("scorecards", "predictions")
GROUP_ROWS = 20_000
GROUP_BYTES = 64_000_000
"""A row group is ended by either: 20,000 predictions are 10 MB, but with their responses they have no bound."""
RATES = (
    "score",
    "accuracy",
    "hallucination",
    "missing",
    "attempt_rate",
    "strict_score",
    "accuracy_given_attempted",
)
INTERVALS = ("score", "accuracy", "hallucination", "missing")
JSON_COLUMNS = ("slices", "retrieval", "attribution", "confidence", "judges", "cost", "probes", "caps", "rerun")
PRINTS = ("ids", "questions", "gold", "support")
TELLS_GOLD = (
    "outcomes",
    "lessons",
    "slices",
    "retrieval",
    "attribution",
    "confidence",
    "judges",
    "probes",
    "exam_gold_sha256",
    "exam_support_sha256",
)
"""Columns of a scorecard that tell, or with a slice or bin of one question may tell, the gold of single questions."""


def prediction_schema(*, responses: bool) -> pa.Schema:
    """One row a prediction."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    passage = pa.struct([("page_id", text), ("start", pa.int64()), ("end", pa.int64())])
    columns = [
        ("dataset", text),
        ("version", text),
        ("content_hash", text),
        ("split", text),
        ("sample", text),
        ("slug", text),
        ("team", text),
        ("question_id", text),
        ("answer", text),
        ("confidence", number),
        ("passages", pa.list_(passage)),
        ("latency_s", number),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", number),
        ("energy_j", number),
        ("status", text),
        ("outcome", text),
    ]
    return pa.schema([*columns, ("response", text)] if responses else columns)


def scorecard_schema() -> pa.Schema:
    """One row a scorecard: counts, rates and intervals flat, everything nested as JSON."""
    import pyarrow as pa

    text, texts, number, whole, flag = pa.string(), pa.list_(pa.string()), pa.float64(), pa.int64(), pa.bool_()
    columns = [
        ("dataset", text),
        ("version", text),
        ("content_hash", text),
        ("split", text),
        ("sample", text),
        ("slug", text),
        ("name", text),
        ("team", text),
        ("description", text),
        ("links", texts),
        ("licence", text),
        ("models", texts),
        ("outside_knowledge", text),
        ("tqa_overlap", text),
        ("runnable", flag),
        ("blind", flag),
        ("withdrawn", text),
        ("n", whole),
        *((outcome, whole) for outcome in OUTCOMES),
        *((rate, number) for rate in RATES),
        *((f"{name}_{end}", number) for name in INTERVALS for end in ("low", "high")),
        ("interval_method", text),
        ("harness", text),
        ("answers_rule", text),
        ("made_on", text),
        ("scored_at", text),
        ("outcomes", text),
        ("overlap", text),
        ("n_overlap", whole),
        ("lessons", pa.list_(pa.int32())),
        *((name, text) for name in JSON_COLUMNS),
        *((f"exam_{part}_sha256", text) for part in PRINTS),
        ("system_sha256", text),
        ("predictions_sha256", text),
        ("n_predictions", whole),
    ]
    return pa.schema(columns)


class ShardedTable:
    """One table of one split as shards of bounded size: memory holds one row group for any number of rows."""

    def __init__(self, folder: Path, config: str, split: str, columns: pa.Schema) -> None:
        self._folder, self._config, self._split = folder, config, split
        self._columns = columns
        self._waiting: list[pa.Table] = []
        self._n_waiting = self._bytes_waiting = self._shard_bytes = 0
        self._writer: Any = None
        self._rows_of: list[int] = []

    def add(self, table: pa.Table) -> None:
        """More rows, in order."""
        self._waiting.append(table)
        self._n_waiting += table.num_rows
        self._bytes_waiting += table.nbytes
        if self._n_waiting >= GROUP_ROWS or self._bytes_waiting >= GROUP_BYTES:
            self._write_group()

    def _shard(self, number: int) -> Path:
        return self._folder / self._config / f"{self._split}-{number:05d}.writing"

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._writer is None:
            path = self._shard(len(self._rows_of))
            path.parent.mkdir(exist_ok=True)
            self._writer = open_table(path, self._columns)
            self._rows_of.append(0)
        rows = pa.concat_tables(self._waiting).combine_chunks()
        self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._rows_of[-1] += rows.num_rows
        self._shard_bytes += self._bytes_waiting
        self._waiting.clear()
        self._n_waiting = self._bytes_waiting = 0
        if self._shard_bytes >= SHARD_BYTES:
            self._end_shard()

    def _end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._shard_bytes = None, 0

    def close(self) -> dict[str, FileEntry]:
        """The entries of the table's files; none where it has no row, since `datasets` cannot load such a split."""
        if self._n_waiting:
            self._write_group()
        self._end_shard()
        entries: dict[str, FileEntry] = {}
        for number, rows in enumerate(self._rows_of):
            name = f"{self._config}/{self._split}-{number:05d}-of-{len(self._rows_of):05d}.parquet"
            path = self._shard(number).rename(self._folder / name)
            entries[name] = FileEntry(sha256=file_sha256(path), rows=rows)
        return entries
