"""The questions that the model alone fails, by themselves (Mala et al., section 4.3 and appendix D), with a control.

A group chosen for its wrong answers can only gain: any change of the answers makes some of them right. So two more
rows are needed: the same system with another question's pages, and the questions that the model alone gets right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scored_runs import difference, exam_of, p_text, percent, run_of, share, table

from edu_rag.statistics import holm, paired
from harness.judging.outcomes import judge
from harness.submission.predictions_file import read_predictions

SAMPLE = "stratified-500-seed-0"
MODELS = {
    "Gemma 3 270M": (
        "edu-rag-vanilla-gemma3",
        ("mala-sparse", "mala-dense", "mala-hybrid", "nautiyal-bm25", "nautiyal-dense", "nautiyal-hybrid"),
    ),
    "Qwen2.5-Coder 1.5B": ("edu-rag-vanilla-qwen1b", ("edu-rag-paper-qwen1b", "huo-self-check-vanilla")),
}
"""Each model alone, and the systems on the board that ask it."""
PAIRS = tuple(
    (f"{paper}-{second}", f"{paper}-{first}")
    for paper, sparse in (("mala", "sparse"), ("nautiyal", "bm25"))
    for second, first in (("dense", sparse), ("hybrid", sparse), ("hybrid", "dense"))
)
"""Retrievers compared with one reader; Nautiyal et al.'s are without expansion and weights."""
CONTROL = "other-pages"


def outcomes_of(folder: Path, split: str) -> dict[str, str]:
    """One letter a question for each system, and for those with a control, as `SLUG, other pages`."""
    exam = exam_of(folder, SAMPLE, split)
    found: dict[str, str] = {}
    for slug in (name for alone, systems in MODELS.values() for name in (alone, *systems)):
        run = run_of(folder, exam, slug)
        if run is None:
            continue
        found[slug] = run.outcomes
        probe = run.path.parent / "probes" / f"{run.path.stem}.{CONTROL}.jsonl"
        if probe.is_file():
            said = read_predictions(probe, exam.known)
            verdicts = [judge(q, exam.gold[q.question_id], said.get(q.question_id)) for q in exam.questions]
            found[f"{slug}, other pages"] = run._replace(verdicts=verdicts).outcomes
    return found


def _chosen(outcomes: str, kept: np.ndarray) -> str:
    return "".join(letter for letter, one in zip(outcomes, kept, strict=True) if one)


def answer_row(group: str, name: str, outcomes: str) -> tuple[str, ...]:
    """The paper's four rates of a system in a group of questions."""
    n, right, wrong = len(outcomes), outcomes.count("c"), outcomes.count("i")
    adjusted = percent(right / (right + wrong)) if right + wrong else "-"
    return group, f"`{name}`", share(right, n), share(wrong, n), percent((n - right - wrong) / n), adjusted


def _rows(found: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for model, (alone, systems) in MODELS.items():
        for letter, words in (("i", "wrong"), ("c", "right")):
            kept = np.array([one == letter for one in found[alone]])
            group = f"{model} alone {words} ({kept.sum()})"
            for name in (name for name in found if name.partition(",")[0] in systems):
                yield answer_row(group, name, _chosen(found[name], kept))


def right_of(outcomes: str) -> np.ndarray:
    """1 where an answer is right, else 0."""
    return np.array([letter == "c" for letter in outcomes], dtype=np.int64)


def _tests(found: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Right answers with the question's own pages, minus with another question's, in each group."""
    for alone, systems in MODELS.values():
        for slug in (name for name in systems if f"{name}, other pages" in found):
            right = [right_of(found[name]) for name in (slug, f"{slug}, other pages")]
            groups = (np.array([x == letter for x in found[alone]]) for letter in "ic")
            yield f"`{slug}`", *(difference(right[0][kept], right[1][kept]) for kept in groups)


def pair_rows(found: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Right answers with one retriever minus another, in each group of the first model; p after Holm over all."""
    alone, _ = next(iter(MODELS.values()))
    kept = [np.array([x == letter for x in found[alone]]) for letter in "ic"]
    there = [(second, first) for second, first in PAIRS if second in found and first in found]
    sides = [(right_of(found[second])[k], right_of(found[first])[k]) for second, first in there for k in kept]
    adjusted = iter(holm([paired(*pair).p for pair in sides]))
    cells = [f"{difference(*pair)}; Holm {p_text(p)}" for pair, p in zip(sides, adjusted, strict=True)]
    for place, (second, first) in enumerate(there):
        yield f"`{second}` − `{first}`", cells[2 * place], cells[2 * place + 1]


def report(folder: Path, split: str) -> str:
    """The two groups, own pages against other pages in each, and retrievers with the same reader."""
    found = outcomes_of(folder, split)
    head = ("questions (n)", "system", "accuracy %", "hallucination %", "rejection %", "adjusted accuracy %")
    tested = ("accuracy with own pages minus other pages", "model alone wrong", "model alone right")
    compared = ("accuracy", *tested[1:])
    tables = (
        table(head, list(_rows(found))),
        table(tested, list(_tests(found))),
        table(compared, list(pair_rows(found))),
    )
    return "\n\n".join(tables)
