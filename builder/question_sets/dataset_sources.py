"""Questions from Parquet files, from folders laid out as datasets, and from datasets of the Hub, as tables of rows.

Folders and the Hub are read by the package `datasets`, which comes with the extra `datasets`. A folder may come from a
stranger: only tables inside of it are read, even if its README names others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from builder.question_sets.foreign_questions import QuestionTable, split_named
from builder.question_sets.question_columns import source_name
from edu_rag.errors import DataError, MissingExtraError
from edu_rag.files.foreign_table import MAX_COLUMNS, ForeignRow
from edu_rag.files.table_rows import reading_parquet
from edu_rag.network.network_causes import known_cause

PREFIX = "hf:"
_HUB_FORM = re.compile(
    r"hf:(?P<repo>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})(?::(?P<config>[\w.-]{1,100}))?"
    r"(?:@(?P<revision>[\w./-]{1,200}))?",
    re.ASCII,
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
SCIENCE_OF_MMLU = (
    "anatomy",
    "astronomy",
    "college_biology",
    "college_chemistry",
    "college_physics",
    "conceptual_physics",
    "high_school_biology",
    "high_school_chemistry",
    "high_school_physics",
)
GROUPS: Mapping[tuple[str, str], Sequence[str]] = {("cais/mmlu", "science"): SCIENCE_OF_MMLU}
"""Names of ours for several configs of a dataset at once."""
_TABLES = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".arrow")
"""Files of a folder that hold tables. `datasets` reads others too, some of which can run code."""
MAX_CARD_BYTES = 1_000_000
MAX_ROWS = 2_000_000
MAX_CHARACTERS = 1_000_000_000
_BATCH_ROWS = 100
"""Rows decoded at a time: a page of Parquet can repeat one long value for little."""


class HubQuestions(NamedTuple):
    """A dataset of the Hub: `hf:ORG/NAME[:CONFIG][@REVISION]`."""

    repo: str
    config: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        config = f":{self.config}" if self.config else ""
        return f"{PREFIX}{self.repo}{config}" + (f"@{self.revision}" if self.revision else "")


QuestionSource = Path | HubQuestions


def parse_source(text: str) -> QuestionSource:
    """A value of `--questions`. Raises DataError for a text that begins with `hf:` and names no dataset."""
    if not text.startswith(PREFIX):
        return Path(text)
    match = _HUB_FORM.fullmatch(text)
    if match is None or ".." in text:
        raise DataError(text[:200], "names no dataset of the Hub", "give hf:ORG/NAME, hf:ORG/NAME:CONFIG or …@REVISION")
    return HubQuestions(match["repo"], match["config"], match["revision"])


class _Folder(NamedTuple):
    """A local folder, and the config of it that was asked for (`FOLDER:CONFIG`)."""

    path: Path
    config: str | None


def folder_of(path: Path) -> _Folder | None:
    """The folder that a source names; None if it is not one."""
    if path.is_dir():
        return _Folder(path, None)
    before, colon, config = path.name.rpartition(":")
    if colon and before and not path.exists() and path.with_name(before).is_dir():
        return _Folder(path.with_name(before), config)
    return None


def _library() -> Any:
    try:
        import datasets
    except ModuleNotFoundError as error:
        if error.name != "datasets":
            raise
        remedy = "pip install 'edu-rag-bench[datasets]'"
        raise MissingExtraError("--questions", "the package `datasets` is not installed", remedy) from None
    datasets.disable_progress_bars()
    return datasets


@contextmanager
def _naming(where: object, remedy: str) -> Iterator[None]:
    """Turn what `datasets` and the Hub's client raise into one line: their errors are of many classes."""
    try:
        yield
    except (DataError, MissingExtraError):
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        cause = known_cause(error, _hub_address()) or lines[0][:300].rstrip(".")
        raise DataError(where, f"cannot be loaded: {cause}", remedy) from None


def _hub_address() -> str:
    from huggingface_hub import constants

    return constants.ENDPOINT


def _configs(source: HubQuestions) -> Sequence[str | None]:
    """The configs that are meant: one, or all of a group."""
    return GROUPS.get((source.repo, source.config or ""), (source.config,))


