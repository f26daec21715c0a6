"""A tiny language model with random weights, in a folder as transformers saves one; no weights are downloaded.

It is a real transformer with a tokenizer of its own. Two things make its answers worth scoring: the rows of its head
for a few answers are larger than all others, so that it says one of these, and each of them ends the text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MINI = Path(__file__).resolve().parents[3] / "edu_rag" / "mini" / "questions.jsonl"
ANSWERS = ("A", "B", "C", "D", "I don't know", "A or B")
"""What it can say: a choice, an abstention, or two choices at once, which names none."""
END, PAD = "<|end|>", "<|pad|>"
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}> {{ m['content'] }}\n{% endfor %}<assistant>"
SEED = 1
SPREAD = 0.4
"""Standard deviation of the weights: large, so that all of the prompt decides the answer, not its last word alone."""


def _tokenizer() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    rows = [json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines()]
    texts = [" ".join((row["question"], *row["choices"].values())) for row in rows]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=1_500, initial_alphabet=alphabet, special_tokens=[PAD, END])
    )
    trained.add_tokens([AddedToken(f" {answer}.", normalized=False) for answer in ANSWERS])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=trained, pad_token=PAD, eos_token=END)
    wrapped.chat_template = TEMPLATE
    return wrapped


def write_tiny_model(folder: Path) -> Path:
    """Write model and tokenizer into a folder; the same seed gives the same weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer()
    said = [tokenizer.convert_tokens_to_ids(f" {answer}.") for answer in ANSWERS]
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=8_192,
            initializer_range=SPREAD,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    with torch.no_grad():
        model.lm_head.weight[said] *= 20
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, *said]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
