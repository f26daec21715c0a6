"""Tables of the fine-tuned models of edu_rag_fine_tuning.py: their answers, and the change by training."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from edu_rag_fine_tuning import FACTS, KINDS, SAMPLE, UNTRAINED
from scored_runs import Run, exam_of, p_text, percent, run_of, table

from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.statistics import cluster_ratios, holm, mean_intervals, units_of
from edu_rag.statistics.bootstrap import LEVEL, difference_intervals
from edu_rag.statistics.paired_tests import unit_p
from edu_rag.statistics.points import unit_sums
from harness.exam import Exam
from harness.judging.outcomes import judge

SHOWN = {"alone": "no pages", "pages": "its pages", "other-pages": "other pages"}
NAMES = {UNTRAINED: "untrained", "answers": "trained, no negatives", "negatives": "trained, negatives"}
PAIRS = (("answers", UNTRAINED), ("negatives", UNTRAINED), ("negatives", "answers"))
NEXT_TURN, MAX_SEEDS = "assistant\n", 10
"""The rest of the marks of a turn in a text without special tokens; seeds that are looked for."""
FEW = 10
"""Answers under which a share of them says nothing."""
LETTERS = {"accuracy": "c", "hallucination": "i", "missing": "auf", "unreadable": "uf"}


class Arm(NamedTuple):
    """The outcomes of a model under a condition, a text of letters for each seed."""

    outcomes: list[str]
    seeds: Sequence[int] = ()
    n_cut: int = 0

    def times(self, name: str) -> np.ndarray:
        """For each question, in how many of the seeds its outcome is one of those that the name counts."""
        letters = LETTERS[name]
        return np.array([[letter in letters for letter in text] for text in self.outcomes], dtype=np.int64).sum(axis=0)


def first_turn(run: Run) -> tuple[Run, int]:
    """The run with each answer up to where the model began another turn, and how many answers that shortens."""
    before = {
        question_id: replace(said, answer=said.answer.partition(NEXT_TURN)[0].strip() or None)
        for question_id, said in run.predictions.items()
        if said.answer is not None and NEXT_TURN in said.answer
    }
    predictions = {**run.predictions, **before}
    verdicts = [judge(q, run.exam.gold[q.question_id], predictions.get(q.question_id)) for q in run.exam.questions]
    return run._replace(predictions=predictions, verdicts=verdicts), len(before)


def arms_of(folder: Path, exam: Exam) -> dict[tuple[str, str], Arm]:
    """The outcomes by model and condition, of those that were answered."""
    found = {}
    for condition in KINDS.values():
        for arm in NAMES:
            seeds = [0] if arm == UNTRAINED else range(MAX_SEEDS)
            names = {seed: f"{arm}-{condition}" if arm == UNTRAINED else f"{arm}-{seed}-{condition}" for seed in seeds}
            runs = {seed: run for seed, name in names.items() if (run := run_of(folder, exam, name)) is not None}
            if runs:
                read = {seed: first_turn(run) for seed, run in runs.items()}
                outcomes = [run.outcomes for run, _ in read.values()]
                found[arm, condition] = Arm(outcomes, list(read), sum(n for _, n in read.values()))
    return found


def _rates(arm: Arm, units: np.ndarray | None) -> list[str]:
    n_seeds = len(arm.outcomes)
    rows = np.stack([arm.times(name) for name in LETTERS])
    bounds = mean_intervals(rows, units)
    cells = [
        percent(float(row.mean()) / n_seeds, (low / n_seeds, high / n_seeds))
        for row, (low, high) in zip(rows, bounds, strict=True)
    ]
    right, wrong = arm.times("accuracy"), arm.times("hallucination")
    return [*cells, _of_attempted(right + wrong, wrong, units)]


def _of_attempted(attempted: np.ndarray, wrong: np.ndarray, units: np.ndarray | None) -> str:
    """Wrong of those attempted, with its interval; chapters are drawn whole."""
    if attempted.sum() < FEW:
        return "-"
    places = np.arange(len(wrong)) if units is None else units
    sums, sizes = (np.bincount(places, weights=one).astype(np.int64) for one in (wrong, attempted))
    low, high = np.nanquantile(cluster_ratios(sums[None, :], sizes, 0)[:, 0], (0.025, 0.975))
    return percent(float(wrong.sum() / attempted.sum()), (float(low), float(high)))


def rates_table(arms: Mapping[tuple[str, str], Arm], units: np.ndarray | None) -> str:
    """The shares of outcomes, the mean over the seeds."""
    rows = [
        (SHOWN[condition], NAMES[arm], *_rates(arms[arm, condition], units))
        for condition in KINDS.values()
        for arm in NAMES
        if (arm, condition) in arms
    ]
    head = ("asked with", "model", *(f"{name} %" for name in LETTERS), "wrong of those attempted %")
    return table(head, rows)


class Change(NamedTuple):
    """The difference of two shares of all questions with its interval, and the sign-flip p by chapter."""

    difference: float
    low: float
    high: float
    p: float


def change_of(new: Arm, old: Arm, name: str, units: np.ndarray | None) -> Change:
    """The change of a share of outcomes, each model's the mean over its seeds, whose numbers may differ.

    The counts are brought to the product of both numbers of seeds, so that they stay whole. They can be further apart
    than two points of one answer, which `paired` refuses.
    """
    counts = (new.times(name) * len(old.outcomes), old.times(name) * len(new.outcomes))
    n, scale = len(counts[0]), len(new.outcomes) * len(old.outcomes)
    places = np.arange(n) if units is None else units
    sums = np.stack([unit_sums(one, places) for one in counts])
    [(low, high)] = difference_intervals(sums, np.bincount(places), [(0, 1)], seed=0, level=LEVEL)
    total = int(sums[0].sum() - sums[1].sum())
    return Change(total / n / scale, low / scale, high / scale, unit_p(sums[0] - sums[1]))


def changes_table(arms: Mapping[tuple[str, str], Arm], units: np.ndarray | None) -> str:
    """The change by training, on the same questions, with p after Holm over the whole table."""
    keys, found = [], []
    for condition in KINDS.values():
        for second, first in PAIRS:
            if not {(second, condition), (first, condition)} <= set(arms):
                continue
            for name in ("accuracy", "hallucination", "missing"):
                keys.append((condition, second, first))
                found.append(change_of(arms[second, condition], arms[first, condition], name, units))
    if not found:
        return "No trained model was compared.\n"
    adjusted = holm([one.p for one in found])
    cells = [
        f"{percent(one.difference, (one.low, one.high), sign=True)}, p {p_text(p)}"
        for one, p in zip(found, adjusted, strict=True)
    ]
    rows = [
        (SHOWN[condition], f"{NAMES[second]} − {NAMES[first]}", *cells[at : at + 3])
        for at, (condition, second, first) in enumerate(keys)
        if at % 3 == 0
    ]
    return table(("asked with", "difference of", "accuracy", "hallucination", "missing"), rows)


def seeds_table(arms: Mapping[tuple[str, str], Arm]) -> str:
    """Each seed's accuracy, hallucination and missing answers."""
    rows = []
    for (arm, condition), one in arms.items():
        if arm != UNTRAINED:
            for seed, text in zip(one.seeds, one.outcomes, strict=True):
                shares = [sum(text.count(letter) for letter in LETTERS[name]) / len(text) for name in list(LETTERS)[:3]]
                rows.append((SHOWN[condition], NAMES[arm], seed, *map(percent, shares)))
    return table(("asked with", "model", "seed", "accuracy %", "hallucination %", "missing %"), rows)


