"""What models say of each candidate sentence of evidence: `pack` the candidates, then `read` and `embed` them.

    python bench/evidence_signs.py pack --dataset RUNS/open-textbooks --dataset RUNS/tqa-val --out CANDIDATES.jsonl.gz
    python bench/evidence_signs.py read CANDIDATES.jsonl.gz --model MODEL.gguf --out SIGNS.npz [--device cuda]
    python bench/evidence_signs.py embed CANDIDATES.jsonl.gz --model FOLDER --out COSINES.npz [--device cuda]

`pack` writes the judged sentences and the best LABELLED candidates of each labelled question, and then the best OTHERS
of each other question, in random order, with their text: keep the file out of the repository. `read` needs torch,
transformers and gguf, and nothing of this project. Of each candidate it writes:

* `letters`: log-probability of each choice after the sentence (true/false: of true and of false),
* `texts`: log-likelihood of each choice's words after the question and the sentence (true/false: log-probability of
  supports, contradicts, neither),
* `judge`: how much likelier "yes" is than "no" as an answer to whether the sentence shows that the key is right,
* `probe`: the score of a linear model of the states of one layer where the model is about to answer `judge`. It is
  fitted on the candidates whose label the file holds; these get the score of a fit without their question,
* `state`: the first N_STATE principal components of these states, as bytes.

`base_letters` and `base_texts` have the same for each question without a sentence. All texts of a question are one
sequence whose tokens see only what comes before them in their own text, so what texts share is read once. With
--seconds it stops in time, and `n_read` says how many questions it read. On a CPU it reads a few sentences a second.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261126
BLOCK = 400
LABELLED = 24
OTHERS = 16
MAX_SENTENCE, MAX_EDGE, MAX_TITLE, MAX_QUESTION, MAX_CHOICE = 600, 140, 80, 800, 160
"""Characters of a text that the model reads."""
MAX_CHOICES = 8
MAX_CHOICE_TOKENS = 12
LAYERS_AT = (0.45, 0.55, 0.65, 0.75, 0.85, 1.0)
"""The layers whose states are tried for the probe, as parts of the model's depth."""
FOLDS = 6
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
N_STATE = 96
MOST_TOKENS = 2_048
"""Tokens of a sequence; a question with more is cut into several."""
PER_FORWARD = {"cpu": 2_048, "cuda": 32_768}
PLACES_AT_ONCE = 2_048
QUESTIONS_AT_ONCE = 64
PASSAGE = "@@PASSAGE@@"
Row = dict[str, Any]


# ---------------------------------------------------------------- pack: needs the datasets and the labels


