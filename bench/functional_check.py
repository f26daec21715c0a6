"""Whether the labelled evidence helps a reader: language models with only the labelled sentences, and without any text.

    python bench/functional_check.py --dataset RUNS/open-textbooks

It does not depend on anyone's judgement of the labels. It reads the published answers of the board's controls
`evidence-only` and `no-context` (bench/board_runs.py makes them in the sandbox), those whose evidence is labelled as in
this dataset: the questions of the sample that have evidence. Writes docs/figures/functional-check.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from board_runs import table  # noqa: E402

from edu_rag.files.dataset import Dataset  # noqa: E402
from edu_rag.files.manifest import file_sha256  # noqa: E402
from edu_rag.scorecard.card import OUTCOME_LETTERS  # noqa: E402
from edu_rag.statistics import paired  # noqa: E402
from harness.exam import Exam, open_exam  # noqa: E402
from harness.judging.outcomes import judge  # noqa: E402
from harness.submission.predictions_file import read_predictions  # noqa: E402
from harness.trust.rerun_log import FILE_NAME, Rerun, read_reruns  # noqa: E402

PAGE = ROOT / "docs" / "figures" / "functional-check.md"
SYSTEMS = ("edu-rag-paper-qwen1b", "mala-sparse")
"""Those that answer every question with a language model, with and without pages."""
SAMPLE = "stratified-500-seed-0"
GOAL = 0.25
"""The least gain in accuracy by which we call the labels useful."""
CONTROLS = ("evidence-only", "no-context")
_HEAD = (
    "system",
    "n",
    "right with the labelled sentences",
    "right without any text",
    "difference",
    "right only with them; only without",
    "score: difference, 95 % interval by chapter, p",
)


class Check(NamedTuple):
    """The outcomes of a system's answers to the same questions, one letter each; `lessons` are their chapters."""

    slug: str
    given: str
    bare: str
    lessons: tuple[str, ...]

    def row(self) -> tuple[str, ...]:
        """The figures, as a row of a table."""
        correct = OUTCOME_LETTERS["correct"]
        pairs = [
            (with_them == correct, without == correct) for with_them, without in zip(self.given, self.bare, strict=True)
        ]
        shares = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
        only = "; ".join(str(pairs.count(pair)) for pair in ((True, False), (False, True)))
        found = paired(self.given, self.bare, self.lessons)
        score = f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}], {found.p:.2g}"
        gain = f"{shares[0] - shares[1]:+.3f}"
        return (f"`{self.slug}`", str(len(pairs)), *(f"{share:.3f}" for share in shares), gain, only, score)


def published(line: Rerun, dataset: Dataset, probe: str) -> Path:
    """The published answers of a control, as they were vouched for. Ends the script where there are none."""
    place = ROOT / "submissions" / line.slug / "predictions" / dataset.manifest.release.folder / "probes"
    for run in line.probes:
        path = place / f"{line.split}-{line.sample}.{probe}.jsonl"
        if run.probe == probe and run.dataset == dataset.id and file_sha256(path) == run.predictions_sha256:
            return path
    raise SystemExit(f"{line.slug}: no published control {probe} with the labels of {dataset.id}")


def checks(dataset: Dataset, exam: Exam) -> Iterator[Check]:
    """Each system's answers with the evidence alone, and its answers to the same questions without any text."""
    questions = {question.question_id: question for question in exam.questions}
    release = dataset.id.partition("#")[0]
    lines = {
        line.slug: line
        for line in read_reruns(ROOT / "leaderboard" / FILE_NAME)
        if (line.dataset.partition("#")[0], line.split, line.sample) == (release, exam.split, SAMPLE)
    }
    for slug in SYSTEMS:
        if slug not in lines:
            raise SystemExit(f"{slug}: no published run on {release}, {SAMPLE}")
        line = lines[slug]
        given, bare = (read_predictions(published(line, dataset, name), set(questions)) for name in CONTROLS)
        asked = [questions[question_id] for question_id in sorted(given)]
        letters = [
            "".join(
                OUTCOME_LETTERS[judge(one, exam.gold[one.question_id], said.get(one.question_id)).outcome]
                for one in asked
            )
            for said in (given, bare)
        ]
        yield Check(line.slug, *letters, tuple(one.lesson for one in asked))


def main() -> None:
    """Read the controls, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True)
    dataset = Dataset(parser.parse_args().dataset)
    rows = [check.row() for check in checks(dataset, open_exam(dataset, "test", SAMPLE))]
    page = f"""# Functional check of the evidence labels

Written by `python bench/functional_check.py`. The systems answer the questions of {SAMPLE} that have evidence in
{dataset.id}, with the labelled sentences alone and without any text: the board's controls
`{CONTROLS[0]}` and `{CONTROLS[1]}`. The goal is a difference of {GOAL:+.2f}.

{table(_HEAD, rows)}
"""
    PAGE.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
