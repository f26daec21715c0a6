"""Fine-tuning of section 6.1 (EDU-RAG): SmolLM2 135M by LoRA, with and without negatives, on a CPU or a GPU.

    python bench/papers/edu_rag_fine_tuning.py prepare --dataset DATASET --to FOLDER
    python bench/papers/edu_rag_fine_tuning.py answer --to FOLDER [--seeds 0 1 2]
    python bench/page.py papers/edu_rag:fine-tuning --run FOLDER

`prepare` writes what `edu-rag dataset export` does: all pairs of the split dev, and a sample of the test split's.
`answer` needs `pip install peft` (no extra installs it). It answers the sample three ways (alone, with the
questions' pages, with pages of other questions) by the untrained model, and for each seed by two trained ones:
`answers` learns from pairs of the kinds qa and qa-pages, `negatives` from these and the negatives, where the answer is
"I don't know". Predictions go to FOLDER/submissions, as `edu-rag score` reads them, and adapters to FOLDER/adapters;
those that are there are kept. For the figures FOLDER/dataset is the dataset. EDU_RAG_DEVICE=cuda chooses a GPU.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from baselines.edu_rag_paper import MAX_CHARS
from baselines.gguf_model import LocalModel
from baselines.models import device
from baselines.prompts.generate import MAX_ABSTAIN_TOKENS, says_unknown
from baselines.prompts.prompt import FilledPrompt
from builder.exports.export_pairs import Export, export, pairs
from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import write_records
from edu_rag.names import Sample
from edu_rag.scorecard.card import Prediction

MODEL = "smollm2-135m"
KINDS = {"qa": "alone", "qa-pages": "pages", "negatives": "other-pages"}
"""The kinds of exported pairs, and the condition that a test question is asked under by such a prompt."""
ARMS = {"answers": ("qa", "qa-pages"), "negatives": ("qa", "qa-pages", "negatives")}
UNTRAINED = "untrained"
PLACE = Path("predictions/open-textbooks-1.0.0")
SAMPLE, SEED = "stratified-500-seed-0", 0
FACTS = "training.jsonl"


class Settings(NamedTuple):
    """How a model is trained: chosen before any result was seen, and not changed after."""

    epochs: int = 3
    batch: int = 16
    rate: float = 2e-4
    warm_up: float = 0.1
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    bfloat16: bool = True
    """Whether matrices are multiplied in bfloat16, weights and sums kept in float32."""


class Line(NamedTuple):
    """An exported pair: the prompt, and the right answer."""

    kind: str
    question_id: str
    prompt: FilledPrompt
    answer: str


def read_pairs(path: Path) -> list[Line]:
    """The pairs that `edu-rag dataset export` wrote."""
    lines = []
    with path.open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            said = {one["role"]: one["content"] for one in row["messages"]}
            prompt = FilledPrompt(system=said["system"], user=said["user"], made_from=f"export {row['kind']}")
            lines.append(Line(row["kind"], row["question_id"], prompt, said["assistant"]))
    return lines


class Example(NamedTuple):
    """Token ids of a prompt and of its answer with the mark that ends the turn."""

    prompt: list[int]
    answer: list[int]


def end_of(local: LocalModel) -> int:
    """The token that ends a turn. Some versions of transformers read another one for the tokeniser of a GGUF file."""
    ends = local.model.generation_config.eos_token_id
    return int(ends[0] if isinstance(ends, list) else ends)


def example(local: LocalModel, line: Line) -> Example:
    """A pair as the model reads it."""
    answer = local.tokenizer(line.answer, add_special_tokens=False)["input_ids"]
    return Example(local.prompt_ids(line.prompt), [*answer, end_of(local)])


def batches_of(examples: Sequence[Example], settings: Settings, draw: random.Random) -> list[list[Example]]:
    """The batches of all epochs, each epoch in a drawn order."""
    made = []
    for _ in range(settings.epochs):
        order = draw.sample(examples, len(examples))
        made += [order[at : at + settings.batch] for at in range(0, len(order), settings.batch)]
    return made


def multiplying(settings: Settings) -> Any:
    """Multiply in the precision of the settings while this lasts."""
    import torch

    return torch.autocast(device(), dtype=torch.bfloat16, enabled=settings.bfloat16)


def _loss(model: Any, batch: Sequence[Example], settings: Settings) -> Any:
    """The mean over the batch's answer tokens of what the model finds unlikely about them."""
    import torch

    rows = [[*one.prompt, *one.answer] for one in batch]
    ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for place, (one, row) in enumerate(zip(batch, rows, strict=True)):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
        labels[place, len(one.prompt) : len(row)] = torch.tensor(one.answer)
    ids, mask, labels = (tensor.to(device()) for tensor in (ids, mask, labels))
    with multiplying(settings):
        hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        wanted = labels[:, 1:] != -100  # what follows a token is read at that token
        logits = model.lm_head(hidden[:, :-1][wanted])
    return torch.nn.functional.cross_entropy(logits.float(), labels[:, 1:][wanted], reduction="sum") / wanted.sum()


