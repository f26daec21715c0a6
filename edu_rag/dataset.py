"""The dataset folder: Parquet tables by config and split, read and written with one explicit schema each."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from edu_rag import manifest as manifests
from edu_rag.errors import DataError, RecordError
from edu_rag.jsonl import write_file
from edu_rag.manifest import FileEntry, Manifest
from edu_rag.records import Evidence, Question, SearchHit, WebPage
from edu_rag.typed import first_line

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R")
CONFIGS = ("questions", "hits", "pages", "evidence", "leaks", "gold")
SORT_KEYS: Mapping[str, tuple[str, ...]] = {
    "questions": ("question_id",),
    "hits": ("question_id", "rank", "url"),
    "pages": ("page_id",),
    "evidence": ("question_id", "page_id", "start", "end", "method"),
    "leaks": ("question_id", "page_id", "start", "end", "kind"),
    "gold": ("question_id",),
}
ROW_GROUP_ROWS = 2_000


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


def _row(record: object) -> dict[str, Any]:
    """A record as a row: choices become a list of {label, text}, spans a list of {start, end}."""
    from datetime import datetime

    row: dict[str, Any] = msgspec.to_builtins(record, builtin_types=(datetime,))
    if "choices" in row:
        row["choices"] = [{"label": label, "text": text} for label, text in row["choices"].items()]
    if "sentences" in row:
        row["sentences"] = [{"start": start, "end": end} for start, end in row["sentences"]]
    return row


def _values(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the plain values of its record: the inverse of `_row`."""
    if "choices" in row:
        row["choices"] = {choice["label"]: choice["text"] for choice in row["choices"]}
    if "sentences" in row:
        row["sentences"] = [(span["start"], span["end"]) for span in row["sentences"]]
    return row


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises on bytes that are no Parquet into a DataError: a manifest's hash proves no format."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(path, f"cannot be read as Parquet: {error}", "download or build the dataset again") from None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table, one row group in memory."""
    import pyarrow.parquet as pq

    with reading_parquet(path):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=ROW_GROUP_ROWS):
            yield from batch.to_pylist()


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

    def records(self, config: str, split: str, record_type: type[R]) -> Iterator[R]:
        """The rows of a config and split as records, in file order; memory is one row group."""
        for path in self.files(config, split):
            for number, row in enumerate(_rows(path), 1):
                try:
                    record = msgspec.convert(_values(row), record_type)
                except (msgspec.ValidationError, TypeError, KeyError) as error:
                    raise DataError(f"{path}: row {number}", str(error)) from None
                except RecordError as error:
                    raise DataError(f"{path}: row {number}", f"{error.where}: {first_line(error)}") from None
                yield record

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

    def pages(self, split: str) -> dict[str, WebPage]:
        """Pages by page id."""
        return {page.page_id: page for page in self.records("pages", split, WebPage)}

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


def _write_table(folder: Path, config: str, split: str, rows: list[dict[str, Any]]) -> tuple[str, FileEntry, str]:
    """Write one table; return its name, its entry and the SHA-256 of its logical content."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows.sort(key=lambda row: tuple(row[key] for key in SORT_KEYS[config]))
    digest = hashlib.sha256()
    for row in rows:
        digest.update(msgspec.json.encode(row) + b"\n")
    name = f"{config}/{split}-00000-of-00001.parquet"
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(rows, schema=schema(config)).combine_chunks()
    # use_content_defined_chunking: a later take-down re-uploads a fifth of the bytes instead of half.
    pq.write_table(
        table, path, compression="zstd", compression_level=3, row_group_size=ROW_GROUP_ROWS,
        use_content_defined_chunking=True,
    )  # fmt: skip
    _sync(path)
    return name, FileEntry(sha256=manifests.file_sha256(path), rows=len(rows)), digest.hexdigest()


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
    """Raise DataError where a dataset written here would replace something else than a dataset folder."""
    is_ours = (folder / manifests.FILE_NAME).is_file()
    if folder.exists() and not is_ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise DataError(folder, "exists and is no dataset folder", "name another --out, or empty it")


def write_dataset(
    folder: Path,
    tables: Mapping[str, Mapping[str, Sequence[object]]],
    *,
    name: str,
    version: str,
    created_at: str,
    builder: str,
    config_sha256: str,
    sources: Mapping[str, Any],
    card: Callable[[Mapping[str, FileEntry]], str],
) -> Manifest:
    """Write a whole dataset folder (tables: config -> split -> records), replacing an older one only at the end.

    An empty table is left out, since `datasets` cannot load a split without rows. `card` writes README.md from the
    files there are. Raises DataError when the target exists and is no dataset folder.
    """
    folder = folder.absolute()  # "." has no name to put a dot before
    refuse_foreign(folder)
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise DataError(folder, f"cannot be written: {error.strerror}", "name another --out") from None
    files: dict[str, FileEntry] = {}
    contents: dict[str, str] = {}
    for config in CONFIGS:
        for split in sorted(tables["questions"]):
            rows = [_row(record) for record in tables.get(config, {}).get(split, ())]
            if not rows:
                continue
            file, entry, content = _write_table(temporary, config, split, rows)
            files[file], contents[file] = entry, content
    write_file(temporary / "README.md", card(files).encode("utf-8"))
    files["README.md"] = FileEntry(sha256=manifests.file_sha256(temporary / "README.md"))
    content_sha256 = hashlib.sha256(msgspec.json.encode(sorted(contents.items()))).hexdigest()
    manifest = Manifest(
        name=name, version=version, created_at=created_at, builder=builder, config_sha256=config_sha256,
        content_sha256=content_sha256, sources=dict(sources), files=dict(sorted(files.items())),
    )  # fmt: skip
    manifests.write_manifest(temporary, manifest)
    _swap(temporary, folder)
    return manifest
