"""Whether the labelled evidence helps a reader: a 1.5B model with only the labelled sentences, and without any text.

    python bench/functional_check.py --dataset RUNS/open-textbooks --models MODELS --out RUNS/functional

It does not depend on anyone's judgement of the labels. The questions are N of those with evidence, drawn with seed 0;
the system is the EDU-RAG paper's with Qwen2.5-Coder-1.5B, which answers every question, in the sandbox. Stopped, it
goes on. Writes docs/figures/functional-check.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.card import OUTCOME_LETTERS, Prediction
from edu_rag.statistics import paired
from harness.exam import Exam, open_exam
from harness.judging.outcomes import judge
from harness.probing.probe_questions import EvidencePages, draw, source_of
from harness.running.run import Manner, hiding, record_of, run_task
from harness.running.task import Task
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, Submission, open_submission
from harness.submission.predictions_file import read_predictions

ROOT = Path(__file__).resolve().parents[1]
SYSTEM = ROOT / "submissions" / "edu-rag-paper-qwen1b"
PAGE = ROOT / "docs" / "figures" / "functional-check.md"
SEED = 0
GOAL = 0.25
"""The least gain in accuracy by which we call the labels useful."""
MANNER = Manner(limits=Limits(time_s=600, start_s=900), passed=("OMP_WAIT_POLICY",), caps=Caps(memory_bytes=8 << 30))


def drawn(questions: Sequence[Question], evidence: EvidencePages, n: int) -> list[Question]:
    """The n questions with evidence that the seed puts first, in order of id."""
    labelled = [question for question in questions if question.question_id in evidence.pages]
    first = sorted(labelled, key=lambda one: draw(SEED, "functional-check", one.question_id))[:n]
    return sorted(first, key=lambda one: one.question_id)


def answers(submission: Submission, dataset: Dataset, split: str, task: Task, path: Path) -> Mapping[str, Prediction]:
    """The system's answers to a task, made where they are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    manner = hiding(dataset, MANNER)
    if not path.is_file():
        run_task(submission, task, path, record_of(submission, dataset, split, None, manner), manner)
    return read_predictions(path, {question.question_id for question in task.questions})


def letters(exam: Exam, asked: Sequence[Question], said: Mapping[str, Prediction]) -> str:
    """The outcomes of the answers, one letter each."""
    verdicts = (judge(question, exam.gold[question.question_id], said.get(question.question_id)) for question in asked)
    return "".join(OUTCOME_LETTERS[verdict.outcome] for verdict in verdicts)


def report(dataset: Dataset, asked: Sequence[Question], given: str, bare: str) -> str:
    """The page of figures."""
    right = [1.0 if letter == OUTCOME_LETTERS["correct"] else 0.0 for letter in given]
    before = [1.0 if letter == OUTCOME_LETTERS["correct"] else 0.0 for letter in bare]
    found = paired(given, bare, [question.lesson for question in asked])
    gain = (sum(right) - sum(before)) / len(asked)
    n_more, n_less = (sum(a > b for a, b in zip(*pair, strict=True)) for pair in ((right, before), (before, right)))
    interval = f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}], {found.p:.2g}"
    return f"""# Functional check of the evidence labels

Written by `python bench/functional_check.py`. {len(asked)} questions of {dataset.id} with evidence (seed {SEED});
`{SYSTEM.name}` answers them with the labelled sentences alone, and without any text.

| figure | value |
| --- | --- |
| right with the labelled sentences | {sum(right) / len(asked):.3f} |
| right without any text | {sum(before) / len(asked):.3f} |
| difference | {gain:+.3f} (goal: {GOAL:+.2f}) |
| right only with the sentences; right only without | {n_more}; {n_less} |
| difference of the score, 95 % interval by chapter, p | {interval} |
"""


def main() -> None:
    """Run both, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--models", type=Path, required=True, help="folder that bench/get_models.py filled")
    parser.add_argument("--out", type=Path, required=True, help="folder of the answers, where a stopped run goes on")
    parser.add_argument("--n", type=int, default=400)
    given = parser.parse_args()
    os.environ |= {
        "EDU_RAG_MODELS": str(given.models.resolve()),
        "HF_HUB_OFFLINE": "1",
        "OMP_WAIT_POLICY": "passive",
    }
    dataset, submission = Dataset(given.dataset), open_submission(SYSTEM)
    source, exam = source_of(dataset, given.split), open_exam(dataset, given.split, None)
    evidence = EvidencePages(source)
    asked = drawn(source.questions, evidence, given.n)
    tasks = {"evidence": Task(asked, evidence.pages, evidence.back), "bare": Task(asked, {})}
    said = {
        name: letters(exam, asked, answers(submission, dataset, given.split, task, given.out / f"{name}.jsonl"))
        for name, task in tasks.items()
    }
    page = report(dataset, asked, said["evidence"], said["bare"])
    PAGE.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