def train(model: Any, batches: Sequence[Sequence[Example]], settings: Settings, at_once: int) -> list[float]:
    """Train the adapter; a batch is read in parts of `at_once` pairs. Returns the loss of each batch."""
    import torch

    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=settings.rate)
    warm, losses = max(1, round(settings.warm_up * len(batches))), []
    model.train()
    for number, batch in enumerate(batches):
        share = (number + 1) / warm if number < warm else (len(batches) - number) / max(1, len(batches) - warm)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * share
        whole = 0.0
        ordered = sorted(batch, key=lambda one: len(one.prompt))
        for start in range(0, len(ordered), at_once):
            part = ordered[start : start + at_once]
            loss = _loss(model, part, settings) * (len(part) / len(batch))
            loss.backward()
            whole += loss.detach()
        torch.nn.utils.clip_grad_norm_([one for one in model.parameters() if one.requires_grad], 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(whole)
    return [float(loss) for loss in losses]


def said(
    local: LocalModel, prompts: Sequence[list[int]], at_once: int, settings: Settings
) -> Iterator[tuple[int, str]]:
    """The place of each prompt and what the model generates after it, greedily; prompts of a length together."""
    import torch

    pad, most = end_of(local), MAX_ABSTAIN_TOKENS
    order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
    model = local.model.eval()
    for start in range(0, len(order), at_once):
        places = order[start : start + at_once]
        width = max(len(prompts[place]) for place in places)
        ids = torch.tensor([[pad] * (width - len(prompts[p])) + prompts[p] for p in places], device=device())
        mask = torch.tensor([[0] * (width - len(prompts[p])) + [1] * len(prompts[p]) for p in places], device=device())
        with torch.no_grad(), multiplying(settings):
            new = model.generate(
                input_ids=ids, attention_mask=mask, do_sample=False, max_new_tokens=most, pad_token_id=pad
            )
        texts = local.tokenizer.batch_decode(new[:, width:], skip_special_tokens=True)
        yield from zip(places, texts, strict=True)


def prediction(line: Line, text: str) -> Prediction:
    """The model's text as an answer, by the rule of the style `abstain`."""
    answer = None if says_unknown(text) else text.strip() or None
    return Prediction(question_id=line.question_id, answer=answer, response=repr(text))


def place_of(folder: Path, arm: str, condition: str) -> Path:
    """The file of predictions of a model (with its seed) under a condition."""
    return folder / "submissions" / f"{arm}-{condition}" / PLACE / f"test-{SAMPLE}.jsonl"


def ask(local: LocalModel, asked: Mapping[str, Sequence[Line]], arm: str, options: Any) -> None:
    """Answer all questions under all conditions."""
    for kind, condition in KINDS.items():
        path, lines = place_of(options.to, arm, condition), asked[kind]
        if path.is_file():
            continue
        found = dict(said(local, [local.prompt_ids(line.prompt) for line in lines], options.at_once, options.settings))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_records(path, (prediction(line, found[place]) for place, line in enumerate(lines)))


def adapted(local: LocalModel, settings: Settings, seed: int) -> Any:
    """Put a new adapter on all linear layers of the model; the result can take it off again."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(local.model, config)


def trained(local: LocalModel, examples: Sequence[Example], name: str, seed: int, options: Any) -> Any:
    """Train an adapter and keep it in the folder, or take the one that is there; it is on the model afterwards."""
    from peft import PeftModel

    where = options.to / "adapters" / name
    if where.is_dir():
        _require_same(options.to, name, options.settings)
        return PeftModel.from_pretrained(local.model, where)
    began, settings = time.monotonic(), options.settings
    adapter = adapted(local, settings, seed)
    losses = train(local.model, batches_of(examples, settings, random.Random(seed)), settings, options.train_at_once)
    tenth = max(1, len(losses) // 10)
    _note(options.to, name, len(examples), losses[:tenth], losses[-tenth:], time.monotonic() - began, settings)
    unfinished = where.with_name(f".{name}")
    adapter.save_pretrained(unfinished)
    unfinished.rename(where)
    return adapter


def train_and_ask(
    local: LocalModel, lines: Sequence[Line], asked: Mapping[str, Sequence[Line]], arm: str, seed: int, options: Any
) -> None:
    """Train one model and let it answer; a run that was interrupted goes on with the same adapter."""
    name = f"{arm}-{seed}"
    if all(place_of(options.to, name, condition).is_file() for condition in KINDS.values()):
        return
    examples = [example(local, line) for line in lines if line.kind in ARMS[arm]]
    adapter = trained(local, examples, name, seed, options)
    ask(local, asked, name, options)
    adapter.unload()


def _require_same(to: Path, name: str, settings: Settings) -> None:
    """Raise SystemExit where the model in the folder was trained with other settings."""
    rows = (json.loads(line) for line in (to / FACTS).read_text(encoding="utf-8").splitlines())
    kept = [row for row in rows if row["model"] == name][-1]
    other = [key for key, value in settings._asdict().items() if kept.get(key) != value]
    if other:
        raise SystemExit(f"{to}: {name} was trained with another {', '.join(other)}: give another folder as --to")


def _note(
    to: Path, name: str, n: int, first: Sequence[float], last: Sequence[float], seconds: float, settings: Settings
) -> None:
    """Add how a model was trained to the folder's record."""
    import torch

    facts = {
        "model": name,
        "pairs": n,
        "loss, first tenth": round(sum(first) / len(first), 3),
        "loss, last tenth": round(sum(last) / len(last), 3),
        "seconds of training": round(seconds),
        "device": torch.cuda.get_device_name() if device() == "cuda" else device(),
        **settings._asdict(),
    }
    with (to / FACTS).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(facts) + "\n")
    print(json.dumps(facts), flush=True)


