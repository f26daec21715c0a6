"""A cross-encoder trained on MedQuAD (Nautiyal et al., section 7.1) from all-MiniLM-L6-v2, on a CPU or a GPU.

    python bench/papers/nautiyal_training.py prepare --data pairs.jsonl.gz --to FOLDER
    python bench/papers/nautiyal_training.py train --data pairs.jsonl.gz --to FOLDER --weights FOLDER [--seeds 0 1 2]
    python bench/page.py papers/nautiyal:cross-encoder --data pairs.jsonl.gz --trained FOLDER

`prepare` searches for all questions once (CPU, about 20 minutes): the rankings to rerank, and the wrong pairs to train
with. `train` makes two models for each seed. Each is trained on one half of the focus areas and scores the questions of
the other half: no model has read a question or an answer of the areas that it is measured on. Areas that share a
question text are in the same half. EDU_RAG_DEVICE=cuda chooses a GPU.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nautiyal_medquad import CANDIDATES, METHODS, K, Medquad, Search, first_of_areas, random_runs, read

from baselines.embed import DEFAULT_MODEL, locate_encoder
from baselines.models import device
from baselines.rerank.cross_encoder import cross_encoder

PREPARED = "prepared.json.gz"
N_RUNS, N, LARGEST, SEED = 10, 100, 138, 0
HALVES = 2
MAX_QUESTION, CHECKED = 64, 20


class Settings(NamedTuple):
    """How a model is trained: chosen before any result was seen, and not changed after."""

    epochs: int = 2
    wrong: int = 5
    groups: int = 32
    rate: float = 5e-5
    warm_up: float = 0.1
    max_tokens: int = 256


Readings = dict[str, list[list[int]]]


def readings(data: Medquad, n_runs: int = N_RUNS, n: int = N) -> Readings:
    """The samples of questions that `nautiyal.py retrieval` measures, by name."""
    return {
        f"random, {n_runs} x {n} (5.1)": random_runs(data, n_runs, n, SEED),
        f"first of each area, {n} (4.8)": [first_of_areas(data, n)],
        f"random in the {LARGEST} largest areas, {n_runs} x {n}": random_runs(data, n_runs, n, SEED, LARGEST),
        f"first of each of {n} of the {LARGEST} largest areas": [first_of_areas(data, n, LARGEST)],
    }


def asked(every: Readings) -> list[int]:
    """The distinct rows of all samples."""
    return sorted({row for runs in every.values() for run in runs for row in run})


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def area_groups(data: Medquad) -> dict[int, str]:
    """The group of each row with a focus: areas whose names differ in case, or that share a question, are one group."""
    above: dict[str, str] = {}

    def first(name: str) -> str:
        while above.setdefault(name, name) != name:
            name = above[name]
        return name

    rows = [row for row, focus in enumerate(data.focus) if focus]
    for row in rows:
        ends = sorted((first("focus " + _folded(data.focus[row])), first("question " + _folded(data.questions[row]))))
        above[ends[1]] = ends[0]
    return {row: first("focus " + _folded(data.focus[row])) for row in rows}


def half_of(group: str) -> int:
    """The half that a group of areas is in: 0 or 1, by the hash of its name."""
    return hashlib.sha256(group.encode()).digest()[0] % HALVES


def prepare(data: Medquad, to: Path, n_questions: int | None, workers: int) -> None:
    """Write the rankings of the measured questions, and the hybrid's wrong pairs of all questions."""
    groups, rows = area_groups(data), asked(readings(data))
    others = sorted(groups) if n_questions is None else random.Random(SEED).sample(sorted(groups), n_questions)
    search = Search(data, [*rows, *others], workers)
    ranked = {row: {str(own): _ranked(search, row, own=own) for own in (True, False)} for row in rows}
    wrong = {}
    for row in others:
        texts = {data.answers[one] for one in search.relevant(row, own=True)}
        found = search.fused(row, CANDIDATES, own=True)
        wrong[row] = [one for one in found if groups.get(one) != groups[row] and data.answers[one] not in texts]
    to.mkdir(parents=True, exist_ok=True)
    _write(to / PREPARED, {"ranked": ranked, "wrong": wrong})
    print(f"{len(ranked)} questions to measure, {len(wrong)} to train with")


def _ranked(search: Search, row: int, *, own: bool) -> dict[str, list[int]]:
    return search.ranked(row, own=own) | {METHODS[-1]: search.fused(row, CANDIDATES, own=own)}


def _write(path: Path, value: Any) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))
    temporary.replace(path)


def by_row(values: Mapping[str, Any]) -> dict[int, Any]:
    """JSON's names are texts: the rows as numbers again."""
    return {int(row): value for row, value in values.items()}


