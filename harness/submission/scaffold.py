"""A new submission's folder, made from the template that comes with the package."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from edu_rag.bundled import submissions_folder
from edu_rag.errors import ConfigError, EduRagError, FaultsError, SubmissionError
from edu_rag.files.typed import faults_and_record
from harness.submission.folder import FILE_NAME, SubmissionFile
from harness.submission.settings_faults import is_login
from harness.submission.slugs import TEMPLATE_SLUG, slug_fault

_HEAD = """\
# Fill in name, team, contact and description. Change the other lines where they do not fit your system: the comment
# behind each explains it. Then run `edu-rag check` on this folder. docs/submit.md has the rest.
"""
_COLUMN = 42
"""The column at which the comments begin."""
_NO_COMMAND = """\
# No command: this hands in predictions only. Put them into predictions/<dataset>-<version>/<split>.jsonl, one line a
# question: {"question_id": "…", "answer": "b"}
"""


ADDED_SETTINGS = "settings.toml"
"""The file whose text such a folder adds to the end of submission.toml."""
REQUIREMENTS = "requirements.in"
"""The packages that such a system needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The facts of a new submission; an empty one keeps the template's text, which `check` reports.

    `template` is one of TEMPLATES, or empty for a plain system in Python.
    """

    name: str = ""
    team: str = ""
    accounts: Sequence[str] = ()
    predictions_only: bool = False
    template: str = ""

    @property
    def values(self) -> Mapping[str, object]:
        """The settings that were wished for."""
        given = {"name": self.name, "team": self.team, "accounts": tuple(self.accounts)}
        return {key: value for key, value in given.items() if value}


def taken_slugs(into: Path) -> list[str]:
    """The slugs that there are: of the submissions next to the new one, and of those that come with the package."""
    folders = [folder for folder in (into, submissions_folder()) if folder.is_dir()]
    return sorted({path.parent.name for folder in folders for path in folder.glob(f"*/{FILE_NAME}")})


def _wish_faults(wishes: Wishes) -> list[EduRagError]:
    """Faults of the wished settings, under the names of their options."""
    faults, _ = faults_and_record({"name": "x", "team": "x", **wishes.values}, SubmissionFile)
    wrong: list[EduRagError] = [ConfigError(f"--{fault.where}", fault.what, fault.remedy) for fault in faults]
    bad = [account for account in wishes.accounts if not is_login(account)]
    return wrong + [ConfigError("--account", f"{account[:80]!r} is not a login", "give a user name") for account in bad]


def _value(value: object) -> str:
    """A TOML value; JSON's strings are TOML's, but for the one character that cannot be printed anyway."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _line(key: str, value: object, found: re.Match[str]) -> str:
    said = f"{key} = {_value(value)}"
    return f"{said.ljust(_COLUMN - 1)} {(found[1] or '').strip()}".rstrip()


def _filled(template: str, wishes: Wishes) -> str:
    """The template's text with the given values; the comment of each line stays."""
    text = _HEAD + re.sub(r"\A(?:#.*\n)+", "", template)
    for key, value in wishes.values.items():
        line = re.compile(rf'^{key} = (?:"[^"\n]*"|\[[^\]\n]*\])( *#.*)?$', re.MULTILINE)
        text = line.sub(partial(_line, key, value), text, count=1)
    if not wishes.predictions_only:
        return text
    text = re.sub(r"^command = .*\n", _NO_COMMAND, text, flags=re.MULTILINE)
    return text.partition("\n[limits]")[0]


def _write_system(template: Path, folder: Path) -> None:
    """Copy a template's own files, and add its settings to those of the folder."""
    for path in sorted(template.iterdir()):
        if path.is_file() and path.name not in (FILE_NAME, ADDED_SETTINGS):
            (folder / path.name).write_bytes(path.read_bytes())
    added = template / ADDED_SETTINGS
    if added.is_file():
        with (folder / FILE_NAME).open("a", encoding="utf-8") as stream:
            stream.write(added.read_text(encoding="utf-8"))


def scaffold(slug: str, into: Path, wishes: Wishes) -> Path:
    """Make the folder `into/slug` from the template, whole or not at all; return it.

    Raises SubmissionError or FaultsError for a slug that cannot be, is taken, or looks like another, and for settings
    that cannot be.
    """
    folder = into / slug
    fault = slug_fault(slug, taken_slugs(into))
    if fault is None and (folder.exists() or folder.is_symlink()):
        fault = SubmissionError(folder, "exists already", "choose another name, or remove it")
    around = next((place for place in folder.absolute().parents if (place / FILE_NAME).is_file()), None)
    if around is not None:
        fault = SubmissionError(folder, f"would be inside the submission {around.name}", "go to the top of the clone")
    faults = ([] if fault is None else [fault]) + _wish_faults(wishes)
    if faults:
        raise FaultsError(faults)
    template = submissions_folder() / TEMPLATE_SLUG
    text = _filled((template / FILE_NAME).read_text(encoding="utf-8"), wishes)
    unfinished = into / f".{slug}.{os.getpid()}.tmp"
    unfinished.mkdir(parents=True)
    try:
        (unfinished / FILE_NAME).write_text(text, encoding="utf-8")
        if not wishes.predictions_only:
            _write_system(template / wishes.template, unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder
