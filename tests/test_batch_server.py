"""The server of the benches that writes many replies at once writes each as if it were alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
N_WORDS = 60


def _tiny() -> Any:
    """A Llama of two layers with drawn weights, in float32."""
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


def test_rows_that_enter_and_leave_at_any_time_get_the_tokens_that_they_get_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, draw = _tiny(), random.Random(0)
    # Not at the top of this file: each process of a whole run would load PyTorch, and each of its forks copy it.
    import torch

    monkeypatch.syspath_prepend(BENCH)
    from batch_server import Asked, Batch

    prompts = [[draw.randrange(8, N_WORDS) for _ in range(draw.randrange(3, 30))] for _ in range(12)]
    limits = [draw.randrange(1, 25) for _ in prompts]

    with torch.inference_mode():
        alone = [_greedy(model, prompt, limit) for prompt, limit in zip(prompts, limits, strict=True)]
        end = alone[limits.index(max(limits))][2]  # so some rows stop before their limit
        expected = [(new[: new.index(end)], "stop") if end in new else (new, "length") for new in alone]

        rows = [Asked(prompt, limit) for prompt, limit in zip(prompts, limits, strict=True)]
        batch, waiting = Batch(model, {end}), list(rows)
        while waiting or batch.rows:
            for _ in range(draw.randrange(0, 3)):
                if waiting and len(batch.rows) < 5:
                    batch.enter(waiting.pop(0))
            if batch.rows:
                batch.step()

    assert [(row.new, row.reason) for row in rows] == expected
    assert {reason for _, reason in expected} == {"stop", "length"}
    assert all(row.done.is_set() for row in rows)