def left_out(arms: Mapping[tuple[str, str], Arm]) -> list[str]:
    """Sentences on what was not answered, and on what was not read of the answers."""
    lacking = [f"{NAMES[a]}, {SHOWN[c]}" for c in KINDS.values() for a in NAMES if (a, c) not in arms]
    cut = [f"{NAMES[a]}, {SHOWN[c]}: {one.n_cut}" for (a, c), one in arms.items() if one.n_cut]
    notes = [f"**Not measured**: {'; '.join(lacking)}."] if lacking else []
    return notes + ([f"Answers read up to where the model began another turn: {'; '.join(cut)}."] if cut else [])


def training_table(folder: Path) -> str:
    """How each model was trained."""
    facts = [json.loads(line) for line in (folder / FACTS).read_text(encoding="utf-8").splitlines()]
    return table(list(facts[0]), [list(one.values()) for one in facts])


def always(dataset: Dataset, exam: Exam) -> str:
    """The share that a system gets right which always names the letter that is right most often in the dev split."""
    letter = Counter(gold.answer for gold in dataset.records("gold", "dev", Gold)).most_common(1)[0][0]
    right = sum(exam.gold[question.question_id].answer == letter for question in exam.questions)
    return (
        f"Always `{letter}`, the most frequent right letter of dev: accuracy {percent(right / len(exam.questions))} %."
    )


def fine_tuning(folder: Path) -> None:
    """Print all tables."""
    exam = exam_of(folder, SAMPLE, "test")
    lessons = [question.lesson for question in exam.questions]
    units, arms = units_of(lessons, len(lessons)), arms_of(folder, exam)
    print(f"{len(exam.questions)} questions ({SAMPLE}) of {len(set(lessons))} chapters.")
    print("95 % intervals over questions, chapters drawn whole; trained models: the mean over their seeds, whose")
    print("differences the intervals do not cover.")
    print(f"{always(Dataset(folder / 'dataset'), exam)}\n")
    print("\n\n".join(left_out(arms)), end="\n\n")
    print(rates_table(arms, units))
    print("On the same questions, in points; exact sign-flip p by chapter after Holm over this table:\n")
    print(changes_table(arms, units))
    print(seeds_table(arms))
    if (folder / FACTS).is_file():
        print(f"Training:\n\n{training_table(folder)}")
