"""The dataset folder: Parquet tables by config and split, with one explicit schema each, and reading them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from edu_rag import manifest as manifests
from edu_rag.errors import DataError, RecordError
from edu_rag.records import Evidence, Question, SearchHit, WebPage
from edu_rag.typed import first_line

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R")
CONFIGS = ("questions", "hits", "pages", "evidence", "leaks", "gold")
TELLS_GOLD = ("gold", "evidence", "leaks")
"""Tables from which a gold answer can be read: those of a hidden split are never published."""
SORT_KEYS: Mapping[str, tuple[str, ...]] = {
    "questions": ("question_id",),
    "hits": ("question_id", "rank", "url"),
    "pages": ("page_id",),
    "evidence": ("question_id", "page_id", "start", "end", "method"),
    "leaks": ("question_id", "page_id", "start", "end", "kind"),
    "gold": ("question_id",),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PAGE_ROWS, SMALL_ROWS = 200, 2_000
"""Rows held at a time: few of pages, which are long, and more of all other tables."""


def schema(config: str) -> pa.Schema:
    """The Arrow schema of a config; columns are the record's fields in order."""
    import pyarrow as pa

    text, texts, when = pa.string(), pa.list_(pa.string()), pa.timestamp("us", tz="UTC")
    choice = pa.struct([("label", text), ("text", text)])
    span = pa.struct([("start", pa.int32()), ("end", pa.int32())])
    columns: dict[str, list[tuple[str, pa.DataType]]] = {
        "questions": [
            ("question_id", text), ("text", text), ("choices", pa.list_(choice)), ("kind", text),
            ("split", text), ("lesson", text), ("flags", texts),
        ],
        "hits": [
            ("question_id", text), ("page_id", text), ("url", text), ("rank", pa.int32()), ("engine", text),
            ("query", text), ("searched_at", when), ("outcome", text),
        ],
        "pages": [
            ("page_id", text), ("url", text), ("title", text), ("text", text), ("sentences", pa.list_(span)),
            ("fetched_at", when), ("html_sha256", text), ("extractor", text), ("language", text),
            ("license", text), ("author", text), ("flags", texts),
        ],
        "evidence": [
            ("question_id", text), ("page_id", text), ("start", pa.int32()), ("end", pa.int32()), ("method", text),
        ],
        "leaks": [
            ("question_id", text), ("page_id", text), ("start", pa.int32()), ("end", pa.int32()), ("kind", text),
        ],
        "gold": [("question_id", text), ("answer", text), ("texts", texts)],
    }  # fmt: skip
    return pa.schema(columns[config])


def _pairs(rows: list[Any], first: str, second: str) -> list[Any]:
    nothing = {first: None, second: None}
    return [row and [((item or nothing)[first], (item or nothing)[second]) for item in row] for row in rows]


def _lists(column: pa.Array) -> list[Any]:
    """A column of lists, far faster than `to_pylist`; structs become pairs: the inverse of edu_rag.dataset_writer."""
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


