"""`edu-rag crawl rebuild-index`: the index again, from the WARC file alone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from builder.store.batches import Fold
from builder.store.faults import file_fault, index_fault
from builder.store.index import (
    VERSION,
    WarcState,
    n_rows,
    n_unwritten,
    read_state,
    upgrade_tables,
    verify_pages,
    verify_rows,
    version_of,
    write_state,
)
from builder.store.index_files import JOURNALS, copied
from builder.store.lock import is_store, locked, sync_folder
from builder.store.reader import DAMAGE, NO_STORE_REMEDY
from builder.store.store_folder import INDEX_FILE, WARC_FILE
from builder.store.warc import Damage, Record, WarcFile, scan
from edu_rag.errors import DataError
from edu_rag.progress import say


@dataclass(slots=True)
class Rebuilt:
    """The result: rows by kind, pages whose record is damaged, and stretches of the file that are not records."""

    searches: int = 0
    fetches: int = 0
    pages: int = 0
    batches: int = 0
    left_out: int = 0
    pages_lost: int = 0
    damages: list[Damage] = field(default_factory=list)
    old_index: str = ""
    """The name under which the old index was kept, where there was one."""

    def counts(self) -> Mapping[str, int]:
        """The numbers, by their names in the command's output."""
        return {
            "searches": self.searches,
            "fetches": self.fetches,
            "pages": self.pages,
            "batches": self.batches,
            "batches left out": self.left_out,
            "pages lost": self.pages_lost,
            "damaged stretches": len(self.damages),
            "damaged bytes": sum(damage.end - damage.offset for damage in self.damages),
        }


def rebuild_index(folder: Path) -> Rebuilt:
    """Make the index from the WARC file, keep the old one under another name, and return the counts.

    The new index is written under a temporary name, synced and renamed. The WARC file does not change. Raises DataError
    if there is no WARC file, if it is of a version that kept no rows, if the index holds rows that it does not hold, or
    while another process uses the store.
    """
    if not is_store(folder) or not (folder / WARC_FILE).is_file():
        raise DataError(folder / WARC_FILE, "is missing: there is nothing to make an index from", NO_STORE_REMEDY)
    with locked(folder):
        try:
            return _rebuild(folder)
        except sqlite3.Error as error:
            raise index_fault(folder / INDEX_FILE, error) from None
        except OSError as error:
            raise file_fault(folder, error, "written") from None


def _rebuild(folder: Path) -> Rebuilt:
    _refuse_unwritten_rows(folder)
    temporary = folder / f".{INDEX_FILE}.tmp"
    try:
        temporary.unlink(missing_ok=True)
        with closing(WarcFile(folder / WARC_FILE, writable=False)) as warc, closing(_empty(temporary)) as index:
            found = _filled(index, warc)
        _sync(temporary)
        found.old_index = _put_aside(folder)
        temporary.rename(folder / INDEX_FILE)
        sync_folder(folder)
    finally:
        temporary.unlink(missing_ok=True)
    return found


def _empty(path: Path) -> sqlite3.Connection:
    index = sqlite3.connect(path)
    index.execute("PRAGMA journal_mode=MEMORY")
    index.execute("PRAGMA synchronous=OFF")  # it is synced once, when it is whole
    upgrade_tables(index, path)
    return index


def _refuse_unwritten_rows(folder: Path) -> None:
    """Refuse if the index is sound and holds rows that the WARC file does not: a new index would be without them.

    Such are the rows of an earlier version. They go to the WARC file when a later version first writes the
    store. This is a separate transaction after the update of the tables, so a kill in between leaves a new index with
    old rows. Such are also the rows behind the end of a file that was cut.
    """
    path = folder / INDEX_FILE
    what, remedy = "", "run the same `edu-rag build` with --resume, which writes them there"
    with (
        TemporaryDirectory(prefix="edu-rag-index-") as scratch,
        suppress(*DAMAGE),
        closing(copied(path, Path(scratch))) as index,
    ):
        version = version_of(index)
        columns = {row[1] for row in index.execute("PRAGMA table_info(fetches)")}
        if version and columns and "batch" not in columns:
            what = f"is of version {version}, and {WARC_FILE} does not hold its rows"
        elif version == VERSION and read_state(index).last < 0 and (n := n_unwritten(index)):
            verify_pages(index)
            verify_rows(index)
            what = f"holds {n:,} rows that {WARC_FILE} does not hold yet: its update was interrupted"
        elif version == VERSION and _is_cut(folder, state := read_state(index)):
            verify_pages(index)
            verify_rows(index)
            what = f"knows {state.bytes:,} bytes of {WARC_FILE}, and the file is shorter"
            remedy = f"restore the whole file; or {remedy.removeprefix('run ')}"
    # An index that cannot be read has nothing to lose.
    if what:
        raise DataError(path, what, remedy)


def _is_cut(folder: Path, state: WarcState) -> bool:
    """Whether the WARC file is not another store's, and shorter than the index knows."""
    with closing(WarcFile(folder / WARC_FILE, writable=False)) as warc:
        records = (item for item in scan(warc, 0) if isinstance(item, Record))
        return warc.end < state.bytes and next((one.store_id for one in records if one.store_id), state.id) == state.id


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _put_aside(folder: Path) -> str:
    """Keep the index and its journals under another name: a journal must not meet the new index. Return the name."""
    number = 1
    while any((folder / f"index.old-{number}.sqlite3{ending}").exists() for ending in ("", *JOURNALS)):
        number += 1
    name = f"index.old-{number}.sqlite3"
    (folder / f"{INDEX_FILE}-shm").unlink(missing_ok=True)
    found = False
    for ending in (*JOURNALS, ""):
        with suppress(FileNotFoundError):
            (folder / f"{INDEX_FILE}{ending}").rename(folder / f"{name}{ending}")
            found = True
    sync_folder(folder)
    return name if found else ""


def _filled(index: sqlite3.Connection, warc: WarcFile) -> Rebuilt:
    found, fold = Rebuilt(), Fold(index, warc.path, "", 0)
    with index:
        for item in scan(warc, 0):
            if isinstance(item, Record):
                fold.take(item)
                continue
            found.damages.append(item)
            say(f"{warc.path}: bytes {item.offset:,} to {item.end:,} are left out: {item.what}")
        fold.finish()
        if fold.counts.responses and not fold.store_id:
            what = "is of a version that kept no searches and fetches in it"
            remedy = f"restore {INDEX_FILE} from a copy, or build with --fresh"
            raise DataError(warc.path, what, remedy)
        counts = n_rows(index)
        write_state(index, WarcState(bytes=fold.end, last=fold.last, id=fold.store_id, **counts))
    fold.close()
    found.searches, found.fetches = counts["searches"], counts["fetches"]
    (found.pages,) = index.execute("SELECT count(warc_offset) FROM fetches").fetchone()
    found.batches, found.left_out, found.pages_lost = fold.counts.batches, fold.counts.foreign, fold.counts.gone
    return found
