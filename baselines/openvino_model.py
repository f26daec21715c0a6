"""A GGUF model through OpenVINO in this process: in bfloat16 and int8 it reads prompts faster than llama.cpp.

OpenVINO reads the file itself. The weights are those of the file, and the activations have the precision that is asked
for; keys and values have 16 bits. In int8, products with weights of 4 and 8 bits take activations in 8 bits, in groups
of 32 that share a scale, as in llama.cpp; everything else is computed in bfloat16. Except in float32, answers may
differ from one processor to another: a system names the back end that it uses.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baselines.gguf_file import GgufFile
from baselines.gguf_language import GgufLanguageModel, Tree, has_known_words, line, missing
from baselines.models import Precision, locate, n_threads
from edu_rag.errors import SubmissionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

TOKENS_AT_ONCE = 512
"""Tokens that are read at once: their logits take 0.6 MB each where all of them are wanted."""
LENGTHS, CACHE_LENGTHS = 32, 64
"""Tokens that are read at once, and those that were read before, are filled up to multiples of these: OpenVINO keeps
about a megabyte for each length that it meets.
"""
_REMEDY = 'set back_end = "llama.cpp" or "transformers"'
_INPUTS = {"inp_tokens", "inp_pos", "inp_out_ids", "inp_kv_idx", "self_kq_mask", "token_len_per_seq"}
GROUP = 32
"""Activations in 8 bits that share a scale."""
ZERO_POINT = 8
"""The integer of 4 bits that means zero, where we choose it: the middle of 0 to 15."""
_CACHE = "cache_"
"""How the names of the inputs begin that hold the keys and values of tokens that were read before."""
_BFLOAT16 = re.compile(r"\b(?:avx512_bf16|amx_bf16|bf16)\b")
_PROCESSOR = Path("/proc/cpuinfo")
_SIZES = ("block_count", "embedding_length", "attention.head_count", "attention.head_count_kv")


def has_bfloat16(processor: Path = _PROCESSOR) -> bool:
    """Whether this processor computes in bfloat16; False where the system does not say.

    OpenVINO says so too of processors with AVX-512 that do not, and would take 20 times longer on them.
    """
    try:
        return _BFLOAT16.search(processor.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def _check_sizes(file: GgufFile) -> None:
    """Refuse sizes that make no network. With some of them OpenVINO would end this process."""
    kind = file.settings.get("general.architecture")
    said = {name: file.settings.get(f"{kind}.{name}") for name in _SIZES}
    sizes = [value for value in said.values() if isinstance(value, int) and 0 < value < 1 << 20]
    if len(sizes) < len(_SIZES):
        raise SubmissionError(file.path, f"has no sizes of a network ({kind}: {said})", _REMEDY)
    _, width, n_heads, n_shared = sizes
    turned = file.settings.get(f"{kind}.rope.dimension_count", width // n_heads)
    is_whole = width % n_heads == 0 and n_heads % n_shared == 0
    if not is_whole or not isinstance(turned, int) or turned % 2 or not 0 < turned <= width // n_heads:
        found = f"{width} numbers, {n_heads} heads, {n_shared} of keys, {turned} turned"
        raise SubmissionError(file.path, f"has sizes that do not fit each other ({found})", _REMEDY)


def _not_loaded(path: Path, error: Exception) -> SubmissionError:
    lines = [one.strip() for one in str(error).splitlines() if one.strip()]
    said = (lines or [type(error).__name__])[-1][:200]
    return SubmissionError(path, f"OpenVINO cannot load it ({said})", f"give a whole file, or {_REMEDY}")


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


def _constant(output: Any) -> Any:
    """The node of a constant, which may be converted to another type first; another node where it is none."""
    node = output.get_node()
    return node.input_value(0).get_node() if node.get_type_name() == "Convert" else node


def _is_constant(output: Any) -> bool:
    return bool(_constant(output).get_type_name() == "Constant")


def _values(output: Any) -> Array:
    """The numbers of a constant."""
    import numpy as np

    return np.array(_constant(output).data, np.float32)


def _weights_in_4_bits(product: Any) -> tuple[Any, Any, Any] | None:
    """q, z and s of a product's weights (q - z) s, of shape [outputs, groups, inputs of a group or 1].

    None where the product has other weights.
    """
    nodes = [product]
    for kind, place in (("MatMul", 1), ("Reshape", 0), ("Multiply", 0), ("Subtract", 0), ("Convert", 0)):
        if nodes[-1].get_type_name() != kind:
            return None
        nodes.append(nodes[-1].input_value(place).get_node())
    _, _, scaled, centred, q, stored = nodes
    z, s = centred.input_value(1), scaled.input_value(1)
    known = stored.get_element_type().get_type_name() == "u4" and product.get_attributes()["transpose_b"]
    return (q.output(0), z, s) if known and _is_constant(z) and _is_constant(s) else None


def _with_integer_zero_points(model: Any) -> Any:
    """The network with the same weights in 4 bits, in the form that OpenVINO multiplies by activations in 8 bits.

    A group of inputs x has weights (q - z) s, where q is an integer of 0 to 15. OpenVINO needs an integer z, and those
    of Q4_K and Q4_1 are fractions. So sum(x (q - z) s) becomes sum(x (q - 8) s) + sum(x) (8 - z) s. The second product
    has one input a group, which adds a thirty-second to the work, and its activations are not in 8 bits.
    """
    import numpy as np
    from openvino import opset13 as operations

    sums: dict[tuple[str, int], Any] = {}
    for product in model.get_ops():
        weights = _weights_in_4_bits(product)
        if weights is None or not np.any(_values(weights[1]) % 1):
            continue
        q, z, s = weights
        n_outputs, n_groups, size = q.get_shape()
        x = product.input_value(0)
        key = (x.get_node().get_name(), x.get_index())
        if key not in sums:  # products of the same inputs share the sums
            groups = operations.reshape(x, np.array([0, 0, 0, n_groups, size]), special_zero=True)
            sums[key] = operations.reduce_sum(groups, np.array([4]), keep_dims=False)
        zero = operations.convert(operations.constant(np.full((1, 1, 1), ZERO_POINT, np.uint8)), "f32")
        scaled = operations.multiply(operations.subtract(q, zero), s)
        first = operations.reshape(scaled, np.array([n_outputs, n_groups * size]), special_zero=False)
        second = ((ZERO_POINT - _values(z)) * _values(s)).reshape(n_outputs, n_groups)
        parts = [operations.matmul(a, b, False, True) for a, b in ((x, first), (sums[key], second))]
        for reader in product.output(0).get_target_inputs():
            reader.replace_source_output(operations.add(*parts).output(0))
    return model


def _network(path: Path, threads: int, precision: Precision) -> Any:
    """The compiled network of a GGUF file. Raises SubmissionError or MissingExtraError."""
    # Else zero points of 4-bit weights are rounded to integers, with five times the error.
    os.environ.setdefault("OV_GGUF_Q4_K_ZP_F16", "1")
    name = "openvino_telemetry"
    is_new = name not in sys.modules
    sys.modules.setdefault(name, None)  # type: ignore[arg-type] # else the import reports itself to Intel
    try:
        import openvino
        from openvino import frontend
    except ImportError as error:
        raise missing(error, "openvino") from None
    finally:
        if is_new:
            del sys.modules[name]
    failures = (
        frontend.GeneralFailure,
        frontend.InitializationFailure,
        frontend.NotImplementedFailure,
        frontend.OpConversionFailure,
        frontend.OpValidationFailure,
    )
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_HYPER_THREADING": True,  # else it may take fewer threads than it was given
        "ENABLE_CPU_PINNING": False,  # several systems may run on this machine
        "INFERENCE_PRECISION_HINT": "bf16" if precision != "float32" and has_bfloat16() else "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP if precision == "int8" else 0,
    }
    try:
        reader = frontend.FrontEndManager().load_by_framework("gguf")
        model = reader.convert(reader.load(str(path)))
        others = {one.get_friendly_name() for one in model.get_parameters()} - _INPUTS
        unknown = sorted(name for name in others if not name.startswith(_CACHE))
        if unknown:
            raise SubmissionError(path, f"its network has inputs that we do not know ({', '.join(unknown)})", _REMEDY)
        model = _with_integer_zero_points(model) if precision == "int8" else model
        return openvino.Core().compile_model(_append_to_caches(model), "CPU", settings)
    except (RuntimeError, LookupError, ValueError, TypeError, MemoryError, *failures) as error:
        raise _not_loaded(path, error) from None


class OpenVinoModel(GgufLanguageModel):
    """A GGUF file's model, computed by OpenVINO on the CPU; threads: EDU_RAG_THREADS, or all cores.

    `precision` is that of the activations; a processor without bfloat16 computes in float32 instead (`has_bfloat16`).
    """

    def __init__(self, name: str, *, threads: int | None = None, precision: Precision = "float32") -> None:
        path = locate(name)
        if not isinstance(path, Path) or path.suffix.casefold() != ".gguf" or path.is_dir():
            raise SubmissionError(f"model {name}", "is not a GGUF file", "OpenVINO reads GGUF files only")
        file = GgufFile(path)
        if not has_known_words(file):
            kind = "/".join(str(file.settings.get(f"tokenizer.ggml.{part}")) for part in ("model", "pre"))
            raise SubmissionError(path, f"its tokens are of a kind that we do not make ({kind})", _REMEDY)
        _check_sizes(file)
        super().__init__(file)
        self.network = _network(path, n_threads(threads), precision)
        self._inputs = {one.any_name: one.partial_shape for one in self.network.inputs}
        self._request, self._lock = self.network.create_infer_request(), threading.Lock()
        self._check_numbers(file)

    def _check_numbers(self, file: GgufFile) -> None:
        """Read two tokens: a file may have all parts and make no model."""
        import numpy as np

        n_words = len(file.settings["tokenizer.ggml.tokens"])
        try:
            rows = list(self._last_logprobs(line([0, 1]), 2, [])) if self._cache_names else []
        except (RuntimeError, LookupError, ValueError, TypeError) as error:
            raise _not_loaded(file.path, error) from None
        if len(rows) != 2 or not all(row.shape == (n_words,) and np.isfinite(row).all() for row in rows):
            raise SubmissionError(file.path, "its network gives no numbers for its words", "give a whole GGUF file")

    @property
    def _cache_names(self) -> list[str]:
        return [name for name in self._inputs if name.startswith(_CACHE)]

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
        n_past = n_seen - n
        n_filled = n if n == 1 else n + -n % LENGTHS
        n_cache = n_past + -n_past % CACHE_LENGTHS

        def row(values: Any) -> Any:
            return np.array([*values, *[0] * (n_filled - n)], np.int32)[None, None, None]

        sees = tree.may_see[some, :n_seen]
        mask = np.full((n_filled, n_cache + n_filled), -np.inf, np.float32)
        mask[:n, :n_past][sees[:, :n_past]] = 0
        mask[:n, n_cache : n_cache + n][sees[:, n_past:]] = 0
        mask[n:, n_cache + n :] = 0  # the tokens that fill up see one another: without any the result would be NaN
        given = {
            "inp_tokens": row(tree.ids[some]),
            "inp_pos": row(tree.positions[some]),
            "inp_out_ids": np.array([place - some.start for place in wanted], np.int32)[None, None, None],
            "inp_kv_idx": row(range(n_past, n_seen)),
            "self_kq_mask": mask[None, None],
            "token_len_per_seq": np.array([n_filled], np.int64),
        }
        for place, name in enumerate(self._cache_names):
            shape = self._inputs[name]
            given[name] = np.zeros((1, n_cache, shape[2].get_length(), shape[3].get_length()), np.float16)
            if past:
                given[name][:, :n_past] = past[place]
        with self._lock:
            found = self._request.infer({name: given[name] for name in self._inputs})
            logits, *grown = (found[place] for place in range(len(found)))
        new = slice(n_cache, n_cache + n)
        return logits[0, 0], [np.concatenate([cache[:, :n_past], cache[:, new]], axis=1) for cache in grown]
