"""The dataset in the folder where a build writes: whether it may be replaced, and a report when it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from edu_rag.errors import DataError
from edu_rag.files.manifest import FILE_NAME, Manifest, read_manifest
from edu_rag.progress import say


def dataset_at(out: Path) -> Manifest | None:
    """The manifest of the dataset in the folder; None if there is none that can be read."""
    with suppress(DataError, OSError):
        return read_manifest(out) if (out / FILE_NAME).is_file() else None
    return None


def refuse_other_name(where: Path, old: str, new: str) -> None:
    """Raise DataError if the folder has a dataset of another name."""
    if old != new:
        raise DataError(where, f"holds the dataset {old!r}, not {new!r}", "choose another --out, or add --fresh")


def say_replaced(old: Manifest | None, new: Manifest) -> None:
    """One version of a dataset should have one content: say where this build broke that."""
    if old is None or (old.name, old.version) != (new.name, new.version) or old.id == new.id:
        return
    was, now = (f"#{one.content_sha256[:8]} ({one.sources.get('pages', 0):,} pages)" for one in (old, new))
    say(f"{new.name}@{new.version}: was {was}, is now {now} under the same version")
