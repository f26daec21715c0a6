"""A GGUF language model cut short: its first layers and the first of its tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baselines.gguf_file import GgufFile


def write_short(source: Path, target: Path, n_layers: int, n_tokens: int, *, as_qwen2: bool = False) -> Path:
    """Write the short model, which loads in half a second, and the whole one in a quarter of a minute.

    The source's tokens must be those of byte-level BPE: single characters, then one for each merge, in the merges'
    order. Its weights stay in 4 and 8 bits. `as_qwen2`: they are a Qwen2's, with biases and in 16 bits, which answers
    nonsense.
    """
    import gguf
    import numpy as np

    model = GgufFile(source)
    settings = _settings(model.settings, n_layers, n_tokens)
    architecture = model.settings["general.architecture"]
    if as_qwen2:
        settings = {name.replace(f"{architecture}.", "qwen2."): value for name, value in settings.items()}
        settings["tokenizer.ggml.pre"] = architecture = "qwen2"
    writer = gguf.GGUFWriter(target, architecture)
    for name, value in settings.items():
        inner = None
        if isinstance(value, list):
            inner = gguf.GGUFValueType.STRING if isinstance(value[0], str) else gguf.GGUFValueType.INT32
        kind = gguf.GGUFValueType.UINT32 if type(value) is int else gguf.GGUFValueType.get_type(value)
        writer.add_key_value(name, value, kind, inner)
    for name in sorted(model.names):
        if name.startswith("blk.") and int(name.split(".")[1]) >= n_layers:
            continue
        weights, kind = model.tensor(name), gguf.GGMLQuantizationType.F32
        if weights.ndim > 1:
            is_words = name.startswith("token_embd.")
            weights = weights[:n_tokens] if is_words else weights
            kind = gguf.GGMLQuantizationType.Q8_0 if is_words else gguf.GGMLQuantizationType.Q4_1
            kind = gguf.GGMLQuantizationType.F16 if as_qwen2 else kind
        writer.add_tensor(name, gguf.quantize(weights, kind), raw_dtype=kind)
        if as_qwen2 and name.split(".")[-2] in ("attn_q", "attn_k", "attn_v"):
            bias = np.random.default_rng(len(name)).normal(size=len(weights)).astype(np.float32)
            writer.add_tensor(name.replace(".weight", ".bias"), bias)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _settings(whole: dict[str, Any], n_layers: int, n_tokens: int) -> dict[str, Any]:
    """The settings of the short model, but those that the writer writes itself."""
    words = "tokenizer.ggml."
    n_merges = n_tokens - (len(whole[f"{words}tokens"]) - len(whole[f"{words}merges"]))
    lists = {"tokens": n_tokens, "token_type": n_tokens, "merges": n_merges}
    architecture = whole["general.architecture"]
    return {
        **{name: value for name, value in whole.items() if name != "general.architecture"},
        **{f"{words}{name}": whole[f"{words}{name}"][:n] for name, n in lists.items()},
        f"{architecture}.block_count": n_layers,
        f"{architecture}.vocab_size": n_tokens,
    }
