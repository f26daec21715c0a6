"""Writing a dataset folder: tables streamed row group by row group into shards, and the whole swapped in at the end."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from edu_rag.errors import DataError
from edu_rag.files import manifest as manifests
from edu_rag.files.identity import content_sha256, row_line
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import FileEntry, Manifest
from edu_rag.files.table_rows import COLUMNS_IF_FILLED, CONFIGS, SORT_KEYS, schema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROW_GROUP_ROWS: Mapping[str, int] = {
    "questions": 2_000,
    "hits": 5_000,
    "pages": 200,
    "evidence": 5_000,
    "leaks": 5_000,
    "gold": 5_000,
}
Documents = Callable[[Path, Mapping[str, FileEntry]], Mapping[str, bytes]]
"""Files other than tables, made from the folder and the entries of its tables."""
Attach = Callable[[Path, Mapping[str, FileEntry]], Mapping[str, FileEntry]]
"""Writes more files into the folder, from its tables, and returns their entries."""
SHARD_BYTES = 300_000_000
"""Bytes of a shard's rows as JSON: about 100 MB of Parquet, inside the 50-200 MB that the Hub advises."""


def _row(record: object) -> dict[str, Any]:
    """A record as a row: choices become a list of {label, text}, spans a list of {start, end}."""
    from datetime import datetime

    row: dict[str, Any] = msgspec.to_builtins(record, builtin_types=(datetime,))
    if "choices" in row:
        row["choices"] = [{"label": label, "text": text} for label, text in row["choices"].items()]
    if "sentences" in row:
        row["sentences"] = [{"start": start, "end": end} for start, end in row["sentences"]]
    return row


def open_table(path: Path, columns: pa.Schema) -> pq.ParquetWriter:
    """A writer of one Parquet file whose bytes are a function of schema and row groups."""
    import pyarrow.parquet as pq

    # use_content_defined_chunking: a later take-down re-uploads a fifth of the bytes instead of half.
    return pq.ParquetWriter(path, columns, compression="zstd", compression_level=3, use_content_defined_chunking=True)


class _TableWriter:
    """Writes one table of one split as shards of bounded size, row group by row group: memory holds one row group."""

    def __init__(self, folder: Path, config: str, split: str, without: frozenset[str]) -> None:
        self._folder = folder / config
        self._config = config
        self._split = split
        self._without = without
        self._columns = schema(config, without)
        self._digest = hashlib.sha256()
        self._waiting: list[dict[str, Any]] = []
        self._last_key: tuple[Any, ...] | None = None
        self._writer: Any = None
        self._shard_bytes = 0
        self._rows_of: list[int] = []

    def add(self, record: object) -> None:
        """One more record. Raises ValueError if it does not come after the one before."""
        row = _row(record)
        if filled := [name for name in self._without if row.pop(name, None)]:
            raise ValueError(f"{self._config}/{self._split}: {filled} was to be empty")
        key = tuple(row[name] for name in SORT_KEYS[self._config])
        if self._last_key is not None and key < self._last_key:
            raise ValueError(f"{self._config}/{self._split}: {key} comes after {self._last_key}")
        self._last_key = key
        line = row_line(row)
        self._digest.update(line)
        self._shard_bytes += len(line)
        self._waiting.append(row)
        if len(self._waiting) >= ROW_GROUP_ROWS[self._config]:
            self._write_group()

    def _shard(self, number: int) -> Path:
        return self._folder / f"{self._split}-{number:05d}.writing"

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._writer is None:
            self._begin_shard()
        table = pa.Table.from_pylist(self._waiting, schema=self._columns).combine_chunks()
        self._writer.write_table(table, row_group_size=len(self._waiting))
        self._rows_of[-1] += len(self._waiting)
        self._waiting.clear()
        if self._shard_bytes >= SHARD_BYTES:
            self._end_shard()

    def _begin_shard(self) -> None:
        self._folder.mkdir(exist_ok=True)
        self._writer = open_table(self._shard(len(self._rows_of)), self._columns)
        self._rows_of.append(0)

    def _end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._shard_bytes = None, 0

    def close(self) -> tuple[dict[str, FileEntry], str]:
        """The entries of the table's files, and the SHA-256 of its logical content.

        A table without rows is one file without row groups, since `datasets` cannot read an empty row group. Without
        questions there is no split, and no file.
        """
        if self._waiting:
            self._write_group()
        elif not self._rows_of and self._config != "questions":
            self._begin_shard()
        self._end_shard()
        entries: dict[str, FileEntry] = {}
        n = len(self._rows_of)
        for number, rows in enumerate(self._rows_of):
            name = f"{self._config}/{self._split}-{number:05d}-of-{n:05d}.parquet"
            path = self._shard(number).rename(self._folder.parent / name)
            _sync(path)
            entries[name] = FileEntry(sha256=manifests.file_sha256(path), rows=rows)
        return entries, self._digest.hexdigest()


