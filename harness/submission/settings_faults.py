"""Find faults of readable settings: values left as in the template, a command that cannot start."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from edu_rag.errors import ConfigError
from harness.submission.folder import FILE_NAME, Submission, setting_fault
from harness.submission.slugs import TEMPLATE_SLUG

TEMPLATE: Mapping[str, str] = {
    "name": "My system",
    "team": "My team",
    "contact": "someone@example.org",
    "description": "What it does, in one or two sentences that let another team rebuild the idea.",
}
"""Values of submissions/template that no real system has."""
PYTHONS = ("python", "python3")
_SCRIPTS = (".py", ".js", ".sh")
MAX_FIRST_LINE = 4_096
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}\Z")


def is_login(account: str) -> bool:
    """Whether a text can be a login on the code host: letters, digits and single '-' between them, 39 at most."""
    return _LOGIN.match(account) is not None


def _is_inside(folder: Path, word: str) -> bool:
    path = Path(os.path.normpath(folder / word))
    return path.is_relative_to(folder) and path.is_file()


def _program_fault(folder: Path, word: str, *, here: bool) -> tuple[str, str] | None:
    """Why a command's first word starts nothing, and the remedy; a word with a slash is looked for in the folder."""
    found = shutil.which(folder / word) if "/" in word else shutil.which(word)
    if word in PYTHONS:
        return None
    if found is not None:
        return _own_word_fault(folder, word)
    if not (folder / word).is_file():
        if not here and "/" not in word:
            return None
        return f"{word!r} is not a program in the folder or on PATH", "fix the name, or install it"
    if "/" in word:
        return f"{word!r} is not executable", f"chmod +x {word}"
    return f"{word!r} is in the folder, but not on PATH", f"write './{word}'"


def _own_word_fault(folder: Path, word: str) -> tuple[str, str] | None:
    """Why a word that names a file of the folder does so on this machine alone, and the remedy."""
    if not _is_inside(folder, word):
        return None
    if Path(word).is_absolute():
        return f"{word!r} is a path of this machine", f"write './{os.path.relpath(word, folder)}'"
    with (folder / word).open("rb") as stream:
        first = stream.readline(MAX_FIRST_LINE)
    if first.startswith(b"#!") and first.endswith(b"\r\n"):
        # The kernel looks for a program whose name ends in a carriage return, and says that the script is not there.
        return f"{word!r} has the line ends of Windows, so that it does not start", "save it with those of Unix"
    return None


def _command_faults(submission: Submission, *, here: bool) -> Iterator[tuple[str, str]]:
    command, folder = submission.settings.command, submission.folder
    fault = _program_fault(folder, command[0], here=here) if command else None
    if fault is not None:
        yield fault
    for word in command[1:]:
        if word.endswith(_SCRIPTS) and not word.startswith("-") and not _is_inside(folder, word):
            yield f"{word!r} is not in the folder", "put the script there, or fix its name"
        elif Path(word).is_absolute() and _is_inside(folder, word):
            yield f"{word!r} is a path of this machine", f"write {os.path.relpath(word, folder)!r}"


def _account_faults(accounts: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for account in accounts:
        if not is_login(account):
            login = account.removeprefix("@").rpartition("/")[2]
            remedy = f"write {login}" if is_login(login) else "give the user name alone, such as my-login"
            yield f"{account[:80]!r} is not a login", remedy
        elif account.lower() in seen:
            yield f"{account!r} is repeated", "name each once"
        seen.add(account.lower())


def settings_faults(submission: Submission, *, here: bool = True) -> list[ConfigError]:
    """Every value left as in the template, every word of the command that names a missing file, and every invalid
    account.

    If the system is not to start `here`, a program that only this machine lacks is not a fault.
    """
    path, said = submission.folder / FILE_NAME, submission.settings
    faults = [setting_fault(path, "command", what, remedy) for what, remedy in _command_faults(submission, here=here)]
    faults += [setting_fault(path, "accounts", what, remedy) for what, remedy in _account_faults(said.accounts)]
    if said.withdrawn and not said.withdrawn.strip():
        faults.append(setting_fault(path, "withdrawn", "is blank", "say why it is withdrawn, or remove the line"))
    if submission.slug == TEMPLATE_SLUG:
        return faults
    left = [name for name, value in TEMPLATE.items() if getattr(submission.settings, name) == value]
    return [*(setting_fault(path, name, "still the template's", "write your own") for name in left), *faults]
