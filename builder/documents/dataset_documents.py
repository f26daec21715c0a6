"""The files of a dataset folder that are not tables: card, Croissant metadata, plots; made from tables and manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from builder.documents.croissant import croissant
from builder.documents.dataset_card import VectorsOnCard, dataset_card
from builder.documents.dataset_plots import dataset_plots
from builder.documents.question_terms import EXTRA_COLUMNS, licence_of, terms_in
from builder.documents.stats import dataset_stats
from edu_rag.files.dataset_writer import Documents
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import FileEntry, Manifest, check_tables, file_sha256, read_manifest, write_manifest
from edu_rag.files.sentence_vectors import FACTS_FILE, NUMBERS_FILE, read_facts
from edu_rag.files.table_rows import COLUMNS_IF_FILLED
from edu_rag.progress import say

CROISSANT_FILE = "croissant.json"


def vectors_in(folder: Path, files: Mapping[str, FileEntry]) -> VectorsOnCard | None:
    """What the card says of the sentence vectors in a folder; None if it has none. Raises DataError."""
    entry = files.get(NUMBERS_FILE)
    if entry is None or not (folder / FACTS_FILE).is_file():
        return None
    return VectorsOnCard(read_facts(folder / FACTS_FILE), entry.rows or 0)


def dataset_documents(name: str, version: str, created_at: str, sources: Mapping[str, Any]) -> Documents:
    """Writes README.md, croissant.json and plots/ of a dataset whose tables and vectors are in a folder."""
    terms = terms_in(sources)
    without = {} if sources.get(EXTRA_COLUMNS) else COLUMNS_IF_FILLED

    def documents(folder: Path, files: Mapping[str, FileEntry]) -> Mapping[str, bytes]:
        tables = {file: entry for file, entry in files.items() if file.endswith(".parquet")}
        stats = dataset_stats(folder, tables)
        plots = dataset_plots(stats)
        card = dataset_card(name, version, sources, tables, stats, sorted(plots), vectors_in(folder, files))
        licence = licence_of(terms, has_tqa=stats.n_tqa > 0)
        return {
            "README.md": card.encode("utf-8"),
            CROISSANT_FILE: croissant(name, version, created_at, tables, licence=licence, without=without),
            **plots,
        }

    return documents


def _other_files(folder: Path, before: Manifest, documents: Mapping[str, bytes]) -> dict[str, FileEntry]:
    """The manifest's entries of files that are not made here, as they are now; old plots and lost files are
    left out.
    """
    files = {}
    for name, entry in before.files.items():
        path = folder / name
        if name.endswith(".parquet"):
            files[name] = entry
        elif name in documents or name.startswith("plots/"):
            continue
        elif path.is_file() and not path.is_symlink():
            files[name] = replace(entry, sha256=file_sha256(path))
        else:
            say(f"{path} is missing and cannot be made again: the manifest no longer lists it")
    return files


def rewrite_documents(folder: Path) -> Manifest:
    """Write card, Croissant metadata and plots of a dataset folder again; tables, version and content hash do not
    change.

    Raises DataError if a table is not what the manifest says. Other files may be missing or changed: those made
    here are written again, and the others are listed as they are, or left out if they are lost.
    """
    before = read_manifest(folder)
    check_tables(folder, before)
    documents = dataset_documents(before.name, before.version, before.created_at, before.sources)(folder, before.files)
    files = _other_files(folder, before, documents)
    for name, body in documents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_file(folder / name, body)
        files[name] = FileEntry(sha256=file_sha256(folder / name))
    manifest = replace(before, files=dict(sorted(files.items())))
    write_manifest(folder, manifest)
    for name in {name for name in before.files if name.startswith("plots/")} - set(files):
        (folder / name).unlink(missing_ok=True)
    return manifest
