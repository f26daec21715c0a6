"""What is wrong with settings that can be read: values left as in the template, a command that cannot start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from edu_rag.errors import ConfigError
from harness.submission import FILE_NAME, Submission

TEMPLATE_SLUG = "template"
TEMPLATE: Mapping[str, str] = {
    "name": "My system",
    "team": "My team",
    "contact": "someone@example.org",
    "description": "What it does, in one or two sentences that let another team rebuild the idea.",
}
"""What submissions/template says, which nobody's system is called."""
PYTHONS = ("python", "python3")
_SCRIPTS = (".py", ".js", ".sh")


def _is_inside(folder: Path, word: str) -> bool:
    path = Path(os.path.normpath(folder / word))
    return path.is_relative_to(folder) and path.is_file()


def _program_fault(folder: Path, word: str) -> tuple[str, str] | None:
    """Why a command's first word starts nothing, and the remedy; a word with a slash is looked for in the folder."""
    found = shutil.which(folder / word) if "/" in word else shutil.which(word)
    if word in PYTHONS or found is not None:
        return None
    if not (folder / word).is_file():
        return f"{word!r} is no program in the folder or on PATH", "mend the name, or install it"
    if "/" in word:
        return f"{word!r} is not executable", f"chmod +x {word}"
    return f"{word!r} is in the folder, but not on PATH", f"write './{word}'"


def _command_faults(submission: Submission) -> Iterator[tuple[str, str]]:
    command, folder = submission.settings.command, submission.folder
    fault = _program_fault(folder, command[0]) if command else None
    if fault is not None:
        yield fault
    for word in command[1:]:
        if word.endswith(_SCRIPTS) and not word.startswith("-") and not _is_inside(folder, word):
            yield f"{word!r} is not in the folder", "put the script there, or mend its name"


def settings_faults(submission: Submission) -> list[ConfigError]:
    """Every value that is still the template's, and every word of the command that names nothing there."""
    path = submission.folder / FILE_NAME
    faults = [ConfigError(f"{path}: command", what, remedy) for what, remedy in _command_faults(submission)]
    if submission.slug == TEMPLATE_SLUG:
        return faults
    left = [name for name, value in TEMPLATE.items() if getattr(submission.settings, name) == value]
    return [*(ConfigError(f"{path}: {name}", "still the template's", "write your own") for name in left), *faults]