class Prepared(NamedTuple):
    """The content of prepared.json.gz: by row and "True" (own pair kept) or "False", rankings; by row, wrong pairs."""

    ranked: dict[int, dict[str, dict[str, list[int]]]]
    wrong: dict[int, list[int]]


def read_prepared(folder: Path) -> Prepared:
    """Read the file that `prepare` wrote into a folder."""
    found = json.loads(gzip.decompress((folder / PREPARED).read_bytes()))
    return Prepared(by_row(found["ranked"]), by_row(found["wrong"]))


class Group(NamedTuple):
    """A question (its row) with one right answer and some wrong ones, as rows."""

    row: int
    right: int
    wrong: list[int]


def drawn_groups(
    data: Medquad, wrong: Mapping[int, list[int]], half: int, n_wrong: int, draw: random.Random
) -> list[Group]:
    """One group for each question of a half, in a drawn order: the right answer is any of the same focus area.

    Wrong answers are of the same half: those that the hybrid found, and drawn ones where these are too few.
    """
    groups, areas = area_groups(data), data.by_focus()
    inside = [row for row, group in groups.items() if half_of(group) == half]
    known, made = frozenset(inside), []
    for row in (row for row in wrong if row in known):
        found = [one for one in wrong[row] if one in known]
        taken = draw.sample(found, min(n_wrong, len(found)))
        while len(taken) < n_wrong:
            one = draw.choice(inside)
            taken += [one] * (groups[one] != groups[row])
        made.append(Group(row, draw.choice(areas[data.focus[row]]), taken))
    draw.shuffle(made)
    return made


Ids = list[list[int]]


