"""The files of a dataset folder that may be damaged: those that the manifest lists, strays, and rows as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from builder.dataset.findings import Findings
from edu_rag.errors import DataError, RecordError
from edu_rag.files import manifest as manifests
from edu_rag.files.identity import row_faults
from edu_rag.files.manifest import Manifest
from edu_rag.files.table_rows import CONFIGS, SORT_KEYS, has_columns_of, reading_parquet, schema, stored_rows
from edu_rag.files.typed import first_line
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, WebPage

RECORDS: Mapping[str, type] = {
    "questions": Question,
    "hits": SearchHit,
    "pages": WebPage,
    "evidence": Evidence,
    "leaks": Leak,
    "gold": Gold,
}
REBUILD = "rebuild the dataset"
DOWNLOAD = "download or build the dataset again"
_OURS_BY_NAME = (manifests.FILE_NAME, ".gitattributes")


def split_of(name: str) -> str:
    """The split that a table's file belongs to: `val` of `pages/val-00000-of-00002.parquet`."""
    return name.split("/", 1)[-1].rsplit("-", 3)[0]


class Tables:
    """The tables of a dataset folder that may be damaged: each fault is reported once, and its table is left out."""

    def __init__(self, folder: Path, faults: Findings, warnings: Findings) -> None:
        self.folder = folder
        self.manifest: Manifest
        self.manifest, suspect = manifests.read_suspect(folder)
        for fault in suspect:
            faults.add("manifest", fault.where, fault.what, fault.remedy)
        self.faults = faults
        self.warnings = warnings
        self.rows_of: dict[tuple[str, str], int] = {}
        self._broken: set[tuple[str, str]] = set()
        self._check_listed()
        self._check_strays()
        self._check_rows()

    def _check_rows(self) -> None:
        """The rows of every table that can be read, against the content hash: never from the cache."""
        broken = {f"{config}/{split}" for config, split in self._broken}
        for fault in row_faults(self.folder, self.manifest, broken):
            self.faults.add("content hash", fault.where, fault.what, fault.remedy)

    def _check_listed(self) -> None:
        for name, entry in self.manifest.files.items():
            path = self.folder / name
            if not path.is_file() or path.is_symlink():
                self.faults.add("missing file", path, "is listed in the manifest but missing", DOWNLOAD)
            elif manifests.file_sha256(path) != entry.sha256:
                self.faults.add("changed file", path, "its bytes differ from the manifest's hash", DOWNLOAD)
            elif not self._is_table(name) or self._is_sound(path, name):
                continue
            if self._is_table(name):
                self._broken.add((name.split("/")[0], split_of(name)))

    def _is_table(self, name: str) -> bool:
        return name.endswith(".parquet") and name.split("/")[0] in CONFIGS

    def _is_sound(self, path: Path, name: str) -> bool:
        """Whether a table's columns are its record's and its rows as many as the manifest says."""
        import pyarrow.parquet as pq

        config, listed = name.split("/")[0], self.manifest.files[name].rows
        try:
            with reading_parquet(path), pq.ParquetFile(path) as file:
                found, n = file.schema_arrow, int(file.metadata.num_rows)
        except DataError as error:
            self.faults.add("no Parquet", error.where, error.what, error.remedy)
            return False
        if not has_columns_of(found, config):
            what = f"its columns are not those of this table: {_columns(found, config)}"
            self.faults.add("schema", path, what, REBUILD)
            return False
        if n != listed:
            self.faults.add("row count", path, f"has {n} rows, the manifest says {listed}", REBUILD)
        key = (config, split_of(name))
        self.rows_of[key] = self.rows_of.get(key, 0) + n
        return True

    def _check_strays(self) -> None:
        """An unlisted table in the folder would still be pushed, and may be the gold of a hidden split."""
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if path.is_dir() or name in self.manifest.files or name in _OURS_BY_NAME or hidden:
                continue
            is_data = path.suffix in (".parquet", ".jsonl", ".json", ".csv", ".arrow")
            target = self.faults if is_data and name != "croissant.json" else self.warnings
            target.add("unlisted file", path, "is in the folder but not in the manifest", "remove it")

    def splits(self) -> list[str]:
        """The splits that have questions listed, sorted."""
        return sorted({split_of(name) for name in self.manifest.files if name.startswith("questions/")})

    def is_whole(self, config: str, split: str) -> bool:
        """Whether the table can be read to its end (an absent one has no rows)."""
        return (config, split) not in self._broken

    def has(self, config: str, split: str) -> bool:
        """Whether the manifest lists the table."""
        return any(name.startswith(f"{config}/") and split_of(name) == split for name in self.manifest.files)

    def records(self, config: str, split: str) -> Iterator[Any]:
        """The sound rows of a table as records, in file order; rows that are not valid, or out of order, are
        reported.
        """
        if not self.is_whole(config, split):
            return
        last: tuple[Any, ...] | None = None
        for name in sorted(self.manifest.files):
            if not name.startswith(f"{config}/") or split_of(name) != split:
                continue
            path = self.folder / name
            for number, row in enumerate(stored_rows(path), 1):
                record = self._record(row, config, f"{path}: row {number}")
                if record is None:
                    continue
                key = tuple(getattr(record, field) for field in SORT_KEYS[config])
                if last is not None and key <= last:
                    what = "occurs twice" if key == last else "is out of order"
                    self.faults.add(f"{what}, in {config}", f"{path}: row {number}", f"{key[0]} {what}", REBUILD)
                last = key
                yield record

    def _record(self, row: dict[str, Any], config: str, where: str) -> Any:
        try:
            return msgspec.convert(_values(row), RECORDS[config])
        except (msgspec.ValidationError, TypeError, KeyError) as error:
            self.faults.add(f"broken row in {config}", where, str(error), REBUILD)
        except RecordError as error:
            self.faults.add(f"broken row in {config}", where, f"{error.where}: {first_line(error)}", REBUILD)
        return None


def _columns(found: Any, config: str) -> str:
    """A description of wrong columns."""
    wanted = schema(config)
    lacking = [name for name in wanted.names if name not in found.names]
    foreign = [name for name in found.names if name not in wanted.names]
    retyped = [name for name in wanted.names if name in found.names and found.field(name) != wanted.field(name)]
    parts = [("lacks", lacking), ("also has", foreign), ("other type", retyped)]
    return "; ".join(f"{word} {', '.join(names)}" for word, names in parts if names) or "other order"


def _values(row: dict[str, Any]) -> dict[str, Any]:
    if "choices" in row:
        labels = [choice["label"] for choice in row["choices"]]
        if len(set(labels)) != len(labels):
            raise RecordError("choices", "a label occurs twice")
        row["choices"] = {choice["label"]: choice["text"] for choice in row["choices"]}
    if "sentences" in row:
        row["sentences"] = [(span["start"], span["end"]) for span in row["sentences"]]
    return row
