"""Where the crawl store of a dataset is: DATASET.crawl, next to the dataset's folder."""

from __future__ import annotations

from pathlib import Path

from edu_rag.errors import ConfigError


def store_folder(out: Path) -> Path:
    """The folder of a dataset's crawl store: next to it, never inside. Raises ConfigError if `out` has no parent."""
    place = out if out.name not in ("", "..") else out.resolve()
    if not place.name:
        raise ConfigError(out, "cannot be a dataset folder", "choose another --out")
    return place.with_name(f"{place.name}.crawl")