def _plain_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows as the plain values of their record."""
    names = batch.schema.names
    columns = [_values(column) for column in batch.columns]
    if "choices" in names:
        at = names.index("choices")
        columns[at] = [row if row is None else dict(row) for row in columns[at]]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises on bytes that are no Parquet into a DataError: a manifest's hash proves no format."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(path, f"cannot be read as Parquet: {error}", "download or build the dataset again") from None


def _batch_rows(path: Path) -> int:
    return PAGE_ROWS if path.parent.name == "pages" else SMALL_ROWS


def _rows(path: Path, page_ids: Collection[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table with their numbers from 1, one row group in memory; or only those of some pages."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    done = 0
    with reading_parquet(path):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=_batch_rows(path), use_threads=False):
            numbers: Sequence[int] = range(done + 1, done + 1 + len(batch))
            done += len(batch)
            kept = batch
            if page_ids is not None:
                import pyarrow.compute as pc

                wanted = pc.is_in(batch.column("page_id"), value_set=pa.array(list(page_ids), pa.string()))
                numbers = [n for n, is_wanted in zip(numbers, wanted.to_pylist(), strict=True) if is_wanted]
                kept = batch.filter(wanted)
            yield from zip(numbers, _plain_rows(kept), strict=True)


class Dataset:
    """A dataset folder opened for reading. Raises DataError where files and manifest disagree."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise DataError(self.folder, "no such folder", "give the folder that `edu-rag build` wrote")
        self.manifest = manifests.read_manifest(self.folder)
        manifests.check_files(self.folder, self.manifest)

    @property
    def id(self) -> str:
        """`name@version#hash8`."""
        return self.manifest.id

    def files(self, config: str, split: str) -> list[Path]:
        """The Parquet files of a config and split, in order."""
        prefix = f"{config}/{split}-"
        return [self.folder / name for name in sorted(self.manifest.files) if name.startswith(prefix)]

    def splits(self) -> list[str]:
        """The names of the splits that have questions, sorted."""
        names = (name for name in self.manifest.files if name.startswith("questions/"))
        return sorted({name.removeprefix("questions/").rsplit("-", 3)[0] for name in names})

    def only_split(self, asked: str | None) -> str:
        """The split asked for, or the only one there is. Raises DataError when unknown or not clear."""
        splits = self.splits()
        if asked is None and len(splits) == 1:
            return splits[0]
        if asked not in splits:
            said = "no split was named" if asked is None else f"no split {asked!r}"
            raise DataError(
                self.folder, said, f"choose --split from {', '.join(splits) or 'none (the dataset is empty)'}"
            )
        return asked

    def records(
        self, config: str, split: str, record_type: type[R], page_ids: Collection[str] | None = None
    ) -> Iterator[R]:
        """The rows of a config and split as records, in file order; memory is one row group.

        With `page_ids`, only rows of these pages are made into records, which a large dataset needs.
        """
        for path in self.files(config, split):
            for number, row in _rows(path, page_ids):
                try:
                    record = msgspec.convert(row, record_type)
                except (msgspec.ValidationError, TypeError, KeyError) as error:
                    raise DataError(f"{path}: row {number}", str(error)) from None
                except RecordError as error:
                    raise DataError(f"{path}: row {number}", f"{error.where}: {first_line(error)}") from None
                yield record

    def columns(self, config: str, split: str, names: Sequence[str]) -> pa.Table | None:
        """Some columns of a config and split, where records of all rows would cost seconds; None without rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for path in self.files(config, split):
            with reading_parquet(path):  # not pq.read_table, which loads another megabyte of library
                tables.append(pq.ParquetFile(path).read(columns=list(names), use_threads=False))
        return pa.concat_tables(tables) if tables else None

    def questions(self, split: str) -> list[Question]:
        """The questions of a split, ordered by id. Raises DataError where there is none."""
        questions = list(self.records("questions", split, Question))
        if not questions:
            raise DataError(
                self.folder, f"split {split!r} has no questions", "build it from a question file that has some"
            )
        return questions

    def hits(self, split: str) -> dict[str, list[SearchHit]]:
        """Hits by question id, each list ordered by rank."""
        by_question: dict[str, list[SearchHit]] = {}
        for hit in self.records("hits", split, SearchHit):
            by_question.setdefault(hit.question_id, []).append(hit)
        return by_question

    def pages(self, split: str, page_ids: Collection[str] | None = None) -> dict[str, WebPage]:
        """Pages by page id; with `page_ids` those of them that the split has."""
        return {page.page_id: page for page in self.records("pages", split, WebPage, page_ids)}

    def evidence(self, split: str) -> dict[str, list[Evidence]]:
        """Evidence by question id."""
        by_question: dict[str, list[Evidence]] = {}
        for item in self.records("evidence", split, Evidence):
            by_question.setdefault(item.question_id, []).append(item)
        return by_question


def kept_pages(hits: Sequence[SearchHit], pages: Mapping[str, WebPage]) -> list[WebPage]:
    """The pages of a question's kept hits in rank order, each once."""
    ids = dict.fromkeys(hit.page_id for hit in hits if hit.page_id is not None)
    return [pages[page_id] for page_id in ids]
