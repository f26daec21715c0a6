"""Identify the dataset in a folder: the hash of its rows, computed from the tables and compared with the manifest.

Datasets whose rows were read and found right are kept in the user's cache: one small file each, named by hashes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.errors import DataError
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import FILE_NAME, Manifest, check_files, manifest_sha256, read_manifest
from edu_rag.files.table_rows import CONFIGS, LATER_COLUMNS, REMEDY, REVEALS_GOLD, stored_rows

NO_ROWS = hashlib.sha256().hexdigest()
"""The hash of a table without rows, which is not part of the content hash: a dataset may have its file or not."""
_UNHASHED_IF_EMPTY = frozenset(name for names in LATER_COLUMNS.values() for name in names)
ROWS_RULE = "rows-v1"
"""How rows are hashed: part of the cache's key, so that another rule never gets an older one's entries."""
MAX_VERIFIED = 500


def row_line(row: Mapping[str, Any]) -> bytes:
    """A row as the line that is hashed: compact JSON, columns in the table's order, and a newline."""
    for name in _UNHASHED_IF_EMPTY:
        if name in row and not row[name]:
            row = {column: value for column, value in row.items() if column != name}
    return msgspec.json.encode(row) + b"\n"


def table_sha256(paths: Iterable[Path]) -> str:
    """SHA-256 over the rows of a table, whose files are given in order. Raises DataError naming file and row."""
    digest = hashlib.sha256()
    for path in paths:
        for row in stored_rows(path):
            digest.update(row_line(row))
    return digest.hexdigest()


def content_sha256(contents: Mapping[str, str]) -> str:
    """The content hash of a dataset: over its tables' names (`config/split`) and hashes."""
    return hashlib.sha256(msgspec.json.encode(sorted(contents.items()))).hexdigest()


def tables_of(files: Iterable[str]) -> dict[str, list[str]]:
    """The files of each table by `config/split`, in order."""
    found: dict[str, list[str]] = {}
    for name in sorted(files):
        config, _, rest = name.partition("/")
        if config in CONFIGS and name.endswith(".parquet"):
            found.setdefault(f"{config}/{rest.rsplit('-', 3)[0]}", []).append(name)
    return found


def absent_tables(manifest: Manifest) -> list[str]:
    """The tables of the content hash that the folder leaves out because they would tell a hidden split's gold."""
    there = tables_of(manifest.files)
    return sorted(table for table in manifest.contents if table not in there and _may_be_absent(table, manifest))


def _may_be_absent(table: str, manifest: Manifest) -> bool:
    config, _, split = table.partition("/")
    return config in REVEALS_GOLD and split in manifest.hidden_splits


def row_faults(folder: Path, manifest: Manifest, skipped: Iterable[str] = ()) -> Iterator[DataError]:
    """Differences between the rows and the content hash. The files are assumed to be those that the manifest lists.

    Tables in `skipped` (`config/split`) are not read: the faults of their files are known.
    """
    path = folder / FILE_NAME
    if content_sha256(manifest.contents) != manifest.content_sha256:
        yield DataError(path, "content_sha256 is not the hash of `contents`", REMEDY)
    there = tables_of(manifest.files)
    for table in sorted({*there, *manifest.contents, *manifest.published}):
        fault = _listing_fault(table, there, manifest)
        if fault:
            yield DataError(path, fault, REMEDY)
        elif table in there and table not in skipped:
            yield from _table_faults(folder, table, there[table], manifest)


def _listing_fault(table: str, there: Mapping[str, Sequence[str]], manifest: Manifest) -> str:
    """The fault of a table's entry in the manifest, or an empty text."""
    if table not in manifest.contents:
        if table in there and not any(manifest.files[name].rows for name in there[table]):
            return ""  # its rows, if it has some after all, do not fit NO_ROWS
        return f"lists no hash of the table {table} in `contents`"
    if table not in there:
        return "" if _may_be_absent(table, manifest) else f"lists no file of the table {table}"
    if table in manifest.published and not (table.startswith("pages/") and manifest.hidden_splits):
        return f"says that {table} was changed for publishing, but only pages of a dataset with hidden splits are"
    return ""


def _table_faults(folder: Path, table: str, names: Sequence[str], manifest: Manifest) -> Iterator[DataError]:
    wanted = manifest.published.get(table, manifest.contents.get(table, NO_ROWS))
    try:
        found = table_sha256(folder / name for name in names)
    except DataError as error:
        yield error
        return
    if found != wanted:
        what = f"its rows have the hash {found[:16]}…, and the manifest says {wanted[:16]}… for {table}"
        where = folder / names[0] if len(names) == 1 else f"{folder / names[0]} to {Path(names[-1]).name}"
        yield DataError(where, what, REMEDY)


def verify(folder: Path, manifest: Manifest) -> None:
    """Raise DataError unless every file has its listed hash and the rows have the content hash.

    Files are hashed every time. Rows are read once for each manifest: a manifest fixes the bytes of every file, so
    rows that fitted it once always fit it. The result is kept in the user's cache.
    """
    check_files(folder, manifest)
    key = f"{ROWS_RULE}-{manifest_sha256(manifest)}"
    if was_verified(key):
        return
    for fault in row_faults(folder, manifest):
        raise fault
    keep_verified(key)


def verified(folder: Path) -> Manifest:
    """The manifest of a dataset folder whose seal, files and rows match it. Raises DataError."""
    manifest = read_manifest(folder)
    verify(folder, manifest)
    return manifest


def verified_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """`verified` in $EDU_RAG_CACHE, $XDG_CACHE_HOME/edu-rag or ~/.cache/edu-rag; None if there is no home.

    Never in a dataset's folder: files there may come from a stranger.
    """
    found = os.environ if environment is None else environment
    if own := found.get("EDU_RAG_CACHE"):
        return Path(own) / "verified"
    caches = Path(found.get("XDG_CACHE_HOME") or "")
    if not caches.is_absolute():  # the XDG specification: a relative path counts as not set
        home = found.get("HOME")
        if not home:
            return None
        caches = Path(home) / ".cache"
    return caches / "edu-rag" / "verified"


def was_verified(key: str) -> bool:
    """Whether this key was kept. A file that is empty or cut off is not an entry."""
    folder = verified_folder()
    if folder is None:
        return False
    try:
        return (folder / key).read_text(encoding="ascii") == f"{key}\n"
    except (OSError, ValueError):
        return False


def keep_verified(key: str) -> None:
    """Keep a key; of too many the oldest go. A cache that cannot be written costs time later and nothing else."""
    folder = verified_folder()
    if folder is None:
        return
    with suppress(OSError):
        write_file(folder / key, f"{key}\n".encode("ascii"))
        entries = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in entries[:-MAX_VERIFIED]:
            old.unlink(missing_ok=True)
