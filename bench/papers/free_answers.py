"""Answers in free text with sources (Nautiyal et al., section 3.7; Mala et al., appendix A): how often "not found".

Runs of bench/papers/paper_runs.py. The questions have choices, which the systems are not shown: a text counts as
correct where the project's rules read the right choice in it, so the rates are lower bounds of what a reader finds.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
from scored_runs import Run, cites_evidence, difference, exam_of, rates, run_of, share, table

from edu_rag.records import Question
from harness.reading.folding import fold_writing

SAMPLE = "stratified-200-seed-0"
SYSTEMS = {
    "Nautiyal et al., hybrid, Qwen2.5-Coder 1.5B": "nautiyal-text-qwen1b",
    "Mala et al., hybrid, Qwen2.5-Coder 1.5B": "mala-text-qwen1b",
    "Nautiyal et al., BM25, SmolLM2 135M": "nautiyal-text-smollm2",
    "Mala et al.'s prompt, BM25, SmolLM2 135M": "mala-text-smollm2",
}


def _row(name: str, run: Run) -> tuple[object, ...]:
    said = [run.predictions[question.question_id] for question in run.exam.questions]
    given = [one.answer for one in said if one.answer is not None]
    unread, rated = sum(one.outcome == "unparseable" for one in run.verdicts), rates(run.outcomes)
    words = f"{fmean(len(one.split()) for one in given):.0f}" if given else "-"
    sourced = sum("Sources: " in (one.response or "") for one in said)
    named = sum(_names_gold(run, question) for question in run.exam.questions)
    shares = (share(n, len(said)) for n in (len(said) - len(given), unread, sourced, named))
    return name, *shares, rated["accuracy"], rated["hallucination"], words


def _names_gold(run: Run, question: Question) -> bool:
    """Whether the right choice's text is in the answer, and no other choice's."""
    answer = fold_writing(run.predictions[question.question_id].answer or "")
    held = [label for label, text in question.choices.items() if fold_writing(text) and fold_writing(text) in answer]
    return held == [run.exam.gold[question.question_id].answer]


def _not_found(name: str, run: Run) -> tuple[object, ...]:
    """How often "not found" is said where the pages are labelled with evidence, and where they are not."""
    silent = np.array([run.predictions[one.question_id].answer is None for one in run.exam.questions])
    known = np.array([one.question_id in run.exam.support.evidence for one in run.exam.questions])
    cited = np.array([cites_evidence(run, one.question_id) for one in run.exam.questions])
    groups = (cited, known & ~cited, ~known)
    return name, *(share(int(silent[group].sum()), int(group.sum())) for group in groups)


def report(folder: Path, split: str, sample: str = SAMPLE) -> str:
    """The tables of the systems that were run."""
    exam = exam_of(folder, sample, split)
    runs = {name: run for name, slug in SYSTEMS.items() if (run := run_of(folder, exam, slug)) is not None}
    shown = ("answer not found %", "no choice read in it %", "with sources %", "only the right choice's words in it %")
    head = ("system, top 3 passages", *shown, "accuracy %", "hallucination %", "words an answer")
    where = ("evidence in what it read", "evidence on its pages only", "no evidence labelled")
    pairs = [(second, first) for first, second in pairwise(runs)]
    rows = [(f"{one} minus {other}", difference(_silent(runs[one]), _silent(runs[other]))) for one, other in pairs]
    compared = [table(('how often "not found"', "points"), rows)] if rows else []
    return "\n\n".join(
        (
            f"{len(exam.questions)} questions, choices not shown.",
            table(head, [_row(name, run) for name, run in runs.items()]),
            '"Not found", by what the labeller finds:',
            table(("system", *where), [_not_found(name, run) for name, run in runs.items()]),
            *compared,
        )
    )


def _silent(run: Run) -> np.ndarray:
    return np.array([run.predictions[q.question_id].answer is None for q in run.exam.questions], dtype=np.int64)