def sampled(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The test prompts by kind. Raises SystemExit where a question lacks one."""
    found = {kind: [line for line in lines if line.kind == kind] for kind in KINDS}
    ids = {kind: {line.question_id for line in some} for kind, some in found.items()}
    if any(one != ids["qa"] for one in ids.values()):
        raise SystemExit(f"prompts of kinds: { ({kind: len(one) for kind, one in ids.items()}) }: prepare them again")
    return found


def prepare(dataset: Dataset, to: Path, sample: str, max_characters: int) -> None:
    """Write the pairs to train with, and the prompts of the sample."""
    to.mkdir(parents=True, exist_ok=True)
    settings = Export(kinds=tuple(KINDS), split="dev", seed=SEED, max_characters=max_characters)
    export(dataset, settings, to / "dev.jsonl")
    ids = {question.question_id for question in choose(dataset.questions("test"), Sample.parse(sample))}
    counts: Counter[str] = Counter()
    made = pairs(dataset, replace(settings, split="test"), counts)
    write_records(to / "test.jsonl", (pair for pair in made if pair.question_id in ids))
    print(dict(counts))


def answer(options: argparse.Namespace) -> None:
    """The untrained model, then both trained ones of each seed."""
    local = LocalModel(MODEL)
    asked = sampled(read_pairs(options.to / "test.jsonl"))
    asked = {kind: some[: options.questions] for kind, some in asked.items()}
    lines = read_pairs(options.to / "dev.jsonl")[: options.most]
    ask(local, asked, UNTRAINED, options)
    for seed in options.seeds:
        for arm in ARMS:
            train_and_ask(local, lines, asked, arm, seed, options)


def main() -> None:
    """Train and answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "answer"))
    parser.add_argument("--dataset", type=Path, help="folder of open-textbooks; prepare only")
    parser.add_argument("--sample", default=SAMPLE, help="which test questions are asked; prepare only")
    parser.add_argument("--max-characters", type=int, default=MAX_CHARS, help="of pages in a prompt; prepare only")
    parser.add_argument("--to", type=Path, required=True, help="folder of the exported pairs, and of the predictions")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--most", type=int, help="pairs to read of the dev split, for a first look")
    parser.add_argument("--questions", type=int, help="test questions to ask, for a first look")
    parser.add_argument("--epochs", type=int, default=Settings().epochs)
    parser.add_argument(
        "--float32", action="store_true", help="multiply in float32: for a processor that is slow in bfloat16"
    )
    parser.add_argument("--at-once", type=int, default=32, help="prompts that are answered together")
    parser.add_argument("--train-at-once", type=int, default=8, help="pairs that are read together in training")
    options = parser.parse_args()
    options.settings = Settings(epochs=options.epochs, bfloat16=not options.float32)
    if options.what == "answer":
        answer(options)
    elif options.dataset is None:
        parser.error("prepare needs --dataset")
    else:
        prepare(Dataset(options.dataset), options.to, options.sample, options.max_characters)


if __name__ == "__main__":
    main()
