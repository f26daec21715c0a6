"""A small Llama model in this process, in NumPy: SmolLM2 from its GGUF file, without PyTorch.

The same numbers as transformers up to rounding. The prompt and all choices are read in one pass, and a model is loaded
in two seconds instead of seventeen. For models of a billion parameters and more baselines.llama_cpp is faster.

Why not a library: PyTorch is the largest part of the demo's download, and transformers needs twelve seconds or more of
processor time to load the model. llama.cpp computes with eight-bit activations, which flips answers, so published
scores would move. ONNX Runtime needs a graph of the model, which no package has. This module answers all 300 questions
of the mini benchmark's two runs as transformers does.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from baselines.gguf_file import GgufFile
from baselines.gguf_language import GgufLanguageModel, Tree, has_known_words, missing, unreadable
from baselines.models import n_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

MOST_THREADS = 8
"""Of the cores, unless $EDU_RAG_THREADS says more: products this small gain nothing from others."""
QUERIES_AT_ONCE = 256
"""Tokens whose attention is held at once: of ten pages it would take gigabytes."""
PLACES_AT_ONCE = 128
"""Tokens whose logits are held at once, 0.2 MB each."""


class _Layer(NamedTuple):
    """Weights of a layer, laid out as the products need them: (inputs, outputs)."""

    attention_norm: Array
    query_key_value: Array
    attended: Array
    feed_norm: Array
    gate: Array
    up: Array
    down: Array


class _Shape(NamedTuple):
    """Numbers of a model, and where a feature of its own was read."""

    n_heads: int
    n_key_heads: int
    width: int
    epsilon: float
    turn: Array


Cache = list[tuple["Array", "Array"]]
"""Keys and values of each layer, of the shape (heads, tokens, width)."""


def can_read(file: GgufFile) -> bool:
    """Whether the model is one that this module computes: Llama's layers with SmolLM2's tokens."""
    said = file.settings
    return (
        said.get("general.architecture") == "llama"
        and has_known_words(file)
        and said["tokenizer.ggml.pre"] == "smollm"
        and "output.weight" not in file.names
        and not any(name.startswith("llama.rope.scaling") for name in said)
    )


def _halves(weights: Array, n_heads: int) -> Array:
    """Rows of queries or keys, the two halves of each rotated pair apart, as Llama has them; GGUF has them in turn."""
    n_rows, n_inputs = weights.shape
    pairs: Array = weights.reshape(n_heads, n_rows // n_heads // 2, 2, n_inputs)
    return pairs.swapaxes(1, 2).reshape(n_rows, n_inputs)


def _normed(values: Array, weights: Array, epsilon: float) -> Array:
    import numpy as np

    scale = np.sqrt(np.einsum("ij,ij->i", values, values) / np.float32(values.shape[1]) + np.float32(epsilon))
    found: Array = values / scale[:, None] * weights
    return found


def _turned(values: Array, cosines: Array, sines: Array) -> Array:
    """Queries or keys of the shape (tokens, heads, width), turned by their positions."""
    import numpy as np

    half = values.shape[-1] // 2
    first, second = values[..., :half], values[..., half:]
    return np.concatenate([first * cosines - second * sines, second * cosines + first * sines], axis=-1)


def _laid_out(*weights: Array) -> Array:
    """Weights of the shape (outputs, inputs) as one table of the shape (inputs, outputs)."""
    import numpy as np

    _, n_inputs = weights[0].shape
    found = np.empty((n_inputs, sum(map(len, weights))), np.float32)
    return np.concatenate([part.T for part in weights], axis=1, out=found)


def _attended(queries: Array, keys: Array, values: Array, may_see: NDArray[np.bool_]) -> Array:
    """What each token gets from the tokens that it may see, of the shape (tokens, heads x width)."""
    import numpy as np

    n_tokens, n_heads, width = queries.shape
    n_groups = len(keys)
    scale = np.float32(1 / math.sqrt(width))
    parts = []
    for start in range(0, n_tokens, QUERIES_AT_ONCE):
        some = queries[start : start + QUERIES_AT_ONCE].reshape(-1, n_groups, n_heads // n_groups, width)
        grouped = some.transpose(1, 2, 0, 3).reshape(n_groups, -1, width)
        scores = (grouped @ keys.transpose(0, 2, 1) * scale).reshape(n_groups, n_heads // n_groups, len(some), -1)
        np.copyto(scores, np.float32(-np.inf), where=~may_see[start : start + len(some)])
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        found = (scores.reshape(n_groups, -1, keys.shape[1]) @ values).reshape(n_heads, len(some), width)
        parts.append(found.transpose(1, 0, 2).reshape(len(some), -1))
    return np.concatenate(parts)


class _Threads:
    """Several threads, each of which computes some columns or some rows of a result.

    The threads of NumPy's own library wait by spinning: on a busy machine a product on two of them took ten times as
    long as on one. Ours sleep.
    """

    def __init__(self, n_threads: int) -> None:
        try:
            import numpy  # noqa: F401, ICN001 - the limit reaches libraries that are loaded
            from threadpoolctl import threadpool_limits
        except ImportError as error:
            raise missing(error) from None
        threadpool_limits(1, user_api="blas")
        self._n, self._process = n_threads, os.getpid()
        self._pool: ThreadPoolExecutor | None = None

    def share(self, work: Callable[[slice], object], n: int) -> None:
        """Call `work` with parts of 0 … n, side by side, and wait until all are done."""
        edges = [n * part // self._n for part in range(self._n + 1)]
        parts = [slice(start, end) for start, end in itertools.pairwise(edges) if start < end]
        if self._pool is None or self._process != os.getpid():  # a fork has none of its parent's threads
            self._process, self._pool = os.getpid(), ThreadPoolExecutor(self._n)
        others = [self._pool.submit(work, part) for part in parts[1:]]
        try:
            for part in parts[:1]:
                work(part)
        finally:  # after an error too: what the others write to must not be read while they do
            wait(others)
        for other in others:
            other.result()

    def product(self, left: Array, right: Array) -> Array:
        """The product of two matrices."""
        import numpy as np

        found = np.empty((len(left), right.shape[1]), np.float32)
        self.share(lambda some: np.matmul(left, right[:, some], out=found[:, some]), right.shape[1])
        return found


class _Network:
    """The layers of the model."""

    def __init__(self, file: GgufFile, threads: _Threads) -> None:
        import numpy as np

        self._threads = threads
        said = file.settings
        n_heads, n_key_heads = (int(said[f"llama.attention.head_count{tail}"]) for tail in ("", "_kv"))
        self.words = file.tensor("token_embd.weight")
        if self.words.ndim != 2:
            raise ValueError(f"token_embd.weight has {self.words.ndim} dimensions")
        if n_heads % n_key_heads:
            raise ValueError(f"{n_heads} heads of queries cannot share {n_key_heads} heads of keys")
        width = self.words.shape[1] // n_heads
        turn = float(said.get("llama.rope.freq_base", 10_000.0)) ** (-np.arange(0, width, 2) / width)
        epsilon = float(said["llama.attention.layer_norm_rms_epsilon"])
        self.shape = _Shape(n_heads, n_key_heads, width, epsilon, turn.astype(np.float32))
        n_layers = int(said["llama.block_count"])
        layers: dict[int, _Layer] = {}

        def read(some: slice) -> None:
            layers.update({number: self._layer(file, f"blk.{number}") for number in range(some.start, some.stop)})

        threads.share(read, n_layers)
        self.layers = [layers[number] for number in range(n_layers)]
        self.last_norm = file.tensor("output_norm.weight")

    def _layer(self, file: GgufFile, name: str) -> _Layer:
        def weights(part: str) -> Array:
            return file.tensor(f"{name}.{part}.weight")

        queries, keys = (
            _halves(weights(f"attn_{part}"), n)
            for part, n in (("q", self.shape.n_heads), ("k", self.shape.n_key_heads))
        )
        return _Layer(
            weights("attn_norm"),
            _laid_out(queries, keys, weights("attn_v")),
            _laid_out(weights("attn_output")),
            weights("ffn_norm"),
            *(_laid_out(weights(f"ffn_{part}")) for part in ("gate", "up", "down")),
        )

    def read(self, tree: Tree, past: Cache | None = None) -> tuple[Array, Cache]:
        """The features of the last layer, one row a token, and the cache for the tokens that follow."""
        import numpy as np

        angles = tree.positions[:, None].astype(np.float32) * self.shape.turn
        cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
        values = self.words[tree.ids]
        cache: Cache = []
        for number, layer in enumerate(self.layers):
            before = None if past is None else past[number]
            found, kept = self._attention(values, layer, (cosines, sines), tree.may_see, before)
            cache.append(kept)
            values = values + found
            values = values + self._feed_forward(_normed(values, layer.feed_norm, self.shape.epsilon), layer)
        return _normed(values, self.last_norm, self.shape.epsilon), cache

    def _feed_forward(self, values: Array, layer: _Layer) -> Array:
        """The output of the layer's feed-forward part, from normalised values."""
        import numpy as np

        made = np.empty((len(values), layer.gate.shape[1]), np.float32)

        def fill(some: slice) -> None:
            gate = values @ layer.gate[:, some]
            made[:, some] = gate / (1 + np.exp(-gate)) * (values @ layer.up[:, some])

        self._threads.share(fill, layer.gate.shape[1])
        return self._threads.product(made, layer.down)

    def _attention(
        self,
        values: Array,
        layer: _Layer,
        turns: tuple[Array, Array],
        may_see: NDArray[np.bool_],
        before: tuple[Array, Array] | None,
    ) -> tuple[Array, tuple[Array, Array]]:
        import numpy as np

        n_heads, n_key_heads, width = self.shape.n_heads, self.shape.n_key_heads, self.shape.width
        made = self._threads.product(_normed(values, layer.attention_norm, self.shape.epsilon), layer.query_key_value)
        made = made.reshape(len(values), n_heads + 2 * n_key_heads, width)
        keys = _turned(made[:, n_heads : n_heads + n_key_heads], *turns).transpose(1, 0, 2)
        new = made[:, n_heads + n_key_heads :].transpose(1, 0, 2)
        if before is not None:
            keys, new = np.concatenate([before[0], keys], axis=1), np.concatenate([before[1], new], axis=1)
        found = np.empty((len(values), n_heads * width), np.float32)
        n_queries = n_heads // n_key_heads

        def fill(some: slice) -> None:
            # Some heads of all tokens: the products of fewer tokens may be rounded in another way.
            heads = slice(some.start * n_queries, some.stop * n_queries)
            queries = _turned(made[:, heads], *turns)
            found[:, heads.start * width : heads.stop * width] = _attended(queries, keys[some], new[some], may_see)

        self._threads.share(fill, n_key_heads)
        return self._threads.product(found, layer.attended), (keys, new)

    def logprobs(self, features: Array) -> Iterator[Array]:
        """Log-probabilities of all words, row by row."""
        import numpy as np

        for start in range(0, len(features), PLACES_AT_ONCE):
            logits = self._threads.product(features[start : start + PLACES_AT_ONCE], self.words.T)
            logits -= logits.max(axis=1, keepdims=True)
            yield from logits - np.log(np.exp(logits).sum(axis=1, keepdims=True, dtype=np.float64))


class NumpyLlama(GgufLanguageModel):
    """A language model (baselines.prompts.generate) of a GGUF file that `can_read` accepts."""

    def __init__(self, file: GgufFile, *, threads: int | None = None) -> None:
        pool = _Threads(n_threads(threads, most=MOST_THREADS))
        super().__init__(file)
        try:
            self._network = _Network(file, pool)
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            raise unreadable(file, error) from None

    def _last_logprobs(self, tree: Tree, n: int, past: list[Any]) -> Iterator[Array]:
        features, past[:] = self._network.read(tree, past or None)
        start = len(features) - n
        # The first alone: a product with fewer or more rows may be rounded in another way.
        yield from self._network.logprobs(features[start : start + 1])
        yield from self._network.logprobs(features[start + 1 :])
