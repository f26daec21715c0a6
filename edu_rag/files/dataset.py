"""The dataset folder opened for reading: its manifest, and its tables as records by config and split."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from edu_rag.errors import DataError, RecordError
from edu_rag.files import identity
from edu_rag.files.manifest import VECTORS, check_vector_files, vector_names
from edu_rag.files.sentence_vectors import FILES, refuse_large
from edu_rag.files.table_rows import reading_parquet, row_batches
from edu_rag.files.typed import first_line
from edu_rag.records import HOME_PAGE, Evidence, Question, SearchHit, WebPage

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R")


class Dataset:
    """A dataset folder opened for reading. Raises DataError if files, rows and manifest disagree."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise DataError(self.folder, "no such folder", "give the folder that `edu-rag build` wrote")
        self.manifest = identity.verified(self.folder)

    @property
    def id(self) -> str:
        """`name@version#hash8`."""
        return self.manifest.id

    def files(self, config: str, split: str) -> list[Path]:
        """The Parquet files of a config and split, in order."""
        prefix = f"{config}/{split}-"
        return [self.folder / name for name in sorted(self.manifest.files) if name.startswith(prefix)]

    def vectors(self) -> Path | None:
        """The folder of sentence vectors, checked against the manifest; None if there are none, or they are left out.

        Raises DataError if a file is another one than the manifest names.
        """
        listed = vector_names(self.manifest)
        if sorted(listed) != sorted(FILES) or not any((self.folder / name).exists() for name in listed):
            return None
        refuse_large(self.folder / VECTORS)
        check_vector_files(self.folder, self.manifest)
        return self.folder / VECTORS

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
            for numbers, rows in row_batches(path, page_ids):
                try:
                    records = msgspec.convert(rows, list[record_type])  # type: ignore[valid-type]
                except (msgspec.ValidationError, TypeError, KeyError, RecordError):
                    yield from _up_to_fault(path, numbers, rows, record_type)
                else:
                    yield from records

    def columns(self, config: str, split: str, names: Sequence[str], encoded: Sequence[str] = ()) -> pa.Table | None:
        """Some columns of a config and split, where records of all rows would cost seconds; None without rows.

        Texts of the columns `encoded` are numbers of a dictionary in each chunk: of few texts, that is faster.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for path in self.files(config, split):
            with reading_parquet(path):  # not pq.read_table, which loads another megabyte of library
                file = pq.ParquetFile(path, read_dictionary=list(encoded))
                tables.append(file.read(columns=list(names), use_threads=False))
        return pa.concat_tables(tables) if any(table.num_rows for table in tables) else None

    def questions(self, split: str) -> list[Question]:
        """The questions of a split, ordered by id. Raises DataError if there is none."""
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
        """Evidence in sentences by question id; that a page is a question's home page is left out."""
        by_question: dict[str, list[Evidence]] = {}
        for item in self.records("evidence", split, Evidence):
            if item.method == HOME_PAGE:
                continue
            by_question.setdefault(item.question_id, []).append(item)
        return by_question


def _up_to_fault(
    path: Path, numbers: Sequence[int], rows: Sequence[Mapping[str, Any]], record_type: type[R]
) -> Iterator[R]:
    """The records of rows, of which one is at fault. Raises DataError naming that row."""
    for number, row in zip(numbers, rows, strict=True):
        try:
            record = msgspec.convert(row, record_type)
        except (msgspec.ValidationError, TypeError, KeyError) as error:
            raise DataError(f"{path}: row {number}", str(error)) from None
        except RecordError as error:
            raise DataError(f"{path}: row {number}", f"{error.where}: {first_line(error)}") from None
        yield record


def kept_pages(hits: Sequence[SearchHit], pages: Mapping[str, WebPage]) -> list[WebPage]:
    """The pages of a question's kept hits in rank order, each once."""
    ids = dict.fromkeys(hit.page_id for hit in hits if hit.page_id is not None)
    return [pages[page_id] for page_id in ids]
