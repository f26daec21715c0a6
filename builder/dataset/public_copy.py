"""A dataset folder as it may be published: without the gold of hidden splits, and without what reveals it.

Three tables reveal it: gold, evidence and leaks. The page flag `leak_key` does so too (it means that the answer on
the page is the gold), so a page keeps it only if a published leak has it too.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.documents.dataset_documents import dataset_documents
from builder.documents.stats import DatasetStats, dataset_stats
from builder.question_sets.question_flags import unordered_identity
from edu_rag.errors import ConfigError
from edu_rag.files import identity
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import open_table
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import FileEntry, Manifest, file_sha256, write_manifest
from edu_rag.files.table_rows import REVEALS_GOLD, schema
from edu_rag.records import HOME_PAGE, PAGE_FLAGS, Leak, Question

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCopy:
    """A folder of exactly the files to publish, and what is to be known before it is."""

    folder: Path
    manifest: Manifest
    withheld: tuple[str, ...]
    """Files that are not in the copy."""
    open_splits: tuple[str, ...]
    """Splits whose gold everybody will have."""
    twins: tuple[tuple[str, str], ...]
    """(hidden question, published question) of the same text and choices."""


def is_withheld(file: str, hidden: Collection[str]) -> bool:
    """Whether a file of a dataset folder is a table that reveals the gold of a hidden split."""
    config, _, rest = file.partition("/")
    return config in REVEALS_GOLD and rest.rsplit("-", 3)[0] in hidden


def pages_of_known_keys(dataset: Dataset, hidden: Collection[str]) -> frozenset[str]:
    """The pages that hold the key of a question whose split is not hidden."""
    splits = (split for split in dataset.splits() if split not in hidden)
    leaks = (leak for split in splits for leak in dataset.records("leaks", split, Leak))
    return frozenset(leak.page_id for leak in leaks if leak.kind == "leak_key")


def without_key(flags: Iterable[str]) -> list[str]:
    """Flags with `leak_question`, which does not depend on the gold, in the place of `leak_key`."""
    public = {"leak_question" if flag == "leak_key" else flag for flag in flags}
    return [flag for flag in PAGE_FLAGS if flag in public]


def _reflagged(table: pa.Table, known: Collection[str]) -> pa.Table:
    import pyarrow as pa

    ids, flags = table.column("page_id").to_pylist(), table.column("flags").to_pylist()
    public = [own if page_id in known else without_key(own) for page_id, own in zip(ids, flags, strict=True)]
    place = table.schema.get_field_index("flags")
    return table.set_column(place, table.schema.field(place), pa.array(public, type=table.schema.field(place).type))


def copy_pages(source: Path, target: Path, known: Collection[str]) -> None:
    """Copy a table of pages, row group by row group, `leak_key` taken from all pages but the known ones."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file, open_table(target, schema("pages")) as writer:
        for number in range(file.num_row_groups):
            table = _reflagged(file.read_row_group(number), known)
            writer.write_table(table, row_group_size=max(1, table.num_rows))


def twins(dataset: Dataset, hidden: Collection[str]) -> list[tuple[str, str]]:
    """Pairs (hidden question, published question) of the same text and choices: the second's gold reveals the
    first's.
    """
    secret: dict[tuple[str, ...], str] = {}
    for split in sorted(hidden):
        for question in dataset.records("questions", split, Question):
            secret.setdefault(unordered_identity(question), question.question_id)
    found = []
    for split in dataset.splits():
        if split not in hidden and secret:
            for question in dataset.records("questions", split, Question):
                other = secret.get(unordered_identity(question))
                if other is not None:
                    found.append((other, question.question_id))
    return found


def published_sources(sources: Mapping[str, Any], stats: DatasetStats, hidden: Sequence[str]) -> dict[str, Any]:
    """The manifest's `sources` with the labels counted over the published rows, and the hidden splits named."""
    counted = {
        "page_flags": dict(sorted(stats.page_flags.items())),
        "leaks": dict(sorted(stats.leaks.items())),
        "leaks_masked": stats.leaks.total(),
        "questions_leaked": stats.leaked_questions,
        "questions_with_evidence": stats.evidence["any"],
        "questions_with_home_page": stats.evidence[HOME_PAGE],
    }
    before = sources.get("hidden_splits", ())
    named = sorted({*hidden, *(before if isinstance(before, list | tuple) else ())})
    return {**sources, **{key: value for key, value in counted.items() if key in sources}, "hidden_splits": named}


def _copy(dataset: Dataset, folder: Path, withheld: Sequence[str], hidden: Sequence[str]) -> Manifest:
    before = dataset.manifest
    files = {name: entry for name, entry in before.files.items() if name not in withheld}
    known = pages_of_known_keys(dataset, hidden)
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        if hidden and name.startswith("pages/"):
            copy_pages(dataset.folder / name, folder / name, known)
            files[name] = replace(files[name], sha256=file_sha256(folder / name))
        else:
            shutil.copyfile(dataset.folder / name, folder / name)
    manifest = _recounted(before, files, folder, hidden) if hidden else before
    write_manifest(folder, manifest)
    identity.verify(folder, manifest)  # nothing is published that could not be verified afterwards
    return manifest


def _recounted(before: Manifest, files: dict[str, FileEntry], folder: Path, hidden: Sequence[str]) -> Manifest:
    """The manifest, with card, plots and metadata that count published rows only."""
    tables = {name: entry for name, entry in files.items() if name.endswith(".parquet")}
    sources = published_sources(before.sources, dataset_stats(folder, tables), hidden)
    documents = dataset_documents(before.name, before.version, before.created_at, sources)(folder, files)
    for name, body in documents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_file(folder / name, body)
        files[name] = FileEntry(sha256=file_sha256(folder / name))
    published = _changed_pages(before, folder, tables)
    return replace(before, sources=sources, published=published, files=dict(sorted(files.items())))


def _changed_pages(before: Manifest, folder: Path, files: Collection[str]) -> dict[str, str]:
    """The hash of the rows of each table of pages that lost a flag, by `pages/split`."""
    tables = {table: names for table, names in identity.tables_of(files).items() if table.startswith("pages/")}
    now = {table: identity.table_sha256(folder / name for name in names) for table, names in tables.items()}
    return {table: rows for table, rows in sorted(now.items()) if rows != before.contents.get(table, identity.NO_ROWS)}


@contextmanager
def public_copy(dataset: Dataset, hidden: Sequence[str]) -> Iterator[PublicCopy]:
    """The copy, in a temporary folder. Raises ConfigError for a split that does not exist."""
    unknown = sorted(set(hidden) - set(dataset.splits()))
    if unknown:
        raise ConfigError("--hidden", f"no split {unknown[0]!r}", f"choose from {', '.join(dataset.splits())}")
    withheld = tuple(name for name in dataset.manifest.files if is_withheld(name, hidden))
    with tempfile.TemporaryDirectory(prefix="edu-rag-push-") as scratch:
        yield PublicCopy(
            folder=Path(scratch),
            manifest=_copy(dataset, Path(scratch), withheld, hidden),
            withheld=withheld,
            open_splits=tuple(s for s in dataset.splits() if s not in hidden and dataset.files("gold", s)),
            twins=tuple(twins(dataset, hidden)),
        )