class Texts:
    """Word pieces of all questions and answers, made once; pairs of them as a cross-encoder reads them."""

    def __init__(self, tokenizer: Any, data: Medquad, max_tokens: int, *, with_question: bool = False) -> None:
        self._tokenizer, self._max = tokenizer, max_tokens
        documents = data.for_meaning if with_question else data.answers
        self._questions, self._documents = self._ids(data.questions), self._ids(documents)

    def _ids(self, texts: Sequence[str]) -> Ids:
        cut = {"add_special_tokens": False, "truncation": True, "max_length": self._max}
        found: Ids = self._tokenizer(list(texts), **cut)["input_ids"]
        return found

    def batch(self, pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """The tensors of pairs of a question's and a document's row: `[CLS] question [SEP] document [SEP]`."""
        import torch

        start, end = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        firsts = [[start, *self._questions[row][:MAX_QUESTION], end] for row, _ in pairs]
        rows = [
            first + self._documents[document][: self._max - len(first) - 1] + [end]
            for first, (_, document) in zip(firsts, pairs, strict=True)
        ]
        shape = (len(rows), max(map(len, rows)))
        ids, mask, kinds = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
        for place, (first, row) in enumerate(zip(firsts, rows, strict=True)):
            ids[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
            kinds[place, len(first) : len(row)] = 1
        tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
        return {name: tensor.to(device(), non_blocking=True) for name, tensor in tensors.items()}


def train_model(model: Any, texts: Texts, epochs: Sequence[Sequence[Group]], settings: Settings) -> list[float]:
    """Train on groups: among a group's answers the right one is to have the highest score. Returns the losses."""
    import torch

    batches = [made[at : at + settings.groups] for made in epochs for at in range(0, len(made), settings.groups)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=0.01)
    warm = max(1, round(settings.warm_up * len(batches)))
    steps = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: _height(at, warm, len(batches)))
    losses = []
    model.train()
    for batch in batches:
        pairs = [(group.row, one) for group in batch for one in (group.right, *group.wrong)]
        with torch.autocast(device(), dtype=torch.bfloat16, enabled=device() != "cpu"):
            logits = model(**texts.batch(pairs)).logits
        scores = logits.float().view(len(batch), -1)
        loss = torch.nn.functional.cross_entropy(scores, torch.zeros(len(batch), dtype=torch.long, device=device()))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return [float(loss) for loss in losses]


def _height(at: int, warm: int, whole: int) -> float:
    """The share of the rate at a step: up to 1 while it warms up, then down to 0 in a straight line."""
    return (at + 1) / warm if at < warm else (whole - at) / max(1, whole - warm)


def scored(model: Any, texts: Texts, pairs: Sequence[tuple[int, int]], at_once: int = 256) -> Iterator[float]:
    """The model's score of each pair, in order."""
    import torch

    model.eval()
    with torch.inference_mode():
        for at in range(0, len(pairs), at_once):
            logits = model(**texts.batch(pairs[at : at + at_once])).logits
            yield from logits[:, 0].float().cpu().tolist()


def pairs_to_score(prepared: Prepared, wanted: Callable[[int], bool]) -> list[tuple[int, int]]:
    """The questions with every pair that a reranker may reorder."""
    found = []
    for row, of_row in prepared.ranked.items():
        if wanted(row):
            found += [(row, one) for one in sorted({one for lists in of_row.values() for one in lists[METHODS[-1]]})]
    return found


def loaded(seed: int) -> tuple[Any, Any]:
    """The tokeniser, and the encoder with a new output that is not trained yet."""
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    where = locate_encoder(DEFAULT_MODEL)
    torch.manual_seed(seed)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(where, num_labels=1)
    return transformers.AutoTokenizer.from_pretrained(where), model.to(device())


def train_half(data: Medquad, prepared: Prepared, half: int, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train on one half of the areas and score the other's questions; keeps the weights."""
    began, settings = time.monotonic(), options.settings
    tokenizer, model = loaded(seed)
    texts = Texts(tokenizer, data, settings.max_tokens, with_question=options.document == "pair")
    draw = random.Random(f"{seed} {half}")
    epochs = [drawn_groups(data, prepared.wrong, half, settings.wrong, draw) for _ in range(settings.epochs)]
    losses = train_model(model, texts, [made[: options.most] for made in epochs], settings)
    trained = time.monotonic()
    groups = area_groups(data)
    pairs = pairs_to_score(prepared, lambda row: half_of(groups[row]) != half)
    scores: dict[int, dict[int, float]] = {}
    for (row, document), score in zip(pairs, scored(model, texts, pairs), strict=True):
        scores.setdefault(row, {})[document] = round(score, 5)
    where = options.weights / f"{options.document}-{seed}-{half}"
    model.save_pretrained(where)
    tokenizer.save_pretrained(where)
    tenth = max(1, len(losses) // 10)
    facts = {
        "half": half,
        "questions": len(epochs[0][: options.most]),
        "steps": len(losses),
        "loss, first tenth": sum(losses[:tenth]) / tenth,
        "loss, last tenth": sum(losses[-tenth:]) / tenth,
        "seconds of training": round(trained - began, 1),
        "seconds of scoring": round(time.monotonic() - trained, 1),
    }
    return {"facts": facts, "scores": scores, "where": where}


def same_order(data: Medquad, scores: Mapping[int, Mapping[int, float]], where: Path, options: Any) -> str:
    """For how many questions the part that users configure orders the candidates as these scores do."""
    rank = cross_encoder(str(where), options.settings.max_tokens)
    texts, rows = data.for_meaning if options.document == "pair" else data.answers, list(scores)[:CHECKED]
    same = 0
    for row in rows:
        places = list(scores[row])
        found = [scores[row][places[one.place]] for one in rank(data.questions[row], [texts[p] for p in places], K)]
        same += all(
            abs(one - other) < 0.05 for one, other in zip(found, sorted(scores[row].values())[::-1], strict=False)
        )
    return f"{same} of {len(rows)}"


def train(data: Medquad, options: argparse.Namespace) -> None:
    """Train and score every seed; a seed whose scores are there is left alone."""
    import torch

    torch.set_float32_matmul_precision("high")  # TF32 where the device has it
    prepared = read_prepared(options.to)
    for seed in options.seeds:
        path = options.to / f"scores-{options.document}-{seed}.json.gz"
        if path.is_file():
            continue
        halves = [train_half(data, prepared, half, seed, options) for half in range(HALVES)]
        for one in halves:
            one["facts"]["same order by the part `cross-encoder`"] = same_order(
                data, one["scores"], one["where"], options
            )
        scores = {row: of_row for one in halves for row, of_row in one["scores"].items()}
        where = torch.cuda.get_device_name() if device() == "cuda" else device()
        facts = {"device": where, "torch": torch.__version__, **options.settings._asdict()}
        _write(path, {"settings": facts, "halves": [one["facts"] for one in halves], "scores": scores})
        print(json.dumps([facts, *(one["facts"] for one in halves)], indent=1), flush=True)


def main() -> None:
    """Prepare, or train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "train"))
    parser.add_argument("--data", type=Path, required=True, help="MedQuAD's pairs as JSON lines (gzip)")
    parser.add_argument("--to", type=Path, required=True, help="folder of what is prepared, and of the scores")
    parser.add_argument("--weights", type=Path, help="folder for the trained models (91 MB each); train only")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--document", choices=("answer", "pair"), default="answer", help="what is read of a pair")
    parser.add_argument("--most", type=int, help="questions to train with (of a half, in train), for a first look")
    parser.add_argument("--workers", type=int, default=1, help="processes that search; prepare only")
    parser.add_argument("--max-tokens", type=int, default=Settings().max_tokens)
    options = parser.parse_args()
    options.settings = Settings(max_tokens=options.max_tokens)
    data = read(options.data)
    if options.what == "prepare":
        prepare(data, options.to, options.most, options.workers)
    elif options.weights is None:
        parser.error("train needs --weights")
    else:
        train(data, options)


if __name__ == "__main__":
    main()
