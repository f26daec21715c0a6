"""Checking a dataset folder: hashes, schema, and that every reference between its tables leads somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edu_rag.dataset import CONFIGS, Dataset, reading_parquet, schema
from edu_rag.errors import DataError
from edu_rag.gold import Gold, match_gold
from edu_rag.records import Evidence, Question, WebPage


def _check_schema(dataset: Dataset, config: str, split: str) -> int:
    """The number of rows of a table, whose columns must be the record's and whose count the manifest's."""
    import pyarrow.parquet as pq

    rows = 0
    for path in dataset.files(config, split):
        with reading_parquet(path):
            file = pq.ParquetFile(path)
        if not file.schema_arrow.equals(schema(config)):
            raise DataError(path, "its columns are not those of this table", "rebuild it with this version")
        listed = dataset.manifest.files[path.relative_to(dataset.folder).as_posix()].rows
        if listed != file.metadata.num_rows:
            raise DataError(path, f"has {file.metadata.num_rows} rows, the manifest says {listed}", "rebuild it")
        rows += file.metadata.num_rows
    return rows


def _known(dataset: Dataset, questions: list[Question]) -> set[str]:
    ids = {question.question_id for question in questions}
    if len(ids) != len(questions):
        raise DataError(dataset.folder, "a question id is there twice", "rebuild it")
    return ids


def _check_hits(dataset: Dataset, split: str, questions: set[str], pages: dict[str, WebPage]) -> None:
    used: set[str] = set()
    for question_id, hits in dataset.hits(split).items():
        if question_id not in questions:
            raise DataError(dataset.folder, f"hits for unknown question {question_id}", "rebuild it")
        if [hit.rank for hit in hits] != list(range(1, len(hits) + 1)):
            raise DataError(dataset.folder, f"the ranks of {question_id}'s hits are not 1, 2, 3 …", "rebuild it")
        used.update(hit.page_id for hit in hits if hit.page_id is not None)
    for fault, ids in (("a hit leads to no page", used - set(pages)), ("no hit leads to page", set(pages) - used)):
        if ids:
            raise DataError(dataset.folder, f"{fault}: {min(ids)} ({len(ids)} in all)", "rebuild it")


def _check_evidence(dataset: Dataset, split: str, questions: set[str], pages: dict[str, WebPage]) -> None:
    for item in dataset.records("evidence", split, Evidence):
        page = pages.get(item.page_id)
        if item.question_id not in questions or page is None or item.end > len(page.text):
            where = f"evidence of {item.question_id} at {item.page_id} {item.start}..{item.end}"
            raise DataError(dataset.folder, f"{where} leads nowhere", "rebuild it")


def check_split(dataset: Dataset, split: str) -> Iterator[tuple[str, int]]:
    """Check one split; gives each table's name and number of rows once it is found sound. Raises DataError."""
    rows = {config: _check_schema(dataset, config, split) for config in CONFIGS}
    questions = dataset.questions(split)
    known, pages = _known(dataset, questions), dataset.pages(split)
    if rows["gold"]:  # the gold of a hidden split is not published
        match_gold(questions, dataset.records("gold", split, Gold), dataset.folder)
    _check_hits(dataset, split, known, pages)
    _check_evidence(dataset, split, known, pages)
    for config, n in rows.items():
        if n:
            yield f"{config}/{split}", n


def check_dataset(folder: Path) -> list[tuple[str, int]]:
    """Check a whole dataset folder: table names with their rows. Raises DataError for the first fault."""
    dataset = Dataset(folder)
    splits = dataset.splits()
    if not splits:
        raise DataError(folder, "the dataset is empty", "build it from a question file that has some")
    return [table for split in splits for table in check_split(dataset, split)]
