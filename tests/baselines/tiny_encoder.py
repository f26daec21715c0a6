"""A real sentence encoder of random weights, laid out as one from the hub: it loads, cuts, pools and exports."""

from __future__ import annotations

import json
from pathlib import Path

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abcdefghijklmnopqrstuvwxyz",
    *(f"##{one}" for one in "abcdefghijklmnopqrstuvwxyz"),
]
MAX_TOKENS, DIMENSION = 12, 16


def make_tiny_encoder(folder: Path, seed: int = 0) -> Path:
    """Write the encoder; another seed gives other weights. Needs torch and transformers."""
    import torch
    from tokenizers.implementations import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder.mkdir(parents=True)
    pieces = BertWordPieceTokenizer(vocab={word: place for place, word in enumerate(WORDS)})
    named = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP")}
    PreTrainedTokenizerFast(
        tokenizer_object=pieces._tokenizer, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **named
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=DIMENSION,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    )
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": DIMENSION, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder
