"""A GGUF model by llama.cpp inside this process (package llama-cpp-python): all logits, choices read side by side.

The prompt is read once; what all choices continue is shared by copying its place in the model's memory, and the choices
are read together in one pass. Nothing is kept between questions, so that an answer does not hang on what was asked
before. The package is compiled for the machine that installs it, which is faster than a wheel made for all machines;
other machines' last digits may differ.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baselines.generate import Generated, Likelihoods, NextToken
from baselines.models import locate
from baselines.prompt import FilledPrompt
from edu_rag.errors import MissingExtraError, SubmissionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_CONTEXT = 8_192
N_SIDE_BY_SIDE = 8
"""Continuations that are read in one pass; more are read in several."""


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    import numpy as np

    wide = logits.astype(np.float64)
    wide -= wide.max()
    found: NDArray[np.float64] = wide - np.log(np.exp(wide).sum())
    return found


class InProcessModel:
    """A model file read by llama.cpp; threads: EDU_RAG_THREADS, or all cores."""

    def __init__(self, name: str, *, threads: int | None = None) -> None:
        # Read when the library is loaded: on a busy machine its threads would spin in waiting for one another.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            import llama_cpp
        except ImportError:
            raise MissingExtraError(
                "llama.cpp", "llama-cpp-python is not installed", "pip install 'edu-rag-bench[llama-native]'"
            ) from None
        path = locate(name)
        if not isinstance(path, Path):
            raise SubmissionError(f"model {name}", "is no GGUF file", "llama.cpp reads GGUF files only")
        self._lib: Any = llama_cpp
        n_threads = threads or int(os.environ.get("EDU_RAG_THREADS") or os.cpu_count() or 1)
        self._quiet()
        self._open(path, n_threads)

    def _quiet(self) -> None:
        self._no_log = self._lib.llama_log_callback(lambda level, text, data: None)  # kept: C calls it later
        self._lib.llama_log_set(self._no_log, None)

    def _open(self, path: Path, n_threads: int) -> None:
        lib = self._lib
        lib.llama_backend_init()
        self._model = lib.llama_model_load_from_file(os.fsencode(path), lib.llama_model_default_params())
        if not self._model:
            raise SubmissionError(path, "llama.cpp cannot load it", "give a whole GGUF file")
        self._vocab = lib.llama_model_get_vocab(self._model)
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_seq_max, params.kv_unified = (
            N_CONTEXT,
            N_CONTEXT,
            N_SIDE_BY_SIDE + 1,
            True,
        )
        params.n_threads = params.n_threads_batch = n_threads
        self._context = lib.llama_init_from_model(self._model, params)
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(N_CONTEXT, 0, 1)
        self._n_words = lib.llama_vocab_n_tokens(self._vocab)
        template = lib.llama_model_chat_template(self._model, None)
        self._template = template.decode("utf-8") if template else None

    def _ids(self, text: str, *, special: bool, marks: bool = False) -> list[int]:
        """Token ids of a text; `special` adds the model's own first token, `marks` reads its turn marks as such."""
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 8
        ids = (self._lib.llama_token * room)()
        n = self._lib.llama_tokenize(self._vocab, raw, len(raw), ids, room, special, marks)
        return list(ids[: max(n, 0)])

    def _piece(self, token: int, *, marks: bool) -> bytes:
        import ctypes

        buffer = ctypes.create_string_buffer(256)
        n = self._lib.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, marks)
        return buffer.raw[: max(n, 0)]

    @functools.cached_property
    def _said(self) -> dict[str, list[int]]:
        """Token ids by what they say, case and white space folded."""
        found: dict[str, list[int]] = {}
        for token in range(self._n_words):
            said = self._piece(token, marks=False).decode("utf-8", "ignore").strip().casefold()
            if said:
                found.setdefault(said, []).append(token)
        return found

    def prompt_ids(self, prompt: FilledPrompt) -> list[int]:
        """The token ids that the model reads for a prompt: by its chat template, or plain where it has none."""
        if self._template is None:
            return self._ids(prompt.plain, special=True)
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        lib = self._lib
        first, end = (
            self._piece(find(self._vocab), marks=True).decode("utf-8", "ignore")
            for find in (lib.llama_vocab_bos, lib.llama_vocab_eos)
        )
        turns: list[Any] = [{"role": "system", "content": prompt.system}] if prompt.system else []
        turns.append({"role": "user", "content": prompt.user})
        text = Jinja2ChatFormatter(self._template, eos_token=end, bos_token=first)(messages=turns).prompt
        return self._ids(text, special=False, marks=True)

    def _read(self, rows: Sequence[tuple[int, int, list[int]]], *, all_logits: bool) -> Iterator[NDArray[np.float32]]:
        """Read rows (sequence, first position, ids) in one pass; logits of all places, or of each row's last.

        They are to be taken before the next pass, one by one: of a thousand places they are half a gigabyte and more.
        """
        import numpy as np

        n_tokens = sum(len(ids) for _, _, ids in rows)
        if n_tokens > N_CONTEXT:
            raise SubmissionError("prompt", f"{n_tokens:,} tokens do not fit into {N_CONTEXT:,}", "give less context")
        batch, n = self._batch, 0
        wanted = []
        for sequence, first, ids in rows:
            for place, token in enumerate(ids):
                asked = all_logits or place == len(ids) - 1
                batch.token[n], batch.pos[n], batch.n_seq_id[n], batch.logits[n] = token, first + place, 1, asked
                batch.seq_id[n][0] = sequence
                wanted += [n] if asked else []
                n += 1
        batch.n_tokens = n
        if self._lib.llama_decode(self._context, batch):
            raise SubmissionError("prompt", f"llama.cpp found no room for {n:,} more tokens", "give less context")
        found = (self._lib.llama_get_logits_ith(self._context, place) for place in wanted)
        return (np.ctypeslib.as_array(logits, shape=(self._n_words,)).copy() for logits in found)

    def _start(self, ids: list[int]) -> NDArray[np.float64]:
        """Forget all, read a prompt; the log-probabilities of the next token, float64 (n_words,)."""
        self._lib.llama_memory_clear(self._memory, True)
        return _log_softmax(next(self._read([(0, 0, ids)], all_logits=False)))

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        """Generate greedily, at most `max_new_tokens`, until the model ends its turn."""
        ids = self.prompt_ids(prompt)
        logprobs, new = self._start(ids), list[int]()
        while True:
            token = int(logprobs.argmax())
            new.append(token)
            if self._lib.llama_vocab_is_eog(self._vocab, token) or len(new) == max_new_tokens:
                break
            logprobs = _log_softmax(next(self._read([(0, len(ids) + len(new) - 1, [token])], all_logits=False)))
        said = b"".join(self._piece(token, marks=False) for token in new).decode("utf-8", "replace")
        return Generated(said, len(ids), len(new))

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        """How likely the answer starts with each text; see LanguageModel."""
        import numpy as np

        ids = self.prompt_ids(prompt)
        logprobs = self._start(ids)
        found = [self._said.get(text.strip().casefold(), []) for text in texts]
        return NextToken([float(np.logaddexp.reduce(logprobs[tokens])) for tokens in found], len(ids))

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """Log-probabilities of each continuation's tokens after the prefix, which is read only once.

        Prefix and continuation are cut into tokens apart, so that all continuations follow the same prefix.
        """
        prefix_ids = self._ids(prefix, special=True)
        rows = [self._ids(text, special=False) for text in continuations]
        if not prefix_ids or not all(rows):
            raise SubmissionError("likelihood", "prefix or continuation is empty", "give each at least one token")
        first = self._start(prefix_ids)
        logprobs = [[float(first[row[0]])] for row in rows]
        for start in range(0, len(rows), N_SIDE_BY_SIDE):
            some = range(start, min(start + N_SIDE_BY_SIDE, len(rows)))
            for number, later in zip(some, self._side_by_side(len(prefix_ids), [rows[i] for i in some]), strict=True):
                logprobs[number] += later
        return Likelihoods(logprobs, len(prefix_ids) + sum(len(row) for row in rows))

    def _side_by_side(self, n_prefix: int, rows: list[list[int]]) -> Iterator[list[float]]:
        """Of each row, the log-probabilities of its tokens from the second on."""
        read = []
        for sequence, row in enumerate(rows, 1):
            self._lib.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
            read += [(sequence, n_prefix, row[:-1])] if len(row) > 1 else []
        logits = self._read(read, all_logits=True) if read else iter(())
        for row in rows:
            yield [float(_log_softmax(next(logits))[token]) for token in row[1:]]
        for sequence in range(1, len(rows) + 1):
            self._lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)
