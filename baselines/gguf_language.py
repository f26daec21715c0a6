"""Language models that run a GGUF file without transformers: its tokens, its prompts, and the three ways to ask.

A model reads a tree of tokens: a prompt and all its continuations in one pass. A token does not see other branches.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from baselines.gguf_file import GgufFile
from baselines.prompts.generate import Generated, Likelihoods, NextToken, words_of
from baselines.prompts.prompt import FilledPrompt
from edu_rag.errors import MissingExtraError, SubmissionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]
    Integers = NDArray[np.int64]

_SPECIAL, _OWN = 3, 4
"""Types of tokens that are never cut: a mark, such as the end of a turn, and a word that a user of the model added."""
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen2 cuts a text before its tokens are made (transformers, `tokenization_qwen2.py`)."""
CUTS = ("smollm", "qwen2")
"""Ways to cut a text before its tokens are made (`tokenizer.ggml.pre`) that this module knows."""


class Tree(NamedTuple):
    """Tokens to read in one pass: `positions`, and `may_see[i, j]`: whether token i attends to token j.

    Where tokens were read before, they come first in j.
    """

    ids: list[int]
    positions: Integers
    may_see: NDArray[np.bool_]


def line(ids: Sequence[int], n_past: int = 0) -> Tree:
    """Tokens that each see all before them."""
    import numpy as np

    positions = np.arange(n_past, n_past + len(ids))
    return Tree(list(ids), positions, np.arange(n_past + len(ids)) <= positions[:, None])


def _branches(prefix: Sequence[int], rows: Sequence[Sequence[int]]) -> Tree:
    """A prefix, and rows of tokens that each see the prefix and their own row."""
    import numpy as np

    ids = [*prefix, *(token for row in rows for token in row)]
    owner = np.repeat(np.arange(len(rows) + 1), [len(prefix), *(len(row) for row in rows)])
    positions = np.concatenate([np.arange(len(prefix)), *(len(prefix) + np.arange(len(row)) for row in rows)])
    same = (owner[:, None] == owner) | (owner == 0)
    return Tree(ids, positions, same & (positions <= positions[:, None]))


def missing(error: ImportError, extra: str = "llm") -> MissingExtraError:
    """The error where a package of an extra is not installed."""
    remedy = f"pip install 'edu-rag-bench[{extra}]'"
    return MissingExtraError("language model", f"{error.name} is not installed", remedy)


def unreadable(file: GgufFile, error: Exception) -> SubmissionError:
    """The error where a file's numbers or words make no model."""
    return SubmissionError(file.path, f"cannot be read ({error!r})", "give a whole GGUF file")


def _tokenizer(file: GgufFile) -> Any:
    """The tokens of the file, cut as transformers cuts them from it (without SmolLM2's rule for digits)."""
    try:
        from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    except ImportError as error:
        raise missing(error) from None
    words = file.settings["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in file.settings["tokenizer.ggml.merges"]]
    known = set(words)
    if not all(len(merge) == 2 and known.issuperset((*merge, "".join(merge))) for merge in merges):
        raise ValueError("a merge of words that are not in the vocabulary")
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if file.settings["tokenizer.ggml.pre"] == "qwen2":
        cut = pre_tokenizers.Split(Regex(_QWEN2), "isolated")
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        made.pre_tokenizer = pre_tokenizers.Sequence([cut, letters])
    made.decoder = decoders.ByteLevel()
    kinds = file.settings["tokenizer.ggml.token_type"]
    cut_out = (_SPECIAL, _OWN) if file.settings["tokenizer.ggml.pre"] == "qwen2" else (_SPECIAL,)
    whole = [(word, kind == _SPECIAL) for word, kind in zip(words, kinds, strict=True) if kind in cut_out]
    made.add_tokens([AddedToken(word, special=special, normalized=False) for word, special in whole])
    return made


def _template(said: str | None) -> Any:
    """The chat template, which comes with the model, in Jinja's sandbox; None where the file has none."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    if not said:
        return None
    try:
        return ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(said)
    except TemplateError as error:
        raise ValueError(f"chat template: {error}") from None


def has_known_words(file: GgufFile) -> bool:
    """Whether this module makes the model's tokens: by byte-level BPE, cut in one of the ways in CUTS."""
    said = file.settings
    return said.get("tokenizer.ggml.model") == "gpt2" and said.get("tokenizer.ggml.pre") in CUTS


class GgufLanguageModel(ABC):
    """A language model (baselines.prompts.generate) of a GGUF file for which `has_known_words` is true."""

    def __init__(self, file: GgufFile) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            self._tokenizer = _tokenizer(file)
            self._end = int(file.settings["tokenizer.ggml.eos_token_id"])
            self._chat = _template(file.settings.get("tokenizer.chat_template"))
            self._path = file.path
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            raise unreadable(file, error) from None

    @abstractmethod
    def _last_logprobs(self, tree: Tree, n: int, past: list[Any]) -> Iterator[Array]:
        """Read a tree of tokens after those of `past` (empty: none), and add them to `past`, all before the last row.

        Rows of log-probabilities of all words, after each of the last `n` tokens.
        """

    def ids(self, text: str) -> list[int]:
        """The tokens of a text. Marks such as `<|im_end|>` in it are one token each."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def prompt_ids(self, prompt: FilledPrompt) -> list[int]:
        """The token ids that the model reads for a prompt: by its chat template, or plain where it has none."""
        if self._chat is None:
            return self.ids(prompt.plain)
        import jinja2

        turns = [{"role": "system", "content": prompt.system}] if prompt.system else []
        turns.append({"role": "user", "content": prompt.user})
        try:
            return self.ids(self._chat.render(messages=turns, add_generation_prompt=True))
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            said = f"its chat template cannot be filled in ({error})"
            raise SubmissionError(self._path, said, 'set back_end = "transformers" or "llama.cpp"') from None

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        """Generate greedily, at most `max_new_tokens`, until the model ends its turn."""
        ids = self.prompt_ids(prompt)
        new: list[int] = []
        past: list[Any] = []
        tree = line(ids)
        while True:
            token = int(next(self._last_logprobs(tree, 1, past)).argmax())
            new.append(token)
            if token == self._end or len(new) == max_new_tokens:
                break
            tree = line([token], len(ids) + len(new) - 1)
        return Generated(self._tokenizer.decode(new, skip_special_tokens=True), len(ids), len(new))

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        """How likely the answer starts with each text: exact, over the tokens that say it (generate.LanguageModel)."""
        import numpy as np

        ids = self.prompt_ids(prompt)
        table = next(self._last_logprobs(line(ids), 1, []))
        found = [float(np.logaddexp.reduce(table[words_of(text, self.ids)], initial=-np.inf)) for text in texts]
        return NextToken(found, len(ids))

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """Log-probabilities of each continuation's tokens after the prefix. All are read in one pass.

        Prefix and continuation are cut into tokens apart, so that all continuations follow the same prefix.
        """
        start, rows = self.ids(prefix), [self.ids(text) for text in continuations]
        if not start or not all(rows):
            raise SubmissionError("likelihood", "prefix or continuation is empty", "give each at least one token")
        tree = _branches(start, [row[:-1] for row in rows])
        tables = self._last_logprobs(tree, len(tree.ids) - len(start) + 1, [])
        first = next(tables)
        logprobs = [[float(first[row[0]]), *(float(next(tables)[token]) for token in row[1:])] for row in rows]
        return Likelihoods(logprobs, len(start) + sum(len(row) for row in rows))
