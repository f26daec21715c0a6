"""What comes with the package: the mini benchmark, and the submissions that the demo runs and `new` starts from."""

from __future__ import annotations

from pathlib import Path

from edu_rag.errors import ConfigError

MINI = Path(__file__).resolve().parent / "mini"


def submissions_folder() -> Path:
    """Where the bundled submissions are: in the wheel beside the mini benchmark, in a checkout at its top."""
    for folder in (MINI / "submissions", MINI.parents[1] / "submissions"):
        if folder.is_dir():
            return folder
    raise ConfigError(MINI, "the bundled submissions are missing", "install edu-rag-bench again")
