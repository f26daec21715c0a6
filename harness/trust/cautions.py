"""Cautions about a score: stale predictions, unfinished runs, failures, impossible citations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from edu_rag.errors import EduRagError
from harness.running.fingerprint import answering_sha256, system_sha256
from harness.submission.folder import Submission, partial_path, submission_of
from harness.submission.run_record import RunRecord, read_run_record

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from edu_rag.scorecard.card import Prediction, ScoreCard

MAX_EXAMPLES = 3
"""Files or citations that are shown."""
_BATCH_ROWS = 256
_CHUNK, _OVERLAP = 1 << 20, 8


def of_files(predictions: Sequence[Path]) -> Iterator[str]:
    """Files around the predictions of one submission: another version of the system, an unfinished run."""
    owner = _owner(predictions[0]) if predictions else None
    if owner is not None and owner.settings.command:
        now = system_sha256(owner.folder), answering_sha256(owner.folder)
        records = {path: _record(path) for path in predictions}
        old = [path.name for path, record in records.items() if record is not None and not record.is_of(*now)]
        if old:
            what = f"{_shown(old)}: made by another version of the system than its files are now"
            yield f"{owner.folder}: {what}: `edu-rag run` makes them again"
    for path in predictions:
        partial = partial_path(path)
        if partial.is_file() and partial.stat().st_mtime_ns >= path.stat().st_mtime_ns:
            yield f"{partial}: an interrupted run is next to the predictions: run again to finish it"


def _owner(predictions: Path) -> Submission | None:
    with suppress(EduRagError):  # a fault of the submission, which is reported where it matters
        return submission_of(predictions)
    return None


def _record(predictions: Path) -> RunRecord | None:
    with suppress(EduRagError):
        return read_run_record(predictions)
    return None


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_EXAMPLES:,} more" if len(names) > MAX_EXAMPLES else ""
    return ", ".join(names[:MAX_EXAMPLES]) + more


def of_result(card: ScoreCard) -> Iterator[str]:
    """How many questions failed; a result in which all did says nothing about the system."""
    failed, n = card.counts.failed, card.counts.n
    if failed and failed == n:
        yield (
            f"WARNING: all {n:,} questions failed, so this is the result of a broken run, not of a system: "
            "`response` in the predictions says why"
        )
    elif failed:
        yield f"{failed:,} of {n:,} questions failed: `edu-rag explain … --lost failed` lists them"


def page_ids(dataset: Dataset, split: str) -> frozenset[str]:
    """The ids of a split's pages, read from their column alone."""
    table = dataset.columns("pages", split, ["page_id"])
    return frozenset() if table is None else frozenset(table.column("page_id").to_pylist())


def page_lengths(dataset: Dataset, split: str) -> dict[str, int]:
    """The characters of each page's text by page id, a few pages in memory at a time."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from edu_rag.files.table_rows import reading_parquet

    lengths: dict[str, int] = {}
    for path in dataset.files("pages", split):
        with reading_parquet(path):
            columns = ["page_id", "text"]
            for batch in pq.ParquetFile(path).iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                n_chars = pc.utf8_length(batch.column("text")).to_pylist()
                lengths |= zip(batch.column("page_id").to_pylist(), n_chars, strict=True)
    return lengths


def of_citations(predictions: Mapping[str, Prediction], lengths: Mapping[str, int]) -> list[str]:
    """How many cited passages cannot exist, and the first of them; nothing where all can."""
    found = [
        f"  {question_id}: {page_id[:80]!r} {_fault(lengths.get(page_id), end)}"
        for question_id, prediction in predictions.items()
        for page_id, _, end in prediction.passages
        if end > lengths.get(page_id, -1)
    ]
    if not found:
        return []
    more = [f"  … and {len(found) - MAX_EXAMPLES:,} more"] if len(found) > MAX_EXAMPLES else []
    return [f"{len(found):,} cited passage(s) cannot exist", *found[:MAX_EXAMPLES], *more]


def _fault(length: int | None, end: int) -> str:
    return (
        "is not a page of this split" if length is None else f"has {length:,} characters, the passage ends at {end:,}"
    )


def of_cited_pages(predictions: Mapping[str, Prediction], known: Collection[str]) -> Iterator[str]:
    """How many passages are cited of pages that the split does not have; their bounds are for `check` to look at."""
    cited = [passage.page_id for one in predictions.values() for passage in one.passages]
    n = 0 if set(cited).issubset(known) else sum(page_id not in known for page_id in cited)
    if n:
        yield f"{n:,} passage(s) are cited of pages that the dataset does not have: `edu-rag check` shows some"


def may_cite(path: Path) -> bool:
    """Whether a predictions file may cite passages, by its bytes: then pages are read before a child looks at it.

    A child must not read Parquet, whose reader starts threads that do not fit into its memory.
    """
    with suppress(OSError), path.open("rb") as stream:
        before = b""
        while chunk := stream.read(_CHUNK):
            seen = before + chunk
            if b"passages" in seen or b"\\u" in seen:  # an escape may be a letter of the field's name
                return True
            before = chunk[-_OVERLAP:]
    return False
