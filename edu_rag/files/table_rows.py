"""The tables of a dataset folder: one Arrow schema each, and their rows read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CONFIGS = ("questions", "hits", "pages", "evidence", "leaks", "gold")
REVEALS_GOLD = ("gold", "evidence", "leaks")
"""Tables from which a gold answer can be read: those of a hidden split are never published."""
LATER_COLUMNS: Mapping[str, tuple[str, ...]] = {"hits": ("detail",), "gold": ("extra",)}
"""Columns that older datasets lack. Where they are empty they are not hashed: a dataset with them has the old hash."""
COLUMNS_IF_FILLED: Mapping[str, tuple[str, ...]] = {"gold": ("extra",)}
"""Columns that a dataset has only if a row of it has a value there: without, the bytes are those of older versions."""
SORT_KEYS: Mapping[str, tuple[str, ...]] = {
    "questions": ("question_id",),
    "hits": ("question_id", "rank", "url"),
    "pages": ("page_id",),
    "evidence": ("question_id", "page_id", "start", "end", "method"),
    "leaks": ("question_id", "page_id", "start", "end", "kind"),
    "gold": ("question_id",),
}
REMEDY = "download or build the dataset again"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PAGE_ROWS, SMALL_ROWS = 200, 2_000
"""Rows held at a time: few of pages, which are long, and more of all other tables."""


def schema(config: str, without: Collection[str] = ()) -> pa.Schema:
    """The Arrow schema of a config; columns are the record's fields in order, less those in `without`."""
    import pyarrow as pa

    text, texts, when = pa.string(), pa.list_(pa.string()), pa.timestamp("us", tz="UTC")
    choice = pa.struct([("label", text), ("text", text)])
    span = pa.struct([("start", pa.int32()), ("end", pa.int32())])
    columns: dict[str, list[tuple[str, pa.DataType]]] = {
        "questions": [
            ("question_id", text),
            ("text", text),
            ("choices", pa.list_(choice)),
            ("kind", text),
            ("split", text),
            ("lesson", text),
            ("flags", texts),
        ],
        "hits": [
            ("question_id", text),
            ("page_id", text),
            ("url", text),
            ("rank", pa.int32()),
            ("engine", text),
            ("query", text),
            ("searched_at", when),
            ("outcome", text),
            ("detail", text),
        ],
        "pages": [
            ("page_id", text),
            ("url", text),
            ("title", text),
            ("text", text),
            ("sentences", pa.list_(span)),
            ("fetched_at", when),
            ("html_sha256", text),
            ("extractor", text),
            ("language", text),
            ("license", text),
            ("author", text),
            ("flags", texts),
        ],
        "evidence": [
            ("question_id", text),
            ("page_id", text),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("method", text),
        ],
        "leaks": [
            ("question_id", text),
            ("page_id", text),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("kind", text),
        ],
        "gold": [("question_id", text), ("answer", text), ("texts", texts), ("home_page", text), ("extra", text)],
    }
    return pa.schema([(name, kind) for name, kind in columns[config] if name not in without])


def has_columns_of(found: pa.Schema, config: str) -> bool:
    """Whether a table has the columns of a config, or those of it that older datasets have."""
    older = schema(config, without=LATER_COLUMNS.get(config, ()))
    return bool(found.equals(schema(config)) or found.equals(older))


def _pairs(rows: list[Any], first: str, second: str) -> list[Any]:
    nothing = {first: None, second: None}
    return [row and [((item or nothing)[first], (item or nothing)[second]) for item in row] for row in rows]


def _lists(column: pa.Array) -> list[Any]:
    """A column of lists, far faster than `to_pylist`; structs become pairs: the inverse of the writer."""
    import pyarrow as pa

    inner = column.type.value_type
    fields = [field.name for field in inner] if pa.types.is_struct(inner) else []
    if column.null_count or len(fields) not in (0, 2):
        rows = column.to_pylist()
        return _pairs(rows, *fields) if len(fields) == 2 else rows
    bounds = column.offsets.to_pylist()
    # Not `column.flatten()`, which imports pyarrow.compute: that alone costs what a small dataset does.
    flat = column.values[bounds[0] : bounds[-1]]
    values = list(zip(*(part.to_pylist() for part in flat.flatten()), strict=True)) if fields else flat.to_pylist()
    return [values[start - bounds[0] : end - bounds[0]] for start, end in pairwise(bounds)]


def _values(column: pa.Array) -> list[Any]:
    """A column's values. Times are counted by hand: `to_pylist` would import pandas for them, some 40 MB."""
    import pyarrow as pa

    if pa.types.is_list(column.type):
        return _lists(column)
    if column.type == pa.timestamp("us", tz="UTC"):
        micros = column.view(pa.int64()).to_pylist()
        return [n if n is None else _EPOCH + timedelta(microseconds=n) for n in micros]
    values: list[Any] = column.to_pylist()
    return values


