"""A language model in this process: transformers on the CPU, reading GGUF files or hub models, no compiler needed."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from baselines.models import THREADS_VARIABLE, Precision, device, let_threads_sleep, locate, n_threads
from baselines.prompts.generate import Generated, Likelihoods, NextToken, words_of
from baselines.prompts.prompt import FilledPrompt
from edu_rag.errors import MissingExtraError, SubmissionError

MOST_PLACES = 1_024
"""Tokens whose logits are held at once, 1 MB each for a vocabulary of 262,144: thirty choices, one of them as long as a
page, would take tens of gigabytes. Questions of TQA have at most 300."""
_LOADING = threading.Lock()


@contextlib.contextmanager
def _parsed_once(gguf: Any) -> Iterator[None]:
    """While this lasts, a GGUF file is parsed once, and its table of names made once.

    transformers parses the file separately for tokeniser, configuration and weights, and makes the table for each
    layer's parts: a third of a minute for the smallest model, most of it without need. One thread at a time, so that
    each puts back what it found; others that read GGUF files meanwhile get the same results.
    """
    names = ("GGUFReader", "get_tensor_name_map")
    with _LOADING:
        kept = {name: getattr(gguf, name) for name in names}
        for name, function in kept.items():
            setattr(gguf, name, functools.cache(function))
        try:
            yield
        finally:
            for name, function in kept.items():
                setattr(gguf, name, function)


def _load(where: Path | str, precision: Precision) -> tuple[Any, Any]:
    """Tokeniser and model. GGUF weights are turned into numbers of this precision."""
    let_threads_sleep()
    try:
        import accelerate  # noqa: F401 - transformers asks for it when it loads weights
        import gguf
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(
            "language model", f"{error.name} is not installed", "pip install 'edu-rag-bench[models]'"
        ) from None
    library: Any = transformers  # its functions have no complete types
    library.utils.logging.disable_progress_bar()
    library.utils.logging.set_verbosity_error()
    is_file = isinstance(where, Path) and where.is_file()
    source = str(where.parent) if isinstance(where, Path) and is_file else str(where)
    extra = {"gguf_file": where.name} if isinstance(where, Path) and is_file else {}
    try:
        with _parsed_once(gguf):
            tokenizer = library.AutoTokenizer.from_pretrained(source, **extra)
            model = library.AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, precision), **extra)
    except (OSError, ValueError, KeyError) as error:
        raise SubmissionError(
            f"model {where}",
            f"cannot be loaded ({str(error).splitlines()[0]})",
            "name a GGUF file or a hub model that transformers can read",
        ) from None
    return tokenizer, model.eval().to(device())


class LocalModel:
    """A causal language model: greedy generation, and the likelihood of continuations with a shared prefix.

    `precision` is that of weights and activations; log-probabilities are computed in float32. bfloat16 needs half of
    the memory; some answers differ from those of float32. bench/model_speed.py compares their speed on a machine.
    """

    def __init__(self, name: str, *, threads: int | None = None, precision: Precision = "float32") -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self.tokenizer, self.model = _load(locate(name), precision)
        if threads or os.environ.get(THREADS_VARIABLE):  # else PyTorch chooses
            import torch

            torch.set_num_threads(n_threads(threads))

    def _ids(self, text: str, *, special: bool) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=special)["input_ids"]
        return ids

    def prompt_ids(self, prompt: FilledPrompt) -> list[int]:
        """The token ids that the model reads for a prompt: by its chat template, or plain where it has none."""
        if not self.tokenizer.chat_template:
            return self._ids(prompt.plain, special=True)
        turns = [{"role": "system", "content": prompt.system}] if prompt.system else []
        turns.append({"role": "user", "content": prompt.user})
        text = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return self._ids(text, special=False)

    def _forward(self, rows: list[list[int]], cache: Any = None, keep: int = 0) -> Any:
        """Logits of the last `keep` places (0: all) of equally long rows, float32 (rows, places, words); the cache."""
        import torch

        with torch.inference_mode():
            ids = torch.tensor(rows, device=self.model.device)
            out = self.model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=keep)
            out.logits = out.logits.float()
            return out

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        """Generate greedily, at most `max_new_tokens`, until the model ends its turn."""
        ids = self.prompt_ids(prompt)
        ends = self._end_ids()
        new: list[int] = []
        out = self._forward([ids], keep=1)
        while True:
            token = int(out.logits[0, -1].argmax())
            new.append(token)
            if token in ends or len(new) == max_new_tokens:
                break
            out = self._forward([[token]], cache=out.past_key_values, keep=1)
        return Generated(self.tokenizer.decode(new, skip_special_tokens=True), len(ids), len(new))

    def _end_ids(self) -> set[int]:
        ends = self.model.generation_config.eos_token_id
        listed = ends if isinstance(ends, list) else [ends]
        return {end for end in [*listed, self.tokenizer.eos_token_id] if end is not None}

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        """How likely the answer starts with each text: exact, over the tokens that say it (generate.LanguageModel)."""
        import torch

        ids = self.prompt_ids(prompt)
        table = torch.log_softmax(self._forward([ids], keep=1).logits[0, -1], dim=-1)
        found = []
        for text in texts:
            tokens = words_of(text, lambda form: self._ids(form, special=False))
            found.append(float(torch.logsumexp(table[tokens], dim=0)) if tokens else -math.inf)
        return NextToken(found, len(ids))

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """Log-probabilities of each continuation's tokens after the prefix, which is read only once.

        Prefix and continuation are cut into tokens apart, so that all continuations follow the same prefix.
        """
        import torch

        prefix_ids = self._ids(prefix, special=True)
        rows = [self._ids(text, special=False) for text in continuations]
        if not prefix_ids or not all(rows):
            raise SubmissionError("likelihood", "prefix or continuation is empty", "give each at least one token")
        out = self._forward([prefix_ids], keep=1)
        first = torch.log_softmax(out.logits[0, -1], dim=-1)
        logprobs = [[float(first[row[0]])] for row in rows]
        longest = max(len(row) for row in rows)
        if longest > 1:
            cache = out.past_key_values
            cache.batch_repeat_interleave(len(rows))
            # Rows are filled up on the right: what comes after a row's end cannot reach back into it.
            padded = [row[:-1] + [row[-1]] * (longest - len(row)) for row in rows]
            width = max(1, MOST_PLACES // len(rows))
            for start in range(0, longest - 1, width):
                out = self._forward([row[start : start + width] for row in padded], cache=cache)
                cache, later = out.past_key_values, torch.log_softmax(out.logits, dim=-1)
                for number, row in enumerate(rows):
                    some = row[start + 1 : start + 1 + width]
                    logprobs[number] += [float(later[number, place, token]) for place, token in enumerate(some)]
        return Likelihoods(logprobs, len(prefix_ids) + sum(len(row) for row in rows))