def hub_tables(source: HubQuestions, split: str | None) -> tuple[list[QuestionTable], str]:
    """The splits of a dataset of the Hub, or one of them, and the dataset's name with its commit.

    Files are kept in the cache of `datasets`; with a commit as the revision and HF_HUB_OFFLINE=1, a second run needs no
    network. Raises DataError and MissingExtraError.
    """
    library = _library()
    remedy = "check name, config and revision; a folder or Parquet file works offline"
    with _naming(source, remedy):
        commit = _commit_of(source)
        _refuse_outside(_hub_card(source.repo, commit), source)
        tables: list[QuestionTable] = []
        for config in _configs(source):
            builder = library.load_dataset_builder(source.repo, config, revision=commit)
            _refuse_other_files(builder.config.data_files, f"hf://datasets/{source.repo}@", str(source))
            loaded = library.load_dataset(source.repo, config, revision=commit)
            name = source_name(config or source.repo.partition("/")[2])
            found = {str(part): rows.with_format(None) for part, rows in loaded.items()}
            tables += _tables(found, f"{PREFIX}{source.repo}" + (f":{config}" if config else ""), name, split)
    return tables, str(source._replace(revision=commit))


def _commit_of(source: HubQuestions) -> str:
    """The commit that a revision names now."""
    if source.revision is not None and _COMMIT.fullmatch(source.revision):
        return source.revision
    from huggingface_hub import HfApi

    commit = HfApi().dataset_info(source.repo, revision=source.revision, timeout=30).sha
    if not commit or not _COMMIT.fullmatch(commit):
        raise DataError(source, "has no commit", "name one: hf:ORG/NAME@COMMIT")
    return commit