def _columns(batch: pa.RecordBatch) -> dict[str, list[Any]]:
    return {name: _values(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def _plain_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as the plain values of their record."""
    columns = _columns(batch)
    if "choices" in columns:
        columns["choices"] = [row if row is None else dict(row) for row in columns["choices"]]
    yield from _rows(columns)


def _stored_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as edu_rag.files.dataset_writer makes them of records: pairs are objects with two named values."""
    columns = _columns(batch)
    for name, first, second in (("choices", "label", "text"), ("sentences", "start", "end")):
        if name in columns:
            columns[name] = [
                row if row is None else [{first: one, second: two} for one, two in row] for row in columns[name]
            ]
    yield from _rows(columns)


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    # Columns of a batch are equally long. To check that for each row again takes a third more time.
    return (dict(zip(columns, values)) for values in zip(*columns.values(), strict=True))  # noqa: B905


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises on bytes that are not Parquet into a DataError: a file's hash proves no format."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(path, f"cannot be read as Parquet: {error}", REMEDY) from None


def _batch_rows(path: Path) -> int:
    return PAGE_ROWS if path.parent.name == "pages" else SMALL_ROWS


def _decoded(
    batch: pa.RecordBatch, path: Path, first: int, decode: Callable[[pa.RecordBatch], Iterator[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The rows of a batch. Raises DataError naming the row (`first` is the batch's) that cannot be read."""
    try:
        return list(decode(batch))
    except (ValueError, OverflowError):
        for place in range(len(batch)):
            try:
                list(decode(batch.slice(place, 1)))
            except (ValueError, OverflowError) as error:
                raise DataError(f"{path}: row {first + place}", f"cannot be read: {error}", REMEDY) from None
        raise


def _may_hold(known: Any, values: Collection[str]) -> bool:
    """Whether a column with these statistics may hold one of the values."""
    if known is None or not known.has_min_max or not isinstance(known.min, str):
        return True
    return any(known.min <= value <= known.max for value in values)


def _groups(file: pq.ParquetFile, page_ids: Collection[str] | None) -> Iterator[tuple[int, list[int]]]:
    """Row groups to read together, with the number of rows before them: all at once, or each that may hold a page.

    The writer sorts pages by id, so that ten pages are in ten groups of a hundred.
    """
    metadata = file.metadata
    if page_ids is None:
        yield 0, list(range(metadata.num_row_groups))
        return
    column, before = metadata.schema.names.index("page_id"), 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if _may_hold(group.column(column).statistics, page_ids):
            yield before, [number]
        before += group.num_rows


def _batches(path: Path, page_ids: Collection[str] | None) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batches of a table, each with the number of rows before it; those without the pages may be left out."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    for before, groups in _groups(file, page_ids):
        done = before
        for batch in file.iter_batches(batch_size=_batch_rows(path), row_groups=groups, use_threads=False):
            yield done, batch
            done += len(batch)


def row_batches(
    path: Path, page_ids: Collection[str] | None = None
) -> Iterator[tuple[Sequence[int], list[dict[str, Any]]]]:
    """The rows of a table with their numbers from 1, one batch in memory; or only those of some pages.

    Raises DataError naming the file, or file and row.
    """
    import pyarrow as pa

    with reading_parquet(path):
        for done, batch in _batches(path, page_ids):
            numbers: Sequence[int] = range(done + 1, done + 1 + len(batch))
            kept = batch
            if page_ids is not None:
                import pyarrow.compute as pc

                wanted = pc.is_in(batch.column("page_id"), value_set=pa.array(list(page_ids), pa.string()))
                numbers = [n for n, is_wanted in zip(numbers, wanted.to_pylist(), strict=True) if is_wanted]
                kept = batch.filter(wanted)
            yield numbers, _decoded(kept, path, done + 1, _plain_rows)


def stored_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table in the form that the content hash is made of, one batch in memory.

    Raises DataError naming the file, or file and row, if the columns are not the table's or a row cannot be read.
    """
    import pyarrow.parquet as pq

    done = 0
    with reading_parquet(path), pq.ParquetFile(path) as file:
        if not has_columns_of(file.schema_arrow, path.parent.name):
            raise DataError(path, "its columns are not those of this table", REMEDY)
        for batch in file.iter_batches(batch_size=_batch_rows(path), use_threads=False):
            yield from _decoded(batch, path, done + 1, _stored_rows)
            done += len(batch)
