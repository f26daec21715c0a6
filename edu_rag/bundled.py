"""Files that come with the package: the mini benchmark, and the submissions that the demo runs and `new` copies."""

from __future__ import annotations

from pathlib import Path

from edu_rag.errors import ConfigError

MINI = Path(__file__).resolve().parent / "mini"


def submissions_folder() -> Path:
    """The folder of the bundled submissions: next to the mini benchmark in a wheel, at the top of a checkout."""
    for folder in (MINI / "submissions", MINI.parents[1] / "submissions"):
        if folder.is_dir():
            return folder
    raise ConfigError(MINI, "the bundled submissions are missing", "install edu-rag-bench again")