def pack(folders: Sequence[Path], out: Path, n_others: int) -> None:
    """Write the candidates of the labelled questions, then those of others, in blocks that each can be read.

    In a block, questions that share pages follow each other.
    """
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evidence_labels")]
    from built_dataset import BuiltDataset
    from labelled_spans import for_tuning, untouched

    data = {one.name: one for one in map(BuiltDataset.read, folders)}
    labelled = {
        (one.dataset, one.question_id): (one, half)
        for half, some in (("tune", for_tuning()), ("test", untouched()))
        for one in some
        if one.dataset in data
    }
    others = sorted((name, id_) for name, one in data.items() for id_ in one.questions if one.hits.get(id_))
    others = [key for key in others if key not in labelled]
    random.Random(SEED).shuffle(others)
    others = others[:n_others]
    blocks = [[*labelled], *(others[at : at + BLOCK] for at in range(0, len(others), BLOCK))]
    with out.open("wb") as file:
        for start, some in enumerate(blocks):
            lines = [
                {"dataset": name, **packed(*data[name].exam(id_), *labelled.get((name, id_), (None, "none")))}
                for name, id_ in sorted(some, key=lambda key: (key[0], *data[key[0]].hits.get(key[1], ())))
            ]
            file.write(
                gzip.compress("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode(), mtime=0)
            )
            file.flush()
            n_candidates = sum(len(line["candidates"]) for line in lines)
            print(f"block {start}: {len(some):,} questions, {n_candidates:,} candidates", flush=True)


def packed(question: Any, gold: Any, pages: Sequence[Any], labels: Any, half: str) -> Row:
    """A question as the model reads it, with its candidates."""
    from labelled_spans import is_judged, supports

    from builder.evidence.boosted_support import boosted_trees, span_of
    from builder.evidence.support_model import answers_to_support
    from builder.evidence.support_signs import Place, SignedQuestion

    is_statement = question.kind == "true_false"
    answer = "" if is_statement else question.choices[gold.answer]
    model, signed = boosted_trees(), SignedQuestion(question, answer, pages, gold.home_page).signs()
    scored = [(0.0 if is_statement else model.score(signs), place, signs) for place, signs in signed]
    scored.sort(key=lambda one: -one[0])
    spans = {place: tuple(span_of(pages[place.rank], place, signs)) for _, place, signs in scored}
    found = {place: (score, spans[place]) for score, place, _ in scored[: LABELLED if labels else OTHERS]}
    if labels:
        score_of = {place: score for score, place, _ in scored}
        places = {(page.page_id, *s): Place(r, n) for r, page in enumerate(pages) for n, s in enumerate(page.sentences)}
        for one in labels.sentences:
            place = places[one.page_id, one.start, one.end]
            span = spans.get(place, (one.page_id, one.start, one.end))
            found.setdefault(place, (score_of.get(place, -99.0), span))
    candidates = []
    for place, (score, span) in found.items():
        right = -1
        if labels and half == "tune" and is_judged(span, labels):
            right = int(any(supports(span, sentence) for sentence in labels.sentences))
        candidates.append({**candidate(pages[place.rank], place.number, span), "score": score, "right": right})
    return {
        "id": question.question_id,
        "kind": question.kind,
        "half": half,
        "applies": is_statement or bool(answers_to_support(question, gold)),
        "question": question.text[:MAX_QUESTION],
        "choices": {
            label: text[:MAX_CHOICE] for label, text in itertools.islice(question.choices.items(), MAX_CHOICES)
        },
        "gold": gold.answer,
        "candidates": candidates,
    }


def candidate(page: Any, number: int, span: Sequence[Any]) -> Row:
    """A candidate's place and its texts: the span, and the sentence between the edges of its neighbours."""
    start, end = page.sentences[number]
    before = page.text[slice(*page.sentences[number - 1])] if number else ""
    after = page.text[slice(*page.sentences[number + 1])] if number + 1 < len(page.sentences) else ""
    return {
        "place": [page.page_id, start, end],
        "span": [span[1], span[2]],
        "title": (page.title or "")[:MAX_TITLE],
        "text": _line(page.text[span[1] : span[2]])[:MAX_SENTENCE],
        "window": [_line(before)[-MAX_EDGE:], _line(page.text[start:end])[:MAX_SENTENCE], _line(after)[:MAX_EDGE]],
    }


def _line(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------- the texts that the model reads

LETTERS_ASK = "Read the passage, then reply with the letter of the choice that it supports."
TRUTH_ASK = "Read the passage, then reply with true or false."
JUDGE_ASK = (
    "Does the sentence between >>> and <<< show a reader who knows nothing else that this answer is right? "
    "Reply with yes or no."
)
RELATION_ASK = "What does the passage do?\nA) It supports the statement.\nB) It contradicts it.\nC) Neither."


def choice_lines(question: Row) -> str:
    """The choices, one a line, with capital letters."""
    return "\n".join(f"{label.upper()}) {text}" for label, text in question["choices"].items())


def letters_prompt(question: Row) -> str:
    """The text before and after PASSAGE that asks for a choice."""
    if question["kind"] == "true_false":
        return f"Statement: {question['question']}\n\n{TRUTH_ASK}\n\nPassage: {PASSAGE}"
    return f"Question: {question['question']}\n{choice_lines(question)}\n\n{LETTERS_ASK}\n\nPassage: {PASSAGE}"


def judge_prompt(question: Row) -> str:
    """The text before and after PASSAGE that asks whether the sentence is evidence."""
    answer = question["choices"].get(question["gold"], "?")
    if question["kind"] == "true_false":
        asked = f"Statement: {question['question']}\nAnswer: the statement is {answer}."
    else:
        asked = f"Question: {question['question']}\n{choice_lines(question)}\nAnswer: {answer}"
    return f"{asked}\n\n{JUDGE_ASK}\n\nPage: {PASSAGE}"


def relation_prompt(question: Row) -> str:
    """The text before and after PASSAGE that asks what it does to a statement."""
    return f"Statement: {question['question']}\n\n{RELATION_ASK}\nReply with the letter.\n\nPassage: {PASSAGE}"


def window_text(one: Row) -> str:
    """A candidate with its page's title and the edges of its neighbours."""
    before, sentence, after = one["window"]
    return f"{one['title']}\n{before} >>> {sentence} <<< {after}"


# ---------------------------------------------------------------- sequences that share what their texts share


class Tree:
    """Texts that share their beginnings, as one sequence; a token sees its own text's tokens before it."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.positions: list[int] = []
        self.segment_of: list[int] = []
        self.ends: list[int] = []
        self.depths: list[int] = []
        self.above: list[list[int]] = []

    def add(self, parent: int, ids: Sequence[int]) -> int:
        """Append a segment after another one (-1: at the beginning); its number."""
        number, depth = len(self.above), self.depths[parent] if parent >= 0 else 0
        self.above.append([*(self.above[parent] if parent >= 0 else []), number])
        self.ids += ids
        self.positions += range(depth, depth + len(ids))
        self.segment_of += [number] * len(ids)
        self.ends.append(len(self.ids) - 1)
        self.depths.append(depth + len(ids))
        return number


def attention_bias(trees: Sequence[Tree], length: int, dtype: Any, device: str) -> Any:
    """Which token sees which, (sequences, 1, length, length): 0, or the type's smallest number where it does not."""
    import torch

    most = max(len(one.above) for one in trees) + 1
    above = np.zeros((len(trees), most, most), dtype=bool)
    above[:, most - 1, most - 1] = True  # what fills a sequence up sees itself
    segments = np.full((len(trees), length), most - 1)
    for n, one in enumerate(trees):
        segments[n, : len(one.ids)] = one.segment_of
        for number, line in enumerate(one.above):
            above[n, number, line] = True
    at, rows = torch.from_numpy(segments).to(device), torch.arange(len(trees), device=device)[:, None, None]
    allowed = torch.from_numpy(above).to(device)[rows, at[:, :, None], at[:, None, :]].tril()
    bias = torch.zeros(allowed.shape, dtype=dtype, device=device)
    return bias.masked_fill_(~allowed, torch.finfo(dtype).min)[:, None]


class Reading(NamedTuple):
    """What to look up in a tree: at `at[n]` the model is about to say one of the tokens of `of[n]` (groups)."""

    tree: Tree
    question: int
    asked: list[tuple[str, int, int, int, list[list[int]]]]
    """What it is for, the candidate (-1: none), the choice (-1: all), the place, the groups of tokens."""


class Words:
    """The tokens of a model's vocabulary that the prompts need."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.yes_no = [self.saying("yes"), self.saying("no")]
        self.truth = {"true": self.saying("true"), "false": self.saying("false")}
        self.letters = {letter: self.saying(letter) for letter in "abcdefghij"}

    def saying(self, word: str) -> list[int]:
        """The single tokens that say a word, without and with a space before it, in its usual cases."""
        forms = {space + form for form in (word, word.upper(), word.capitalize()) for space in ("", " ")}
        rows = [self.ids(form) for form in sorted(forms)]
        return sorted({row[0] for row in rows if len(row) == 1})

    def ids(self, text: str) -> list[int]:
        """The tokens of a text."""
        found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def all_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of several texts."""
        found: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
        return found

    def chat(self, user: str) -> tuple[str, str]:
        """A prompt in the model's template: what comes before PASSAGE, and what after."""
        if not self.tokenizer.chat_template:
            head, _, tail = user.partition(PASSAGE)
            return head, f"{tail}\n\nReply:"
        turns = [{"role": "user", "content": user}]
        head, _, tail = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True).partition(
            PASSAGE
        )
        return head, tail


def trees_of(question: Row, number: int, words: Words) -> Iterator[Reading]:
    """The sequences of a question, each with as many candidates as fit."""
    is_statement = question["kind"] == "true_false"
    asks = letters_prompt(question), judge_prompt(question), relation_prompt(question)
    heads_tails = [words.chat(ask) for ask in (asks if is_statement else asks[:2])]
    heads = words.all_ids([head for head, _ in heads_tails])
    tails = words.all_ids([tail for _, tail in heads_tails])
    plain = words.ids(f"Question: {question['question']}\nPassage: ")
    choices = [ids[:MAX_CHOICE_TOKENS] for ids in words.all_ids([f" {t}" for t in question["choices"].values()])]
    answer, nothing = words.ids("\nAnswer:"), words.ids("(no passage)")
    texts = words.all_ids([one["text"] for one in question["candidates"]])
    windows = words.all_ids([window_text(one) for one in question["candidates"]])
    labels = [words.truth.get(t.strip(" .").casefold(), []) for t in question["choices"].values()]
    said = labels if is_statement else [words.letters[label] for label in question["choices"]]

    def start() -> tuple[Reading, list[int]]:
        tree = Tree()
        roots = [tree.add(-1, head) for head in heads]
        return Reading(tree, number, []), [*roots, *([] if is_statement else [tree.add(-1, plain)])]

    def add(reading: Reading, roots: Sequence[int], n: int, text: list[int], window: list[int] | None) -> None:
        tree, asked = reading.tree, reading.asked
        asked.append(("letters", n, -1, tree.ends[tree.add(tree.add(roots[0], text), tails[0])], said))
        if window is not None:
            at = tree.ends[tree.add(tree.add(roots[1], window), tails[1])]
            asked.append(("judge", n, -1, at, words.yes_no))
        if is_statement:
            at = tree.ends[tree.add(tree.add(roots[2], text), tails[2])]
            asked.append(("relation", n, -1, at, [words.letters[letter] for letter in "abc"]))
            return
        end = tree.add(roots[2], [*text, *answer])
        for choice, ids in enumerate(choices):
            last = tree.add(end, ids[:-1]) if len(ids) > 1 else end
            for place, token in enumerate(ids):
                at = tree.ends[end] if place == 0 else tree.ends[last] - (len(ids) - 2) + place - 1
                asked.append(("texts", n, choice, at, [[token]]))

    reading, roots = start()
    add(reading, roots, -1, nothing, None)
    for n, (text, window) in enumerate(zip(texts, windows, strict=True)):
        if len(reading.tree.ids) > MOST_TOKENS - 2 * len(text) - len(window) - sum(map(len, choices)) - 40:
            yield reading
            reading, roots = start()
        add(reading, roots, n, text, window)
    yield reading


# ---------------------------------------------------------------- the model


def _source(where: str) -> tuple[str, dict[str, str]]:
    path = Path(where)
    return str(path.parent if path.is_file() else path), {"gguf_file": path.name} if path.is_file() else {}


def tokenizer_of(where: str) -> Any:
    """The tokeniser of a GGUF file or a folder."""
    import transformers

    library: Any = transformers
    source, extra = _source(where)
    return library.AutoTokenizer.from_pretrained(source, **extra)


def load(where: str, device: str) -> Any:
    """The model of a GGUF file or a folder: float32 on a CPU, bfloat16 elsewhere."""
    import gguf
    import torch
    import transformers

    library: Any = transformers
    for name in ("GGUFReader", "get_tensor_name_map"):  # the file is parsed several times; once is enough
        setattr(gguf, name, functools.cache(getattr(gguf, name)))
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    source, extra = _source(where)
    model = library.AutoModelForCausalLM.from_pretrained(source, dtype=dtype, attn_implementation="sdpa", **extra)
    return model.eval().to(device)


class Reader:
    """A model that reads sequences in batches and looks up what each Reading asks."""

    def __init__(self, model: Any, device: str) -> None:
        import torch

        self.torch, self.model, self.device = torch, model, device
        depth = model.config.num_hidden_layers
        self.layers = [round(part * depth) for part in LAYERS_AT]
        self.n_tokens = 0

    def batches(self, readings: Iterable[Reading]) -> Iterator[list[Reading]]:
        """Readings of like length, as many as the machine reads at once."""
        most, batch, longest = PER_FORWARD[self.device], list[Reading](), 0
        for one in sorted(readings, key=lambda one: len(one.tree.ids)):
            longest = max(longest, len(one.tree.ids))
            if batch and longest * (len(batch) + 1) > most:
                yield batch
                batch, longest = [], len(one.tree.ids)
            batch.append(one)
        if batch:
            yield batch

    def read(self, batch: Sequence[Reading]) -> tuple[list[list[float]], Any]:
        """For each asked place of each reading the log-probabilities of its groups; the states of the judged places."""
        torch = self.torch
        length = -(-max(len(one.tree.ids) for one in batch) // 8) * 8
        ids = np.zeros((len(batch), length), dtype=np.int64)
        positions = np.zeros((len(batch), length), dtype=np.int64)
        for n, one in enumerate(batch):
            ids[n, : len(one.tree.ids)], positions[n, : len(one.tree.ids)] = one.tree.ids, one.tree.positions
            self.n_tokens += len(one.tree.ids)
        with torch.inference_mode():
            out = self.model.model(
                input_ids=torch.from_numpy(ids).to(self.device),
                position_ids=torch.from_numpy(positions).to(self.device),
                attention_mask=attention_bias([one.tree for one in batch], length, self.model.dtype, self.device),
                use_cache=False,
                output_hidden_states=True,
            )
            places = [(n, asked[3]) for n, one in enumerate(batch) for asked in one.asked]
            groups = [asked[4] for one in batch for asked in one.asked]
            where = torch.tensor(places, device=self.device)
            last = out.last_hidden_state[where[:, 0], where[:, 1]]
            found = list(itertools.chain.from_iterable(self.said(last, groups)))
            judged = [n for n, asked in enumerate(a for one in batch for a in one.asked) if asked[0] == "judge"]
            at = where[judged]
            states = torch.stack([out.hidden_states[layer][at[:, 0], at[:, 1]] for layer in self.layers], 1)
        return found, states.float().cpu().numpy().astype(np.float16)

    def said(self, states: Any, groups: Sequence[list[list[int]]]) -> Iterator[list[list[float]]]:
        """The log-probability of each group of tokens after each state."""
        torch = self.torch
        for start in range(0, len(groups), PLACES_AT_ONCE):
            some = groups[start : start + PLACES_AT_ONCE]
            table = torch.log_softmax(self.model.lm_head(states[start : start + PLACES_AT_ONCE]).float(), dim=-1)
            flat = [(n, token) for n, lists in enumerate(some) for group in lists for token in group]
            picked = torch.tensor(flat, device=self.device)
            values = iter(table[picked[:, 0], picked[:, 1]].cpu().numpy().astype(np.float64).tolist())
            yield [[_sum_of(list(itertools.islice(values, len(group)))) for group in lists] for lists in some]


def _sum_of(logprobs: Sequence[float]) -> float:
    """The logarithm of the sum of probabilities; very small for none."""
    if len(logprobs) > 1:
        return float(np.logaddexp.reduce(logprobs))
    return logprobs[0] if logprobs else -99.0


# ---------------------------------------------------------------- the probe


def folds_of(questions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The fold of each row: rows of a question are in one."""
    numbers = np.unique(questions)
    drawn = np.random.default_rng(SEED).permutation(len(numbers)) % FOLDS
    return drawn[np.searchsorted(numbers, questions)]


def average_precision(scores: NDArray[Any], right: NDArray[Any]) -> float:
    """The mean of the precision at each right row, from the best score on."""
    order = right[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(order) / np.arange(1, len(order) + 1))[order > 0].mean()) if order.any() else 0.0


def ridge(torch: Any, states: Any, wanted: Any) -> Any:
    """Weights by penalty, (penalties, columns), of linear models for standardised states; the last is the bias."""
    ones = torch.cat([states, torch.ones_like(states[:, :1])], 1)
    gram, cross = ones.T @ ones / len(ones), ones.T @ wanted / len(ones)
    eye = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    eye[-1, -1] = 0.0
    return torch.stack([torch.linalg.solve(gram + penalty * eye, cross) for penalty in PENALTIES])


class Probe(NamedTuple):
    """A linear model of the standardised states of one layer, and the components that are kept of them."""

    layer: int
    middle: NDArray[np.float32]
    spread: NDArray[np.float32]
    weights: NDArray[np.float32]
    components: NDArray[np.float32]

    def standard(self, states: NDArray[np.float16]) -> NDArray[np.float32]:
        """The states of the layer with mean 0 and spread 1."""
        return (states[:, self.layer].astype(np.float32) - self.middle) / self.spread

    def scores(self, states: NDArray[np.float16]) -> NDArray[np.float32]:
        """A score for each row."""
        return self.standard(states) @ self.weights[:-1] + self.weights[-1]


def fit_probe(states: NDArray[np.float16], right: NDArray[Any], questions: NDArray[np.int64], device: str) -> Any:
    """The probe of the best layer and penalty in cross-validation by question, and each row's held-out score."""
    import torch

    known = right >= 0
    folds, best = folds_of(questions[known]), (-1.0, 0, 0, np.zeros(0), None)
    wanted = torch.from_numpy(right[known].astype(np.float64)).to(device)
    for layer in range(states.shape[1]):
        raw = states[known, layer].astype(np.float64)
        middle, spread = raw.mean(0), raw.std(0) + 1e-6
        some = torch.from_numpy((raw - middle) / spread).to(device)
        held_out = np.zeros((len(PENALTIES), len(raw)))
        for fold in range(FOLDS):
            inside, outside = torch.from_numpy(folds != fold).to(device), torch.from_numpy(folds == fold).to(device)
            weights = ridge(torch, some[inside], wanted[inside])
            held_out[:, folds == fold] = (weights[:, :-1] @ some[outside].T + weights[:, -1:]).cpu().numpy()
        for n, row in enumerate(held_out):
            value = average_precision(row, right[known])
            print(f"layer {layer}, penalty {PENALTIES[n]}: average precision {value:.3f}", flush=True)
            if value > best[0]:
                best = (value, layer, n, row, (middle, spread, some))
    _, layer, n, row, (middle, spread, some) = best  # type: ignore[misc]
    weights = ridge(torch, some, wanted)[n].cpu().numpy()
    components = torch.linalg.svd(some - some.mean(0), full_matrices=False)[2][:N_STATE].cpu().numpy()
    held = np.full(len(right), np.nan, dtype=np.float32)
    held[known] = row
    parts = (middle, spread, weights, components)
    return Probe(layer, *(part.astype(np.float32) for part in parts)), held


# ---------------------------------------------------------------- read


def questions_of(path: Path) -> list[Row]:
    """The lines of a packed file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Found:
    """The signs of all candidates that were read, by question and candidate."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int]] = []
        self.signs: dict[tuple[int, int], dict[str, list[float]]] = {}
        self.states: list[NDArray[np.float16]] = []
        self.state_rows: list[tuple[int, int]] = []

    def add(self, batch: Sequence[Reading], values: Sequence[list[float]], states: NDArray[np.float16]) -> None:
        """Keep what a batch gave."""
        all_values = iter(values)
        for one in batch:
            for what, candidate_number, choice, _, _ in one.asked:
                row, value = self.signs.setdefault((one.question, candidate_number), {}), next(all_values)
                if what == "texts":
                    sums = row.setdefault("texts", [0.0] * MAX_CHOICES)
                    sums[choice] += value[0]
                else:
                    row["texts" if what == "relation" else what] = value
                if what == "judge":
                    self.state_rows.append((one.question, candidate_number))
        self.states.append(states)

    def table(self, rows: Sequence[tuple[int, int]], what: str, width: int) -> NDArray[np.float32]:
        """One sign of the rows, filled up with NaN."""
        filled = np.full((len(rows), width), np.nan, dtype=np.float32)
        for n, row in enumerate(rows):
            values = self.signs.get(row, {}).get(what, [])[:width]
            filled[n, : len(values)] = values
        return filled


_WORDS: list[Words] = []


def start_worker(model: str) -> None:
    """Load the tokeniser in a worker process."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _WORDS.append(Words(tokenizer_of(model)))


def readings_of(numbered: Sequence[tuple[int, Row]]) -> list[Reading]:
    """The sequences of some questions."""
    return [reading for number, question in numbered for reading in trees_of(question, number, _WORDS[0])]


def read_all(
    parts: Sequence[Sequence[tuple[int, Row]]],
    reader: Reader,
    ahead: Iterable[list[Reading]],
    found: Found,
    stop_at: float,
) -> int:
    """Read parts of the questions until it is `stop_at`; how many questions were read."""
    n_read = 0
    for part, readings in zip(parts, ahead, strict=True):
        if time.monotonic() > stop_at:
            break
        for batch in reader.batches(readings):
            found.add(batch, *reader.read(batch))
        n_read += len(part)
        print(f"{n_read:,} questions, {reader.n_tokens:,} tokens", flush=True)
    return n_read


def parts_of(questions: Sequence[tuple[int, Row]]) -> list[Sequence[tuple[int, Row]]]:
    """The questions, some at a time."""
    return [questions[at : at + QUESTIONS_AT_ONCE] for at in range(0, len(questions), QUESTIONS_AT_ONCE)]


def read(given: argparse.Namespace) -> None:
    """Read the labelled questions, fit the probe, read the others, write all signs."""
    began = time.monotonic()
    questions = questions_of(given.candidates)[: given.first or None]
    labelled = [(n, one) for n, one in enumerate(questions) if one["half"] != "none"]
    others = [
        (n, {**one, "candidates": one["candidates"][: given.each]})
        for n, one in enumerate(questions)
        if one["half"] == "none"
    ]
    pool = ProcessPoolExecutor(given.workers, get_context("spawn"), start_worker, (given.model,))
    parts, found = parts_of(labelled), Found()
    ahead = pool.map(readings_of, parts)  # begins while the model is loaded
    reader = Reader(load(given.model, given.device), given.device)
    print(f"loaded in {time.monotonic() - began:.0f} s", flush=True)
    stop_at = time.monotonic() + given.seconds
    n_read = read_all(parts, reader, ahead, found, stop_at)
    later = pool.map(readings_of, parts_of(others))  # while the probe is fitted
    right = np.array([questions[q]["candidates"][n]["right"] for q, n in found.state_rows])
    of_question = np.array([q for q, _ in found.state_rows])
    probe, held_out = fit_probe(np.concatenate(found.states), right, of_question, given.device)
    save(given, found, probe, held_out, n_read, reader)
    if n_read == len(labelled) and others:
        n_read += read_all(parts_of(others), reader, later, found, stop_at)
        save(given, found, probe, held_out, n_read, reader)
    pool.shutdown(wait=False, cancel_futures=True)
    print(f"{n_read:,} questions in {time.monotonic() - began:.0f} s")


def save(
    given: argparse.Namespace,
    found: Found,
    probe: Probe,
    held_out: NDArray[Any],
    n_read: int,
    reader: Reader,
) -> None:
    """Write what was found so far. Rows that the probe was fitted on have their held-out score."""
    rows, states = found.state_rows, np.concatenate(found.states)
    scores = probe.scores(states)
    full = scores.copy()
    scores[: len(held_out)] = np.where(np.isnan(held_out), scores[: len(held_out)], held_out)
    parts = probe.standard(states) @ probe.components.T
    scale = np.abs(parts[: len(held_out)]).max(0) / 127
    bases = [(q, -1) for q in sorted({q for q, _ in rows})]
    yes_no = found.table(rows, "judge", 2)
    temporary = given.out.with_suffix(".tmp.npz")
    np.savez_compressed(
        temporary,
        rows=np.array(rows, dtype=np.int32),
        letters=found.table(rows, "letters", MAX_CHOICES).astype(np.float16),
        texts=found.table(rows, "texts", MAX_CHOICES).astype(np.float16),
        judge=(yes_no[:, 0] - yes_no[:, 1]).astype(np.float16),
        probe=scores.astype(np.float32),
        probe_full=full.astype(np.float16),
        state=np.clip(np.round(parts / scale), -127, 127).astype(np.int8),
        state_scale=scale.astype(np.float32),
        bases=np.array([q for q, _ in bases], dtype=np.int32),
        base_letters=found.table(bases, "letters", MAX_CHOICES).astype(np.float16),
        base_texts=found.table(bases, "texts", MAX_CHOICES).astype(np.float16),
        layer=np.array(reader.layers[probe.layer]),
        middle=probe.middle,
        spread=probe.spread,
        weights=probe.weights,
        components=probe.components.astype(np.float16),
        n_read=np.array(n_read),
        n_tokens=np.array(reader.n_tokens),
        candidates_sha256=np.array(hashlib.sha256(given.candidates.read_bytes()).hexdigest()),
        model=np.array(Path(given.model).name),
    )
    temporary.replace(given.out)
    print(f"wrote {len(rows):,} candidates of {n_read:,} questions", flush=True)


def embed(given: argparse.Namespace) -> None:
    """Write the cosines of each candidate with each choice put to the question, and with the question alone."""
    from sentence_transformers import SentenceTransformer

    questions = questions_of(given.candidates)[: given.first or None]
    model: Any = SentenceTransformer(given.model, device=given.device, local_files_only=True)
    wanted = [
        [*(f"{one['question']} {text}" for text in one["choices"].values()), one["question"]] for one in questions
    ]
    rows = [
        (n, c) for n, one in enumerate(questions) for c in range(len(one["candidates"])) if _is_read(one, c, given.each)
    ]
    spans = [questions[n]["candidates"][c]["text"] for n, c in rows]
    windows = [" ".join(questions[n]["candidates"][c]["window"]) for n, c in rows]
    texts = sorted({*itertools.chain.from_iterable(wanted), *spans, *windows})
    number = {text: n for n, text in enumerate(texts)}
    vectors = model.encode(texts, batch_size=256, normalize_embeddings=True, show_progress_bar=False)
    found = np.full((len(rows), 2, MAX_CHOICES + 1), np.nan, dtype=np.float16)
    for at, (n, _) in enumerate(rows):
        ours = vectors[[number[text] for text in wanted[n]]]
        for which, text in enumerate((spans[at], windows[at])):
            cosines = ours @ vectors[number[text]]
            found[at, which, : len(cosines) - 1], found[at, which, -1] = cosines[:-1], cosines[-1]
    np.savez_compressed(given.out, rows=np.array(rows, dtype=np.int32), cosines=found)
    print(f"wrote {len(rows):,} candidates, {len(texts):,} texts")


def _is_read(question: Row, number: int, each: int) -> bool:
    return question["half"] != "none" or number < each


def main() -> None:
    """Pack or read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("pack", help="write the candidates")
    one.add_argument("--dataset", type=Path, action="append", required=True, help="a built dataset; once for each")
    one.add_argument("--out", type=Path, required=True, help="a file outside of the repository")
    one.add_argument("--others", type=int, default=10_000, help="at most so many questions without labels")
    one.set_defaults(run=lambda given: pack(given.dataset, given.out, given.others))
    two = parts.add_parser("read", help="read them with a model")
    two.add_argument("candidates", type=Path)
    two.add_argument("--model", required=True, help="a GGUF file or a model's folder")
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    two.add_argument("--seconds", type=float, default=86_400, help="start no further questions after these")
    two.add_argument("--first", type=int, default=0, help="read only the first questions")
    two.add_argument("--each", type=int, default=OTHERS, help="candidates of each question without labels")
    two.add_argument("--workers", type=int, default=2, help="processes that cut texts into tokens")
    two.set_defaults(run=read)
    three = parts.add_parser("embed", help="compare them by embeddings")
    three.add_argument("candidates", type=Path)
    three.add_argument("--model", required=True, help="the folder of a sentence-transformers model")
    three.add_argument("--out", type=Path, required=True)
    three.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    three.add_argument("--first", type=int, default=0, help="only the first questions")
    three.add_argument("--each", type=int, default=OTHERS, help="candidates of each question without labels")
    three.set_defaults(run=embed)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
