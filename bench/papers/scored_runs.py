"""Answers of finished runs with their verdicts, for the pages of the papers: read from a folder, never run here.

The folder holds `dataset/` and `submissions/<slug>/predictions/<dataset>-<version>/<split>-<sample>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from baselines.verify.guard import checked_of
from edu_rag.files.dataset import Dataset
from edu_rag.names import table_name
from edu_rag.scorecard.card import OUTCOME_LETTERS, Prediction, Verdict
from edu_rag.statistics import paired, rate_intervals
from harness.exam import Exam, open_exam
from harness.judging.outcomes import judge
from harness.probing.probe_rates import wilson
from harness.submission.predictions_file import read_predictions

SPLIT = "val"
SAMPLE = "stratified-300-seed-0"


class Run(NamedTuple):
    """A system's predictions on an exam, their verdicts in the exam's order, and where the predictions are."""

    slug: str
    exam: Exam
    predictions: Mapping[str, Prediction]
    verdicts: Sequence[Verdict]
    path: Path

    @property
    def made_on(self) -> str:
        """The dataset's version that was answered, where it is not the exam's."""
        name = self.path.parent.name
        return "" if name == self.exam.dataset.partition("#")[0].replace("@", "-") else f", on {name}"

    @property
    def outcomes(self) -> str:
        """One letter a question, as scorecards have them."""
        return "".join(OUTCOME_LETTERS[verdict.outcome] for verdict in self.verdicts)

    @property
    def wrong(self) -> np.ndarray:
        """1 where the answer is incorrect, else 0: integers of shape (n,)."""
        return np.array([verdict.outcome == "incorrect" for verdict in self.verdicts], dtype=np.int64)

    @property
    def attempted(self) -> np.ndarray:
        """1 where a choice was named, else 0."""
        return np.array([verdict.outcome in ("correct", "incorrect") for verdict in self.verdicts], dtype=np.int64)


def cites_evidence(run: Run, question_id: str) -> bool:
    """Whether labelled evidence is in the passages that the system read."""
    spans = run.exam.support.evidence.get(question_id, {})
    read = run.predictions[question_id].passages
    return any(start < one.end and one.start < end for one in read for start, end in spans.get(one.page_id, ()))


def exam_of(folder: Path, sample: str | None = SAMPLE, split: str = SPLIT) -> Exam:
    """The exam of the folder's dataset; without a sample, of the whole split."""
    return open_exam(Dataset(folder / "dataset"), split, sample)


def run_of(folder: Path, exam: Exam, slug: str) -> Run | None:
    """A system's run on an exam; None where there is none yet.

    Where this version was not run, the newest minor version of the same major is taken: its questions and gold are the
    same, its pages are not (`made_on` names it).
    """
    name = exam.dataset.partition("#")[0].replace("@", "-")
    major, _, _ = name.partition(".")
    folders = sorted((folder / "submissions" / slug / "predictions").glob(f"{major}.*"), reverse=True)
    files = [
        one / f"{table_name(exam.split, exam.sample)}.jsonl"
        for one in sorted(folders, key=lambda one: one.name != name)
    ]
    path = next((one for one in files if one.is_file()), None)
    if path is None:
        return None
    predictions = read_predictions(path, exam.known)
    verdicts = [judge(q, exam.gold[q.question_id], predictions.get(q.question_id)) for q in exam.questions]
    return Run(slug, exam, predictions, verdicts, path)


def restricted(folder: Path, exam: Exam, slug: str) -> Run:
    """A system's run on an exam, or the part of a run on a larger sample. Ends the script where there is none."""
    made_for = exam.dataset.partition("#")[0].replace("@", "-")
    files = sorted((folder / "submissions" / slug / "predictions" / made_for).glob(f"{exam.split}*.jsonl"))
    ids = [question.question_id for question in exam.questions]
    for path in files:
        said = read_predictions(path, exam.known)
        if all(one in said for one in ids):
            verdicts = [judge(q, exam.gold[q.question_id], said[q.question_id]) for q in exam.questions]
            return Run(slug, exam, {one: said[one] for one in ids}, verdicts, path)
    raise SystemExit(f"no run of {slug} in {folder} has all {len(ids)} questions")


def unguarded(run: Run) -> Run:
    """A guarded run as it was before its guard: the answers that its responses tell (baselines.verify.guard)."""
    before = {}
    for question_id, said in run.predictions.items():
        check = checked_of(said.response)
        before[question_id] = said if check is None else replace(said, answer=check.answer)
    verdicts = [judge(q, run.exam.gold[q.question_id], before.get(q.question_id)) for q in run.exam.questions]
    return run._replace(predictions=before, verdicts=verdicts)


def percent(value: float, interval: tuple[float, float] | None = None, *, sign: bool = False) -> str:
    """A share in percent, with its interval."""
    plus = "+" if sign else ""
    shown = f"{100 * value:{plus}.1f}"
    return shown if interval is None else f"{shown} [{100 * interval[0]:{plus}.1f}, {100 * interval[1]:{plus}.1f}]"


def share(n: int, of: int) -> str:
    """`n / of` in percent with its Wilson interval, or a dash of nothing."""
    return "-" if of == 0 else f"{percent(n / of, wilson(n, of))} ({n} of {of})"


def rates(outcomes: str) -> dict[str, str]:
    """Score, accuracy, hallucination and missing in percent with 95 % intervals (exact bootstrap over questions)."""
    n = len(outcomes)
    correct, wrong = outcomes.count("c"), outcomes.count("i")
    values = {"score": correct - wrong, "accuracy": correct, "hallucination": wrong, "missing": n - correct - wrong}
    intervals, _ = rate_intervals(outcomes)
    return {name: percent(value / n, intervals[name], sign=name == "score") for name, value in values.items()}


def p_text(p: float) -> str:
    """A p value as pages show it."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.1 else f"{p:.2f}"


def difference(second: str | np.ndarray, first: str | np.ndarray) -> str:
    """Second minus first on the same questions, in points of percent: paired interval, exact sign-flip p."""
    found = paired(second, first)
    return f"{percent(found.difference, (found.low, found.high), sign=True)}, p {p_text(found.p)}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(head), "|".join("---" for _ in head), *(" | ".join(str(cell) for cell in row) for row in rows)]
    return "\n".join(f"| {line} |" if set(line) - set("-|") else f"|{line}|" for line in lines) + "\n"
