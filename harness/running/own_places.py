"""Check the places that a run writes to: in a stranger's folder, a link may lead to one of our files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from edu_rag.errors import SubmissionError


def require_own_places(folder: Path, paths: Iterable[Path]) -> None:
    """Raise SubmissionError if one of these paths is a link or anything but a plain file, or is behind a link.

    Looked at are the parts below `folder`; those above it are the caller's own.
    """
    for path in paths:
        below = [part for part in path.parents if folder in part.parents]
        odd = next((part for part in below if part.is_symlink() or (part.exists() and not part.is_dir())), None)
        if odd is None and os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            odd = path
        if odd is not None:
            what = "is not a plain file or folder, and the run would write there"
            raise SubmissionError(odd, what, "remove it: a link could lead to any file of yours")
