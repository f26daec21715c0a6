"""CHANGES.md of a dataset folder: one section a version, the newest first, listed in the manifest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from builder.dataset.diff import WHY, DatasetDiff, TableDiff
from edu_rag.errors import DataError
from edu_rag.files import manifest as manifests
from edu_rag.files.card_markdown import outside
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import FileEntry
from edu_rag.files.table_rows import REVEALS_GOLD

FILE_NAME = "CHANGES.md"
MAX_BYTES = 5_000_000
MAX_SHOWN = 160
TAKEN_DOWN = "- **taken down**"
"""How the line of a take-down begins."""
_HEAD = "# Changes\n\nMajor: questions or gold changed. Minor: pages, evidence or labels. Patch: metadata alone.\n"
_SECTION = re.compile(r"^## ", re.MULTILINE)


def printable(text: str, limit: int = MAX_SHOWN) -> str:
    """A string from outside on one line of a terminal: no control characters, no more than `limit` characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _table_line(config: str, table: TableDiff) -> str:
    counts = [(table.added, "added"), (table.removed, "removed"), (table.changed, "changed")]
    line = f"- **{config}**: " + ", ".join(f"{n:,} {word}" for n, word in counts if n)
    if table.fields:
        line += " (" + ", ".join(f"{outside(name)} {n:,}" for name, n in sorted(table.fields.items())) + ")"
    return line


def change_lines(found: DatasetDiff) -> list[str]:
    """The changes as Markdown list items; no part of a page or a URL in them is markup, and nothing reveals a gold."""
    lines = []
    for config, table in found.tables.items():
        if not table.total:
            continue
        lines.append(_table_line(config, table))
        # The file is published, and an example of a hidden split would reveal which page holds the answer.
        if config not in REVEALS_GOLD:
            lines += [f"  - {what}: {outside(name)}" for what, names in table.examples.items() for name in names]
    if found.sentences_added or found.sentences_removed:
        lines.append(f"- **sentences**: {found.sentences_added:,} added, {found.sentences_removed:,} removed")
    if found.outcomes:
        moves = ", ".join(f"{old} → {new} {n:,}" for (old, new), n in sorted(found.outcomes.items()))
        lines.append(f"- **fates of hits**: {outside(moves)}")
    if found.metadata:
        lines.append(f"- **metadata**: {', '.join(map(outside, found.metadata))}")
    return lines or ["- nothing changed"]


def summary_of(found: DatasetDiff) -> list[str]:
    """The section's lines for a diff: the version compared with, the reason for this step, and the changes."""
    return [f"Against `{found.old_id}`: {WHY[found.step]}.", "", *change_lines(found)]


def diff_lines(found: DatasetDiff) -> list[str]:
    """The changes for a terminal, one a line, tables without a change left out."""
    lines = [f"{found.old_id} -> {found.new_id}: {WHY[found.step]}"]
    for config, table in found.tables.items():
        if not table.total:
            continue
        lines.append(f"{config:<12} {table.added:>8,} added {table.removed:>8,} removed {table.changed:>8,} changed")
        if table.fields:
            lines.append("    fields: " + ", ".join(f"{name} {n:,}" for name, n in sorted(table.fields.items())))
        for what, names in table.examples.items():
            lines += [f"    {what}: {printable(name)}" for name in names]
    if found.sentences_added or found.sentences_removed:
        lines.append(f"{'sentences':<12} {found.sentences_added:>8,} added {found.sentences_removed:>8,} removed")
    lines += [f"    hits {old} -> {new}: {n:,}" for (old, new), n in sorted(found.outcomes.items())]
    if found.metadata:
        lines.append(f"metadata     {', '.join(map(printable, found.metadata))}")
    if found.step != "none":
        lines.append(f"demands      a {found.step} step")
    return lines


def _sections(folder: Path) -> list[str]:
    """The sections of a folder's CHANGES.md, each with its heading; none where there is no file."""
    path = folder / FILE_NAME
    if not path.is_file():
        return []
    if path.stat().st_size > MAX_BYTES:
        raise DataError(path, f"is over {MAX_BYTES:,} bytes", "shorten it")
    text = path.read_text(encoding="utf-8", errors="replace")
    starts = [found.start() for found in _SECTION.finditer(text)]
    return [text[start:end].rstrip() + "\n" for start, end in pairwise([*starts, len(text)])]


def _is_of(version: str, section: str) -> bool:
    return section.startswith(f"## {version} ")


def _own_sections(folder: Path, history: Path, version: str) -> tuple[list[str], list[str]]:
    """Sections that only the folder's own file has: versions that the history lacks, and take-downs of this version.

    Sections are matched by the version in their heading: two files may describe one version in different words.
    """
    in_history = {_version_in(text) for text in _sections(history)}
    sections = _sections(folder)
    own = [text for text in sections if not _is_of(version, text) and _version_in(text) not in in_history]
    lines = [line for text in sections if _is_of(version, text) for line in text.splitlines()]
    return own, [line for line in lines if line.startswith(TAKEN_DOWN)]


def _version_in(section: str) -> str:
    return section.split(maxsplit=2)[1] if len(section.split(maxsplit=2)) > 1 else ""


def changes_file(version: str, created_at: str, history: Path, lines: Sequence[str]) -> bytes:
    """CHANGES.md with a section for this version on top of those in the history's folder, of other versions."""
    older = [text for text in _sections(history) if not _is_of(version, text)]
    return _with_section(version, created_at, lines, older)


def _with_section(version: str, created_at: str, lines: Sequence[str], older: Sequence[str]) -> bytes:
    section = "\n".join([f"## {version} ({created_at[:10]})", "", *lines]) + "\n"
    return "\n".join([_HEAD, section, *older]).encode("utf-8")


def write_changes(folder: Path, history: Path, lines: Sequence[str]) -> None:
    """Put a section for the folder's version on top of the history's, and list the file in the folder's manifest.

    Lines that only the folder's own file has are kept: no other file has a take-down's line and reason. The content
    hash stays: it is over the tables' rows. Writing again replaces the lines that it wrote.
    """
    manifest = manifests.read_manifest(folder)
    own, mine = _own_sections(folder, history, manifest.version)
    older = [text for text in _sections(history) if not _is_of(manifest.version, text)]
    body = _with_section(manifest.version, manifest.created_at, [*lines, *mine], [*own, *older])
    write_file(folder / FILE_NAME, body)
    entry = FileEntry(sha256=manifests.file_sha256(folder / FILE_NAME))
    files = dict(sorted({**manifest.files, FILE_NAME: entry}.items()))
    manifests.write_manifest(folder, replace(manifest, files=files))