def _hub_card(repo: str, commit: str) -> Path | None:
    """The README of a dataset of the Hub; None if it has none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(repo, "README.md", repo_type="dataset", revision=commit))
    except LocalEntryNotFoundError:
        raise  # the Hub was not reached: it may have a README, and that must be looked at before anything is loaded
    except EntryNotFoundError:
        return None


def folder_tables(folder: _Folder, split: str | None) -> list[QuestionTable]:
    """The splits of a local folder that `datasets` can load, or one of them. Raises DataError and MissingExtraError."""
    library = _library()
    where = folder.path if folder.config is None else f"{folder.path}:{folder.config}"
    with _naming(where, "name its config as FOLDER:CONFIG, or give one of its files"):
        _refuse_outside(folder.path / "README.md", folder.path)
        builder = library.load_dataset_builder(str(folder.path), folder.config)
        _refuse_other_files(builder.config.data_files, f"{folder.path.resolve()}/", str(folder.path))
        loaded = library.load_dataset(str(folder.path), folder.config, streaming=True)
        found = {str(part): rows for part, rows in loaded.items()}
        return _tables(found, str(where), source_name(folder.config or folder.path.resolve().name), split)


def _refuse_outside(card: Path | None, where: object) -> None:
    """Raise DataError if a README names files by URL or outside of its folder: `datasets` would fetch and read them."""
    if card is None or not card.is_file():
        return
    from huggingface_hub import metadata_load

    if card.stat().st_size > MAX_CARD_BYTES:
        raise DataError(where, f"its README.md is over {MAX_CARD_BYTES:,} bytes", "shorten it")
    for text in _texts((metadata_load(card) or {}).get("configs")):
        if "://" in text or "::" in text or text.startswith(("/", "~")) or ".." in PurePosixPath(text).parts:
            raise DataError(where, f"its README.md names files elsewhere: {text[:100]!r}", "remove that line")


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 8 and isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner, depth + 1)


def _refuse_other_files(data_files: Mapping[Any, Iterable[str]] | None, root: str, where: str) -> None:
    """Raise DataError unless all files to be read are tables below `root`, links followed."""
    for file in (str(name) for names in (data_files or {}).values() for name in names):
        path = file if "://" in file else str(Path(file).resolve())
        if not path.startswith(root):
            raise DataError(where, f"names a file elsewhere: {file[:200]!r}", "remove it")
        if PurePosixPath(path).suffix.casefold() not in _TABLES:
            what = f"{PurePosixPath(path).name[:100]!r} is not a table"
            raise DataError(where, what, f"files to read are {', '.join(_TABLES)}")


def _chosen(names: Sequence[str], split: str | None, where: str) -> dict[str, str]:
    """The splits to read, with the name that each gets. Raises DataError if the one asked for does not exist."""
    if split is None:
        return {name: split_named(name) for name in names}
    found = [name for name in names if split in (name, split_named(name))]
    if not found and len(names) == 1:
        found = list(names)  # `datasets` calls files without a split `train`
    if not found:
        raise DataError(where, f"has no split {split!r}", f"choose --split from {', '.join(names)}")
    return {found[0]: split}


def _tables(found: Mapping[str, Any], where: str, name: str, split: str | None) -> list[QuestionTable]:
    tables = []
    for part, chosen in _chosen(list(found), split, where).items():
        rows = list(_rows(_undecoded(found[part]), f"{where}, {part}"))
        tables.append(QuestionTable(f"{where}, {part}", name, rows, chosen, is_part=len(found) > 1))
    return tables


def _undecoded(rows: Any) -> Any:
    """Rows whose pictures and sounds stay bytes: to decode them is slow, and needs other packages."""
    import datasets

    for column, feature in (rows.features or {}).items():
        if isinstance(feature, datasets.Image | datasets.Audio):
            rows = rows.cast_column(column, type(feature)(decode=False))
    return rows


def _rows(rows: Any, where: str) -> Iterator[ForeignRow]:
    import datasets

    features = rows.features or {}
    if len(features) > MAX_COLUMNS:
        raise DataError(where, f"has {len(features):,} columns, at most {MAX_COLUMNS:,} are read", "leave some out")
    named = {name: kind.names for name, kind in features.items() if isinstance(kind, datasets.ClassLabel)}
    yield from _light_rows((_with_names(values, named) for values in rows), where)


def _light_rows(rows: Iterable[Mapping[str, Any]], where: str) -> Iterator[ForeignRow]:
    """Rows with their places, without the bytes of pictures. Raises DataError if they are more than memory can hold."""
    characters = 0
    for number, values in enumerate(rows, 1):
        row = ForeignRow(f"{where}: row {number}", {name: _light(value) for name, value in values.items()})
        characters += sum(map(_size, row.values.values()))
        if number > MAX_ROWS or characters > MAX_CHARACTERS:
            what = f"holds over {MAX_ROWS:,} rows or {MAX_CHARACTERS:,} characters"
            raise DataError(where, what, "choose a split or a config, or split the file")
        yield row


def _light(value: Any) -> Any:
    """A value whose bytes are empty: a picture shows that the question needs one, and is not kept."""
    if isinstance(value, bytes | bytearray):
        return b""
    if isinstance(value, dict):
        return {name: _light(inner) for name, inner in value.items()}
    return [_light(inner) for inner in value] if isinstance(value, list) else value


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list) else 1


def _with_names(values: Mapping[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A row whose class labels are names instead of numbers; -1 means that the label is kept back."""
    row = dict(values)
    for column, names in named.items():
        number = row.get(column)
        if isinstance(number, int):
            row[column] = names[number] if 0 <= number < len(names) else None
    return row


def parquet_table(path: Path, split: str | None) -> QuestionTable:
    """The rows of one Parquet file. Raises DataError."""
    import pyarrow.parquet as pq

    with reading_parquet(path), pq.ParquetFile(path) as file:
        columns = file.schema_arrow.names
        if len(columns) > MAX_COLUMNS:
            raise DataError(path, f"has {len(columns):,} columns, at most {MAX_COLUMNS:,} are read", "leave some out")
        if len(set(columns)) != len(columns):
            raise DataError(path, "two columns have the same name", "give each column its own name")
        named = _class_labels(file.schema_arrow.metadata or {})
        rows = list(_light_rows((_with_names(row, named) for row in _parquet_rows(file, path)), str(path)))
    return QuestionTable(str(path), source_name(path), rows, split)


def _parquet_rows(file: Any, path: Path) -> Iterator[dict[str, Any]]:
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
        try:
            yield from batch.to_pylist()
        except (ValueError, OverflowError) as error:
            raise DataError(path, f"a value cannot be read: {error}", "write the file again") from None


def _class_labels(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The names of class labels that `datasets` writes into a Parquet file; none if it was written otherwise."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        found = {name: kind["names"] for name, kind in features.items() if kind.get("_type") == "ClassLabel"}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: names for name, names in found.items() if isinstance(names, list) and all(map(_is_text, names))}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
