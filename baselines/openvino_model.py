"""A GGUF model through OpenVINO in this process: in bfloat16 twice as fast as llama.cpp, where the processor has it.

OpenVINO reads the file itself, in ten seconds. The weights are those of the file, and the activations have the
precision that is asked for; keys and values have 16 bits. In bfloat16 answers may differ from one processor to another:
a system names the back end that it uses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baselines.gguf_file import GgufFile
from baselines.gguf_language import GgufLanguageModel, Tree, has_known_words, missing, n_threads
from baselines.models import Precision, locate
from edu_rag.errors import SubmissionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

TOKENS_AT_ONCE = 512
"""Tokens that are read at once: their logits take 0.6 MB each where all of them are wanted."""
LENGTHS = 32
"""Tokens that are read at once are filled up to a multiple of this: OpenVINO keeps about a megabyte for each length."""
_REMEDY = 'set back_end = "llama.cpp" or "transformers"'
_INPUTS = {"inp_tokens", "inp_pos", "inp_out_ids", "inp_kv_idx", "self_kq_mask", "token_len_per_seq"}
_CACHE = "cache_"
"""How the names of the inputs begin that hold the keys and values of tokens that were read before."""


def _append_to_caches(model: Any) -> Any:
    """The network with caches that grow: in OpenVINO 2026.4 writing into them fails unless they become states.

    Its outputs are the logits and, in the order of the inputs, the caches.
    """
    import openvino
    from openvino import opset13 as operations

    grown: dict[str, Any] = {}
    for write in model.get_ops():
        if write.get_type_name() == "ScatterUpdate" and write.get_friendly_name().startswith("SetRows_"):
            cache, rows = write.input_value(0), write.input_value(2).get_node().input_value(0)
            longer = operations.concat([cache, rows], 1)
            for reader in write.output(0).get_target_inputs():
                reader.replace_source_output(longer.output(0))
            grown[cache.get_node().get_friendly_name()] = longer
    inputs = model.get_parameters()
    caches = [one.get_friendly_name() for one in inputs if one.get_friendly_name().startswith(_CACHE)]
    return openvino.Model([model.get_results()[0], *(grown[name] for name in caches)], inputs)


def _network(path: Path, threads: int, precision: Precision) -> Any:
    """The compiled network of a GGUF file. Raises SubmissionError or MissingExtraError."""
    # Else zero points of 4-bit weights are rounded to integers: a quarter faster, with five times the error.
    os.environ["OV_GGUF_Q4_K_ZP_F16"] = "1"
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type] # else the import reports itself to Intel
    try:
        import openvino
        from openvino import frontend
    except ImportError as error:
        raise missing(error, "openvino") from None
    failures = (
        frontend.GeneralFailure,
        frontend.InitializationFailure,
        frontend.NotImplementedFailure,
        frontend.OpConversionFailure,
        frontend.OpValidationFailure,
    )
    core = openvino.Core()
    has_bfloat16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_HYPER_THREADING": True,  # else it may take fewer threads than it was given
        "ENABLE_CPU_PINNING": False,  # several systems may run on this machine
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bfloat16" and has_bfloat16 else "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,  # no activations in 8 bits
    }
    try:
        reader = frontend.FrontEndManager().load_by_framework("gguf")
        model = reader.convert(reader.load(str(path)))
        others = {one.get_friendly_name() for one in model.get_parameters()} - _INPUTS
        unknown = sorted(name for name in others if not name.startswith(_CACHE))
        if unknown:
            raise SubmissionError(path, f"its network has inputs that we do not know ({', '.join(unknown)})", _REMEDY)
        return core.compile_model(_append_to_caches(model), "CPU", settings)
    except (RuntimeError, KeyError, IndexError, *failures) as error:
        said = str(error).strip().splitlines()[-1]
        raise SubmissionError(path, f"OpenVINO cannot load it ({said})", f"give a whole file, or {_REMEDY}") from None


class OpenVinoModel(GgufLanguageModel):
    """A GGUF file's model, computed by OpenVINO on the CPU; threads: EDU_RAG_THREADS, or all cores.

    `precision` is that of the activations; a processor without bfloat16 computes in float32.
    """

    def __init__(self, name: str, *, threads: int | None = None, precision: Precision = "float32") -> None:
        path = locate(name)
        if not isinstance(path, Path) or path.is_dir():
            raise SubmissionError(f"model {name}", "is not a GGUF file", "OpenVINO reads GGUF files only")
        file = GgufFile(path)
        if not has_known_words(file):
            kind = "/".join(str(file.settings.get(f"tokenizer.ggml.{part}")) for part in ("model", "pre"))
            raise SubmissionError(path, f"its tokens are of a kind that we do not make ({kind})", _REMEDY)
        super().__init__(file)
        self.network = _network(path, n_threads(threads), precision)
        shapes = {one.any_name: one.partial_shape for one in self.network.inputs}
        self._caches = {
            name: (1, 0, shape[2].get_length(), shape[3].get_length())
            for name, shape in shapes.items()
            if name.startswith(_CACHE)
        }
        self._inputs = shapes.keys()
        self._request = self.network.create_infer_request()

    def _last_logprobs(self, tree: Tree, n: int, past: list[Any]) -> Iterator[Array]:
        import numpy as np

        n_past = tree.may_see.shape[1] - len(tree.ids)
        first = len(tree.ids) - n
        for start in range(0, len(tree.ids), TOKENS_AT_ONCE):
            end = min(start + TOKENS_AT_ONCE, len(tree.ids))
            wanted = range(max(first, start), end)
            logits, past[:] = self._read(tree, slice(start, end), n_past + end, wanted or range(end - 1, end), past)
            for row in logits[: len(wanted)]:
                best = row.max()
                yield row - best - np.float32(np.log(np.exp(row - best).sum(dtype=np.float64)))

    def _read(self, tree: Tree, some: slice, n_seen: int, wanted: range, past: list[Any]) -> tuple[Array, list[Any]]:
        """The logits after the wanted tokens, of a part of a tree that is read after the parts before it."""
        import numpy as np

        n = some.stop - some.start
        n_more = -n % LENGTHS if n > 1 else 0

        def row(values: Any) -> Any:
            return np.array([*values, *[0] * n_more], np.int32)[None, None, None]

        mask = np.full((n + n_more, n_seen + n_more), -np.inf, np.float32)
        mask[:n, :n_seen][tree.may_see[some, :n_seen]] = 0
        mask[n:, n_seen:] = 0  # the tokens that fill up see one another: without any the result would be NaN
        given = {
            "inp_tokens": row(tree.ids[some]),
            "inp_pos": row(tree.positions[some]),
            "inp_out_ids": np.array([place - some.start for place in wanted], np.int32)[None, None, None],
            "inp_kv_idx": row(range(n_seen - n, n_seen)),
            "self_kq_mask": mask[None, None],
            "token_len_per_seq": np.array([n + n_more], np.int64),
        }
        caches = past or [np.zeros(shape, np.float16) for shape in self._caches.values()]
        given |= dict(zip(self._caches, caches, strict=True))
        found = self._request.infer({name: given[name] for name in self._inputs})
        logits, *grown = (found[place] for place in range(len(found)))
        return np.array(logits[0, 0]), [np.array(cache[:, :n_seen]) for cache in grown]
