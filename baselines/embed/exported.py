"""An encoder as `python -P -m baselines.embed.export` left it: a folder with ONNX models, tokeniser and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from baselines.models import models_folder
from edu_rag.errors import DataError, SubmissionError
from edu_rag.files.manifest import file_sha256

Precision = Literal["fp32", "int8"]
PRECISIONS: Mapping[str, Precision] = {"onnx": "fp32", "onnx-int8": "int8"}
"""Back end -> precision of its weights."""
SETTINGS, TOKENISER = "encoder.json", "tokenizer.json"
REMEDY = "run python -P -m baselines.embed.export {} before the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The content of encoder.json: vectors have `dimension` numbers; hashes are SHA-256 of files by name.

    `weights_sha256` is that of the weights it was made of, where these were a file.
    """

    encoder: str
    dimension: int
    weights_sha256: str | None
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Such a folder, whose files are the ones that were exported."""

    folder: Path
    settings: Settings

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.settings.dimension

    @property
    def tokeniser(self) -> Path:
        """The tokeniser's file; it cuts and pads as the encoder's own does."""
        return self.folder / TOKENISER

    def model(self, precision: Precision) -> Path:
        """The model's file."""
        return self.folder / f"{precision}.onnx"

    def fingerprint(self, precision: Precision) -> bytes:
        """A hash over the model's and the tokeniser's files, after checking them. Raises SubmissionError."""
        digest = hashlib.sha256(b"onnx")
        for path in (self.model(precision), self.tokeniser):
            found = file_sha256(path) if path.is_file() else "missing"
            if found != self.settings.files.get(path.name):
                raise SubmissionError(path, f"SHA-256 is {found}: not what was exported", _again(self.settings.encoder))
            digest.update(found.encode())
        return digest.digest()


def _again(name: str) -> str:
    return REMEDY.format(name)


def folder_of(name: str, models: Path) -> Path:
    """The place of an encoder's export among models: the last part of its name."""
    return models / "onnx" / Path(name).name


def read_exported(folder: Path) -> Exported:
    """The export in a folder. Raises DataError if its settings cannot be read."""
    path = folder / SETTINGS
    try:
        return Exported(folder=folder, settings=msgspec.json.decode(path.read_bytes(), type=Settings))
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(path, f"cannot be read ({error})", _again(folder.name)) from None


def find_exported(name: str, weights: Path | None) -> Exported:
    """An encoder's export in $EDU_RAG_MODELS, made of these very weights. Raises SubmissionError with the remedy."""
    models = models_folder()
    folder = None if models is None else folder_of(name, models)
    if folder is None or not (folder / SETTINGS).is_file():
        raise SubmissionError(f"encoder {name}", "was not exported to ONNX", _again(name))
    found = read_exported(folder)
    if weights is not None and file_sha256(weights) != found.settings.weights_sha256:
        raise SubmissionError(folder, f"was not made of {weights}", _again(name))
    return found