def _ordered(config: str, records: Iterable[object]) -> Iterable[object]:
    """The records in the table's order: sequences are sorted, iterators must come in order."""
    if isinstance(records, Sequence):
        return sorted(records, key=lambda record: tuple(getattr(record, name) for name in SORT_KEYS[config]))
    return records


def _empty_columns(
    config: str, groups: Mapping[str, Iterable[object]]
) -> tuple[frozenset[str], Mapping[str, Iterable[object]]]:
    """The columns of COLUMNS_IF_FILLED that no record of any split fills, and the records, which have been read."""
    names = COLUMNS_IF_FILLED.get(config, ())
    if not names:
        return frozenset(), groups
    lists = {split: list(records) for split, records in groups.items()}
    empty = {name for name in names if not any(getattr(one, name) for records in lists.values() for one in records)}
    # An iterator must come in order, so it stays one: the writer sorts only sequences.
    again = {split: lists[split] if isinstance(groups[split], Sequence) else iter(lists[split]) for split in lists}
    return frozenset(empty), again


def _write_table(
    folder: Path, config: str, split: str, records: Iterable[object], without: frozenset[str]
) -> tuple[dict[str, FileEntry], str]:
    writer = _TableWriter(folder, config, split, without)
    for record in _ordered(config, records):
        writer.add(record)
    return writer.close()


def _sync(path: Path) -> None:
    """Bring a file or the entries of a folder to the disk, so that a rename after it cannot outlive its bytes."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _swap(new: Path, folder: Path) -> None:
    """Put the new folder in the old one's place; a reader sees the old one, none or the new one, never a mixture."""
    for inner in (*(path for path in new.iterdir() if path.is_dir()), new):
        _sync(inner)
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def refuse_foreign(folder: Path) -> None:
    """Raise DataError if a dataset written here would replace something else than a dataset folder."""
    is_ours = (folder / manifests.FILE_NAME).is_file()
    if folder.exists() and not is_ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise DataError(folder, "exists and is not a dataset folder", "choose another --out, or empty it")


def write_dataset(
    folder: Path,
    tables: Mapping[str, Mapping[str, Iterable[object]]],
    *,
    name: str,
    version: str | Callable[[str], str],
    created_at: str,
    builder: str,
    config_sha256: str,
    sources: Mapping[str, Any],
    documents: Documents,
    attach: Attach | None = None,
) -> Manifest:
    """Write a whole dataset folder (tables: config -> split -> records), replacing an older one only at the end.

    A table is a sequence in any order, or an iterator in the order of SORT_KEYS, of which one row group is held at a
    time. A table without rows is a file that holds the schema alone; it is not part of the content hash. A table that
    is not given has no file: that of a hidden split. `documents` makes README.md and its like from the folder and the
    entries of its tables and of the files that `attach` wrote. `version` may be a function of the content hash; it is
    called before `documents`. Raises DataError when the target exists and is not a dataset folder.
    """
    folder = folder.absolute()  # "." has no name to put a dot before
    refuse_foreign(folder)
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise DataError(folder, f"cannot be written: {error.strerror}", "choose another --out") from None
    files: dict[str, FileEntry] = {}
    contents: dict[str, str] = {}
    for config in CONFIGS:
        without, groups = _empty_columns(config, tables.get(config, {}))
        for split in sorted(tables["questions"]):
            records = groups.get(split)
            if records is None:
                continue
            entries, content = _write_table(temporary, config, split, records, without)
            files |= entries
            if any(entry.rows for entry in entries.values()):
                contents[f"{config}/{split}"] = content
    content_id = content_sha256(contents)
    number = version if isinstance(version, str) else version(content_id)
    attached = attach(temporary, dict(files)) if attach is not None else {}
    for added in attached:
        _sync(temporary / added)
    files |= attached
    for document, body in sorted(documents(temporary, dict(files)).items()):
        (temporary / document).parent.mkdir(exist_ok=True)
        write_file(temporary / document, body)
        files[document] = FileEntry(sha256=hashlib.sha256(body).hexdigest())
    manifest = Manifest(
        name=name,
        version=number,
        created_at=created_at,
        builder=builder,
        config_sha256=config_sha256,
        content_sha256=content_id,
        contents=contents,
        sources=dict(sources),
        files=dict(sorted(files.items())),
    )
    manifests.write_manifest(temporary, manifest)
    _swap(temporary, folder)
    return manifest
