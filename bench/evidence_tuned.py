"""Tune the last layers of a language model to judge evidence, and judge the candidates of labelled questions.

    python bench/evidence_tuned.py CANDIDATES.jsonl.gz --model MODEL.gguf --out TUNED.npz [--device cuda]

CANDIDATES is a file of `bench/evidence_signs.py pack`. The prompt is that of its sign `judge`. Low-rank adapters of the
last layers are trained on the candidates whose label the file holds: once for each of FOLDS parts of the questions,
without that part, for held-out scores; then on all of them, for the scores of the other candidates. Writes the scores
and the adapters of the last fit. It needs torch, transformers and gguf.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from evidence_signs import (
    SEED,
    Row,
    Tree,
    Words,
    attention_bias,
    average_precision,
    judge_prompt,
    load,
    questions_of,
    tokenizer_of,
    window_text,
)

FOLDS = 3
TOP = 10
"""Layers that are tuned; what the layers below say of a text is calculated once."""
RANK = 8
SCALE = 2.0
ADAPTED = ("q_proj", "v_proj", "o_proj")
EPOCHS = 2
RATE = 3e-4
MOST_TOKENS = 2_048
TREES_AT_ONCE = 4


class Judged(NamedTuple):
    """A sequence with the candidates of a question, and where the model is about to judge each."""

    tree: Tree
    question: int
    candidates: list[int]
    places: list[int]
    right: list[int]


def judged_of(question: Row, number: int, words: Words) -> Iterator[Judged]:
    """The sequences of a question."""
    head, tail = (words.ids(text) for text in words.chat(judge_prompt(question)))

    def start() -> tuple[Judged, int]:
        tree = Tree()
        return Judged(tree, number, [], [], []), tree.add(-1, head)

    one, root = start()
    for n, candidate in enumerate(question["candidates"]):
        ids = [*words.ids(window_text(candidate)), *tail]
        if one.candidates and len(one.tree.ids) + len(ids) > MOST_TOKENS:
            yield one
            one, root = start()
        one.candidates.append(n)
        one.places.append(one.tree.ends[one.tree.add(root, ids)])
        one.right.append(candidate["right"])
    if one.candidates:
        yield one


class Tuner:
    """A model whose last layers have adapters."""

    def __init__(self, model: Any, words: Words, device: str, top: int) -> None:
        import torch

        self.torch, self.model, self.device = torch, model, device
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        layers = model.model.layers
        self.bottom, self.top = layers[: len(layers) - top], layers[len(layers) - top :]
        table = model.lm_head.weight.float()
        yes, no = (table[tokens].mean(0) for tokens in words.yes_no)
        self.first_head = (yes - no).detach().clone()
        self.adapters: dict[str, tuple[Any, Any]] = {}
        for number, layer in enumerate(self.top):
            for name in ADAPTED:
                self._adapt(f"{number}.{name}", getattr(layer.self_attn, name))
        self.head, self.bias = self.first_head.clone(), torch.zeros((), device=device)
        self.kept: list[Any] = []

    def _adapt(self, key: str, linear: Any) -> None:
        """Add the product of two small matrices to what a linear layer gives."""

        def added(_: Any, inputs: Any, output: Any) -> Any:
            first, second = self.adapters[key]
            return output + (inputs[0] @ first.to(output.dtype)) @ second.to(output.dtype) * SCALE

        self.adapters[key] = (
            self.torch.zeros(linear.in_features, RANK, device=self.device),
            self.torch.zeros(RANK, linear.out_features, device=self.device),
        )
        linear.register_forward_hook(added)

    def reset(self) -> list[Any]:
        """Begin with adapters that change nothing; all that is trained."""
        torch, generator = self.torch, self.torch.Generator().manual_seed(SEED)
        for key, (first, second) in self.adapters.items():
            drawn = torch.randn(first.shape, generator=generator) / math.sqrt(first.shape[0])
            pair = drawn.to(self.device), torch.zeros(second.shape, device=self.device)
            self.adapters[key] = tuple(one.requires_grad_() for one in pair)  # type: ignore[assignment]
        self.head = self.first_head.clone().requires_grad_()
        self.bias = torch.zeros((), device=self.device, requires_grad=True)
        return [*(one for pair in self.adapters.values() for one in pair), self.head, self.bias]

    def _inputs(self, batch: Sequence[Judged]) -> tuple[int, Any, Any]:
        length = -(-max(len(one.tree.ids) for one in batch) // 8) * 8
        positions = np.zeros((len(batch), length), dtype=np.int64)
        for n, one in enumerate(batch):
            positions[n, : len(one.tree.ids)] = one.tree.positions
        bias = attention_bias([one.tree for one in batch], length, self.model.dtype, self.device)
        return length, bias, self.torch.from_numpy(positions).to(self.device)

    def _through(self, layers: Any, states: Any, bias: Any, positions: Any) -> Any:
        turned = self.model.model.rotary_emb(states, positions)
        for layer in layers:
            states = layer(states, attention_mask=bias, position_ids=positions, position_embeddings=turned)
            states = states[0] if isinstance(states, tuple) else states
        return states

    def keep(self, judged: Sequence[Judged]) -> None:
        """Calculate once what the layers below give for each sequence."""
        with self.torch.no_grad():
            for start in range(0, len(judged), TREES_AT_ONCE):
                batch = judged[start : start + TREES_AT_ONCE]
                length, bias, positions = self._inputs(batch)
                ids = np.zeros((len(batch), length), dtype=np.int64)
                for n, one in enumerate(batch):
                    ids[n, : len(one.tree.ids)] = one.tree.ids
                states = self.model.model.embed_tokens(self.torch.from_numpy(ids).to(self.device))
                states = self._through(self.bottom, states, bias, positions)
                self.kept += [states[n, : len(one.tree.ids)].clone() for n, one in enumerate(batch)]

    def scores(self, judged: Sequence[Judged], numbers: Sequence[int]) -> Any:
        """The score of each candidate of some sequences, in their order."""
        torch, batch = self.torch, [judged[number] for number in numbers]
        length, bias, positions = self._inputs(batch)
        states = torch.zeros((len(batch), length, self.kept[0].shape[1]), dtype=self.kept[0].dtype, device=self.device)
        for n, number in enumerate(numbers):
            states[n, : len(self.kept[number])] = self.kept[number]
        states = self.model.model.norm(self._through(self.top, states, bias, positions))
        at = torch.tensor([(n, place) for n, one in enumerate(batch) for place in one.places], device=self.device)
        return states[at[:, 0], at[:, 1]].float() @ self.head + self.bias

    def fit(self, judged: Sequence[Judged], numbers: Sequence[int]) -> None:
        """Train on some sequences."""
        torch, trained, drawn = self.torch, self.reset(), np.random.default_rng(SEED)
        n_steps = EPOCHS * -(-len(numbers) // TREES_AT_ONCE)
        optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / (0.1 * n_steps + 1)) * max(0.0, 1 - step / n_steps)
        )
        for _ in range(EPOCHS):
            order = [numbers[n] for n in drawn.permutation(len(numbers))]
            for start in range(0, len(order), TREES_AT_ONCE):
                some = order[start : start + TREES_AT_ONCE]
                right = torch.tensor([r for n in some for r in judged[n].right], device=self.device)
                if not bool((right >= 0).any()):
                    continue
                scores = self.scores(judged, some)[right >= 0]
                loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, right[right >= 0].float())
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimizer.step()
                schedule.step()

    def judge(self, judged: Sequence[Judged], numbers: Sequence[int]) -> dict[tuple[int, int], float]:
        """The scores of the candidates of some sequences."""
        found = {}
        with self.torch.no_grad():
            for start in range(0, len(numbers), TREES_AT_ONCE):
                some = numbers[start : start + TREES_AT_ONCE]
                keys = [(judged[n].question, candidate) for n in some for candidate in judged[n].candidates]
                found |= dict(zip(keys, self.scores(judged, some).cpu().tolist(), strict=True))
        return found


def tuned(given: argparse.Namespace) -> None:
    """Fit without each part, then on all; write the scores."""
    began = time.monotonic()
    words = Words(tokenizer_of(given.model))
    questions = [one for one in questions_of(given.candidates)[: given.first or None] if one["half"] != "none"]
    judged = [one for n, question in enumerate(questions) for one in judged_of(question, n, words)]
    judged.sort(key=lambda one: len(one.tree.ids))
    tuner = Tuner(load(given.model, given.device), words, given.device, given.top)
    print(
        f"loaded in {time.monotonic() - began:.0f} s, {sum(len(one.tree.ids) for one in judged):,} tokens", flush=True
    )
    tuner.reset()
    tuner.keep(judged)
    print(f"kept, {time.monotonic() - began:.0f} s", flush=True)
    fold_of = np.random.default_rng(SEED).permutation(len(questions)) % FOLDS
    tune = [n for n, one in enumerate(judged) if questions[one.question]["half"] == "tune"]
    scores: dict[tuple[int, int], float] = {}
    for fold in range(FOLDS):
        tuner.fit(judged, [n for n in tune if fold_of[judged[n].question] != fold])
        scores |= tuner.judge(judged, [n for n in tune if fold_of[judged[n].question] == fold])
        report(scores, questions)
        print(f"fold {fold}, {time.monotonic() - began:.0f} s", flush=True)
        save(given, scores, tuner, fold_of)
    tuner.fit(judged, tune)
    all_scores = tuner.judge(judged, range(len(judged)))
    save(given, all_scores | scores, tuner, fold_of, all_scores)
    print(f"{time.monotonic() - began:.0f} s")


def report(scores: dict[tuple[int, int], float], questions: Sequence[Row]) -> None:
    """Print the average precision so far, without and with statements."""
    for what in (False, True):
        keys = [key for key in scores if (questions[key[0]]["kind"] == "true_false") == what]
        right = np.array([questions[q]["candidates"][n]["right"] for q, n in keys])
        some = np.array([scores[key] for key in keys])[right >= 0]
        print(f"statements {what}: average precision {average_precision(some, right[right >= 0]):.3f}", flush=True)


def save(
    given: argparse.Namespace,
    scores: dict[tuple[int, int], float],
    tuner: Tuner,
    fold_of: Any,
    all_scores: dict[tuple[int, int], float] | None = None,
) -> None:
    """Write the scores and the adapters."""
    rows = sorted(scores)
    parts = {
        f"adapter.{key}.{n}": one.detach().cpu().numpy().astype(np.float16)
        for key, pair in tuner.adapters.items()
        for n, one in enumerate(pair)
    }
    full = [math.nan if all_scores is None else all_scores[row] for row in rows]
    np.savez_compressed(
        given.out,
        rows=np.array(rows, dtype=np.int32),
        tuned=np.array([scores[row] for row in rows], dtype=np.float32),
        tuned_full=np.array(full, dtype=np.float32),
        fold_of=fold_of,
        head=tuner.head.detach().cpu().numpy(),
        bias=tuner.bias.detach().cpu().numpy(),
        top=np.array(given.top),
        **parts,
    )


def main() -> None:
    """Tune and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", type=Path)
    parser.add_argument("--model", required=True, help="a GGUF file or a model's folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--top", type=int, default=TOP, help="layers that are tuned")
    parser.add_argument("--first", type=int, default=0, help="only the first questions")
    tuned(parser.parse_args())


if __name__ == "__main__":
    main()
