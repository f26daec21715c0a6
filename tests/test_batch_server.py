"""Faster language models: the benches' server that writes many replies at once, and weights in bfloat16."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "frameworks" / "eval")]
from tiny_model import write_tiny_model  # noqa: E402

from baselines.gguf_model import LocalModel  # noqa: E402

N_WORDS = 60


def _tiny() -> Any:
    """A Llama of two layers with drawn weights, in float32."""
    # Not at the top of this file: each process of a run would load PyTorch, and each of its forks copy its tables.
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=N_WORDS,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.5,
        eos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config).eval()


def _greedy(model: Any, prompt: list[int], limit: int) -> list[int]:
    import torch

    ids = torch.tensor([prompt])
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=limit, do_sample=False, pad_token_id=0
    )
    return list(out[0, len(prompt) :].tolist())


def test_rows_that_enter_and_leave_at_any_time_get_the_tokens_that_they_get_alone() -> None:
    model, draw = _tiny(), random.Random(0)
    import torch
    from batch_server import Asked, Batch

    prompts = [[draw.randrange(8, N_WORDS) for _ in range(draw.randrange(3, 30))] for _ in range(12)]
    prompts[2:6] = [prompts[1] + prompt for prompt in prompts[2:6]]  # they begin alike
    prompts[8] = prompts[7]
    limits = [draw.randrange(1, 25) for _ in prompts]

    with torch.inference_mode():
        alone = [_greedy(model, prompt, limit) for prompt, limit in zip(prompts, limits, strict=True)]
        end = alone[limits.index(max(limits))][2]  # so some rows stop before their limit
        expected = [(new[: new.index(end)], "stop") if end in new else (new, "length") for new in alone]

        rows = [Asked(prompt, limit) for prompt, limit in zip(prompts, limits, strict=True)]
        batch, waiting = Batch(model, {end}), list(rows)
        while waiting or batch.rows:
            admitted = min(draw.randrange(0, 4), len(waiting))
            entering = [waiting.pop(0) for _ in range(admitted)]
            while entering:
                batch.enter(batch.take_group(entering))
            if batch.rows:
                batch.step()

    assert [(row.new, row.reason) for row in rows] == expected
    assert {reason for _, reason in expected} == {"stop", "length"}
    assert all(row.done.is_set() for row in rows)


def test_a_model_in_bfloat16_gives_nearly_the_log_probabilities_of_float32(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    where = str(write_tiny_model(tmp_path / "tiny"))
    exact, short = (
        LocalModel(where, precision=precision).likelihoods("Ice is", [" water", " a gas"])
        for precision in ("float32", "bfloat16")
    )

    values = [np.concatenate(found.logprobs) for found in (exact, short)]
    assert values[0] == pytest.approx(values[1], rel=0.03)  # bfloat16 has 8 bits: 0.4 % a step
    assert not np.array_equal(*values)
