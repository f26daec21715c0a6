"""The manifest of a dataset folder: its content, its sources, and the hashes that prove it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.errors import DataError, RecordError
from edu_rag.files.jsonl import read_json, write_file
from edu_rag.files.typed import first_line, to_plain, to_record
from edu_rag.names import Release, Version, require_dataset_name

FILE_NAME = "manifest.json"
SEAL = "seal_sha256"
"""The last field of the file: SHA-256 over all others as compact JSON, in their order."""
VECTORS = "vectors"
"""The folder of a dataset's sentence vectors, large files that few commands use: they are checked where they are used
(check_vector_files), and may be missing.
"""
_AGAIN = "download or build the dataset again"
_FILE = re.compile(r"(?:[a-z]+/)?[A-Za-z0-9][A-Za-z0-9._-]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One file of the dataset: SHA-256 of its bytes, and its number of rows (None if it is not a table)."""

    sha256: str
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The contents of a dataset folder. Invariants: name, version and file names are plain; same inputs, same bytes.

    `content_sha256` is over the rows, not over Parquet bytes, so that it survives another Parquet writer: it is the
    hash of `contents`, the hash of each table's rows by `config/split`. `published` has the hash of the rows that a
    folder with hidden splits holds in place of these: pages whose flags would tell that gold.
    """

    name: str
    version: str
    created_at: str
    builder: str
    config_sha256: str
    content_sha256: str
    contents: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, FileEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_dataset_name(self.name)
        Version.parse(self.version)
        for file in self.files:
            if not _FILE.match(file):
                raise RecordError("files", f"{file!r} is not a plain file name")

    @property
    def id(self) -> str:
        """The id that results name: `name@version#hash8`."""
        return f"{self.release}#{self.content_sha256[:8]}"

    @property
    def release(self) -> Release:
        """Name and version."""
        return Release(self.name, Version.parse(self.version))

    def shown_sha256(self, split: str) -> str:
        """SHA-256 of what systems are shown of a split: questions, hits and pages, no labels. Empty if unknown."""
        shown = [self.contents.get(f"{config}/{split}", "") for config in ("questions", "hits", "pages")]
        return hashlib.sha256("\n".join(shown).encode()).hexdigest() if shown[0] else ""

    @property
    def hidden_splits(self) -> frozenset[str]:
        """The splits whose gold is published nowhere, as `sources` names them."""
        named = self.sources.get("hidden_splits", ())
        return frozenset(str(split) for split in (named if isinstance(named, list | tuple) else ()))


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def manifest_bytes(manifest: Manifest) -> bytes:
    """The only file content for a manifest's values: indented JSON, its seal at the end."""
    values = to_plain(manifest)
    sealed = {**values, SEAL: hashlib.sha256(msgspec.json.encode(values)).hexdigest()}
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def manifest_sha256(manifest: Manifest) -> str:
    """SHA-256 of the manifest's file, which fixes every byte of the dataset; `board.toml` pins it."""
    return hashlib.sha256(manifest_bytes(manifest)).hexdigest()


def read_suspect(folder: Path) -> tuple[Manifest, list[DataError]]:
    """The manifest of a dataset folder, and the faults of its seal or its bytes.

    Raises DataError when there is none, it breaks an invariant, or it was never sealed.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        what = f"no {FILE_NAME} here, so this is no dataset folder"
        raise DataError(folder, what, "give the folder that `edu-rag build` wrote")
    values = read_json(path)
    if isinstance(values, dict) and SEAL not in values:
        what = f"has no seal ({SEAL}): it was written by an older edu-rag, or changed"
        raise DataError(path, what, "make the dataset again with `edu-rag replay`")
    seal = values.pop(SEAL) if isinstance(values, dict) else None
    try:
        manifest = to_record(values, Manifest)
        return manifest, _seal_faults(path, values, seal, manifest_bytes(manifest))
    except RecordError as error:
        raise DataError(path, f"{error.where}: {first_line(error)}") from None


def _seal_faults(path: Path, values: Any, seal: Any, wanted: bytes) -> list[DataError]:
    if seal != hashlib.sha256(msgspec.json.encode(values)).hexdigest():
        return [DataError(path, f"its seal ({SEAL}) is not the hash of its other fields: it was changed", _AGAIN)]
    if path.read_bytes() != wanted:
        return [DataError(path, "its bytes are not those that edu-rag writes for these fields", _AGAIN)]
    return []


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a dataset folder. Raises DataError when there is none or it was changed after sealing."""
    manifest, faults = read_suspect(folder)
    for fault in faults:
        raise fault
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Seal and write the manifest of a dataset folder."""
    write_file(folder / FILE_NAME, manifest_bytes(manifest))


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise DataError for the first listed file that is missing or whose bytes differ from the manifest's hash.

    Sentence vectors are left out: see check_vector_files.
    """
    of_vectors = vector_names(manifest)
    _check_entries(folder, {name: entry for name, entry in manifest.files.items() if name not in of_vectors})


def vector_names(manifest: Manifest) -> list[str]:
    """The files of sentence vectors that a manifest lists."""
    return [name for name in manifest.files if name.startswith(f"{VECTORS}/")]


def vectors_sha256(manifest: Manifest) -> str:
    """SHA-256 over the hashes of the files of sentence vectors: the dataset's id does not cover them."""
    hashes = [manifest.files[name].sha256 for name in sorted(vector_names(manifest))]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def check_vector_files(folder: Path, manifest: Manifest) -> None:
    """As check_files, for the files of sentence vectors only."""
    _check_entries(folder, {name: manifest.files[name] for name in vector_names(manifest)})


def check_tables(folder: Path, manifest: Manifest) -> None:
    """As check_files, for the tables only: files made from them may be missing or changed."""
    _check_entries(folder, {name: entry for name, entry in manifest.files.items() if name.endswith(".parquet")})


def _check_entries(folder: Path, files: Mapping[str, FileEntry]) -> None:
    for name, entry in files.items():
        path = folder / name
        if not path.is_file() or path.is_symlink():
            raise DataError(path, "is listed in the manifest but missing", _AGAIN)
        if file_sha256(path) != entry.sha256:
            raise DataError(path, "its bytes differ from the manifest's hash", _AGAIN)
