"""Exports an encoder to ONNX: `python -P -m baselines.embed.export NAME [--to DIR]`, before any run.

Writes DIR/onnx/NAME/ (DIR: $EDU_RAG_MODELS): `fp32.onnx` and `int8.onnx` from tokens to unit vectors, with the
encoder's own pooling inside; `tokenizer.json`, which cuts and pads as the encoder does; `encoder.json` with hashes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from baselines.embed.back_ends import SETTINGS, TOKENISER, Settings, folder_of, load_sentence_transformer, vectors_of
from baselines.models import locate_encoder, models_folder, weights_in
from edu_rag.errors import ConfigError, EduRagError, MissingExtraError, SubmissionError
from edu_rag.files.manifest import file_sha256
from edu_rag.processes.safe_path import leave_out_current_folder
from edu_rag.progress import say

if TYPE_CHECKING:
    import torch

SAME = 0.9999
"""Cosine from which two vectors count as the same."""
_EXAMPLE = ["Plants make sugar.", "The tides of the ocean are caused mainly by the Moon."]
_OTHERS = ["", "Ice floats.", "word " * 1_000, "Rocks melt deep inside of the Earth, and rise as magma.", "H2O"]
"""More, fewer and longer texts than the model was traced with: anything fixed in the trace would show here."""


def _whole(model: Any, names: Sequence[str]) -> torch.nn.Module:
    """The encoder with its pooling as one module: tensors named `names` in, unit vectors out."""
    import torch

    class Whole(torch.nn.Module):  # type: ignore[misc] # mypy does not read PyTorch
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(model)

        def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
            features: dict[str, Any] = dict(zip(names, tensors, strict=True))
            for part in self.parts:
                features = part(features)
            return torch.nn.functional.normalize(features["sentence_embedding"], dim=1)

    return Whole().eval()


def _write_fp32(model: Any, target: Path) -> None:
    import torch

    coded = model.tokenizer(
        _EXAMPLE, padding=True, truncation=True, max_length=model.max_seq_length, return_tensors="pt"
    )
    names = [name for name in model.tokenizer.model_input_names if name in coded]
    axes = {name: {0: "texts", 1: "tokens"} for name in names}
    with warnings.catch_warnings():
        # Of tracing: that branches may be fixed, which `_check` looks at, and that a newer exporter exists.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _whole(model, names),
            tuple(coded[name] for name in names),
            str(target),
            input_names=names,
            output_names=["vectors"],
            dynamic_axes={**axes, "vectors": {0: "texts"}},
            dynamo=False,
        )


def _check(model: Any, folder: Path, name: str) -> int:
    """Return the length of the exported model's vectors, after comparing them with the encoder's.

    An encoder may do more than its layers (put a prompt before a text, say). Raises SubmissionError if the vectors
    differ.
    """
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    found = vectors_of(InferenceSession(folder / "fp32.onnx"), Tokenizer.from_file(str(folder / TOKENISER)), _OTHERS)
    wanted = model.encode(_OTHERS, normalize_embeddings=True, show_progress_bar=False)
    worst = float((found * wanted).sum(axis=1).min())
    if worst < SAME:
        what = f"its exported model gives other vectors (cosine {worst:.4f})"
        raise SubmissionError(f"encoder {name}", what, "use the back end torch")
    return int(found.shape[1])


def _write_int8(fp32: Path, target: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # One scale a channel: with one a matrix, a tenth less of the top 10 stays.
    quantize_dynamic(fp32, target, per_channel=True, weight_type=QuantType.QInt8)


def _write_tokeniser(model: Any, target: Path) -> None:
    tokeniser = model.tokenizer
    fast = tokeniser.backend_tokenizer
    fast.enable_truncation(int(model.max_seq_length))
    fast.enable_padding(pad_id=tokeniser.pad_token_id, pad_token=tokeniser.pad_token)
    fast.save(str(target))


def _write(model: Any, name: str, weights: Path | None, new: Path) -> Settings:
    """Write all files but the settings, which are returned."""
    try:
        _write_fp32(model, new / "fp32.onnx")
        _write_int8(new / "fp32.onnx", new / "int8.onnx")
        _write_tokeniser(model, new / TOKENISER)
        dimension = _check(model, new, name)
    except ImportError as error:
        raise MissingExtraError(
            "export to ONNX", f"{error.name} is not installed", "pip install 'edu-rag-bench[models,parts]'"
        ) from None
    return Settings(
        encoder=name,
        dimension=dimension,
        weights_sha256=None if weights is None else file_sha256(weights),
        files={path.name: file_sha256(path) for path in sorted(new.iterdir())},
    )


def export(name: str, models: Path) -> Path:
    """Export an encoder into a folder of models; returns its folder there.

    Raises MissingExtraError or SubmissionError with the remedy. An earlier export is replaced at the end.
    """
    where = locate_encoder(name)
    model = load_sentence_transformer(name, where, None)
    target = folder_of(name, models)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        settings = _write(model, name, weights_in(where), new)
        (new / SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
        shutil.rmtree(target, ignore_errors=True)
        new.replace(target)
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -P -m baselines.embed.export",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="encoder: a name, a folder or a hub id")
    parser.add_argument("--to", type=Path, metavar="DIR", help="folder of models (default: $EDU_RAG_MODELS)")
    asked = parser.parse_args(arguments)
    try:
        models = asked.to if asked.to is not None else models_folder()
        if models is None:
            raise ConfigError("--to", "there is no folder of models", "name one, or set EDU_RAG_MODELS")
        sys.stdout.write(f"{export(asked.name, models)}\n")
    except EduRagError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    leave_out_current_folder()
    sys.exit(main())
