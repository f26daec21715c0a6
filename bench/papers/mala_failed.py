"""The questions that the model alone fails, by themselves (Mala et al., section 4.3 and appendix D), with a control.

A group chosen for its wrong answers can only gain: any change of the answers makes some of them right. So two more
rows are needed: the same system with another question's pages, and the questions that the model alone gets right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scored_runs import difference, exam_of, percent, run_of, share, table

from harness.judging.outcomes import judge
from harness.submission.predictions_file import read_predictions

SAMPLE = "stratified-500-seed-0"
MODELS = {
    "Gemma 3 270M": ("edu-rag-vanilla-gemma3", ("mala-sparse", "nautiyal-bm25")),
    "Qwen2.5-Coder 1.5B": ("edu-rag-vanilla-qwen1b", ("edu-rag-paper-qwen1b", "huo-self-check-vanilla")),
}
"""Each model alone, and the systems on the board that ask it."""
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


def _row(group: str, name: str, outcomes: str) -> tuple[str, ...]:
    n, right, wrong = len(outcomes), outcomes.count("c"), outcomes.count("i")
    adjusted = percent(right / (right + wrong)) if right + wrong else "-"
    return group, f"`{name}`", share(right, n), share(wrong, n), percent((n - right - wrong) / n), adjusted


def _rows(found: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for model, (alone, systems) in MODELS.items():
        for letter, words in (("i", "wrong"), ("c", "right")):
            kept = np.array([one == letter for one in found[alone]])
            group = f"{model} alone {words} ({kept.sum()})"
            for name in (name for name in found if name.partition(",")[0] in systems):
                yield _row(group, name, _chosen(found[name], kept))


def _tests(found: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Right answers with the question's own pages, minus with another question's, in each group."""
    for alone, systems in MODELS.values():
        for slug in (name for name in systems if f"{name}, other pages" in found):
            right = [np.array([x == "c" for x in found[n]], dtype=np.int64) for n in (slug, f"{slug}, other pages")]
            groups = (np.array([x == letter for x in found[alone]]) for letter in "ic")
            yield f"`{slug}`", *(difference(right[0][kept], right[1][kept]) for kept in groups)


def report(folder: Path, split: str) -> str:
    """The two groups, and own pages against other pages in each."""
    found = outcomes_of(folder, split)
    head = ("questions (n)", "system", "accuracy %", "hallucination %", "rejection %", "adjusted accuracy %")
    tested = ("accuracy with own pages minus other pages", "model alone wrong", "model alone right")
    return "\n\n".join((table(head, list(_rows(found))), table(tested, list(_tests(found)))))
