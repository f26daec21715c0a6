"""Where the crawl store of a dataset is (DATASET.crawl, next to the dataset's folder), and the names of its files."""

from __future__ import annotations

from pathlib import Path

from edu_rag.errors import ConfigError

WARC_FILE, INDEX_FILE, LOCK_FILE, LOG_FILE = "responses.warc.gz", "index.sqlite3", "lock", "build.log.jsonl"


def store_folder(out: Path) -> Path:
    """The folder of a dataset's crawl store: next to it, never inside. Raises ConfigError if `out` has no parent."""
    place = out if out.name not in ("", "..") else out.resolve()
    if not place.name:
        raise ConfigError(out, "cannot be a dataset folder", "choose another --out")
    return place.with_name(f"{place.name}.crawl")
