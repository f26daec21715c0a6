"""A withdrawal of a submission: one line added to its settings, and every other byte as it was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from edu_rag.errors import SubmissionError
from harness.submission.file_tree import place, start_of
from harness.submission.plain_files import MAX_SETTINGS_BYTES
from harness.submission.settings_lines import without_withdrawal

WITHDRAW = 'withdraw it by one line above [limits]: withdrawn = "the reason"'
_ALONE = f"change nothing else there; {WITHDRAW}"


def layout_fault(base: Path, head: Path, name: str) -> SubmissionError | None:
    """Find a change in a submission's settings file that a reader of its values cannot see; None if there is none.

    Comments, layout and permissions are the team's words on the scored system: only the line that withdraws may be new.
    """
    old, new = (start_of(place(root, name), MAX_SETTINGS_BYTES + 1) for root in (base, head))
    if old is None or new is None:
        return SubmissionError(name, "is not a readable file", "put the file there")
    was, now = (os.lstat(place(root, name)).st_mode & stat.S_IXUSR for root in (base, head))
    if was != now:
        what = "is made executable" if now else "is no longer executable"
        return SubmissionError(name, what, _ALONE if old != new else f"leave it as it was; {WITHDRAW}")
    if without_withdrawal(old).rstrip(b"\r\n") != without_withdrawal(new).rstrip(b"\r\n"):
        return SubmissionError(name, "its comments or its layout are changed", _ALONE)
    return None
