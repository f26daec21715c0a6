"""The house system's measurements: signs of questions, the fit of their weights, and what they are worth.

Usage: bench/house.py features --dataset DIR --part tune|sample --out FILE    one JSON line a question, resumable
       bench/house.py fit      --dataset DIR --signs FILE --out weights.json
       bench/house.py tuning   --dataset DIR --signs FILE                     Markdown for docs/figures/house.md
       bench/house.py board    --dataset DIR --submissions DIR                Markdown for docs/figures/house.md
       bench/house.py same     --dataset DIR --submissions DIR [--n 10]       the run's answers, computed again
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baselines.house.system import FORMAT
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.gold import Gold
from edu_rag.names import Sample
from edu_rag.records import Question, WebPage
from edu_rag.sample import choose
from edu_rag.serve import SystemPage, SystemQuestion

if TYPE_CHECKING:
    from house_fit import Case

    from baselines.house.signs import Models

OUTSIDE = Sample(500, 0)
"""No question of this sample is used for tuning: it contains the board's sample of 300."""
BOARD = Sample(300, 0)
N_TUNING, SEED = 400, 7
SPLIT = "val"
KEPT = {
    "choices": ("large_few", "large_notes", "page_bm25"),
    "true_false": ("large_notes",),
}
"""The signs that the system has, without habits."""


def _same_text(question: Question) -> str:
    return " ".join(question.text.casefold().split()).strip(" ._")


def outside_questions(questions: list[Question]) -> list[Question]:
    """The questions that may be tuned on: outside the sample of 500, and saying nothing that one of those says."""
    kept_out = choose(questions, OUTSIDE)
    ids, texts = {one.question_id for one in kept_out}, {_same_text(one) for one in kept_out}
    return [one for one in questions if one.question_id not in ids and _same_text(one) not in texts]


def tuning_questions(questions: list[Question], n: int = N_TUNING) -> list[Question]:
    """`n` questions outside the 500-sample, stratified as the board's sample is, in an order by hash."""
    kept_out = {question.question_id for question in choose(questions, OUTSIDE)}
    chosen = choose([question for question in questions if question.question_id not in kept_out], Sample(n, SEED))
    allowed = {question.question_id for question in outside_questions(questions)}
    ordered = sorted(chosen, key=lambda one: hashlib.sha256(f"{SEED} {one.question_id}".encode()).digest())
    return [question for question in ordered if question.question_id in allowed]


def as_asked(question: Question, pages: list[WebPage]) -> SystemQuestion:
    """The question as a system gets it."""
    shown = tuple(
        SystemPage(page_id=page.page_id, url=page.url, title=page.title, text=page.text, sentences=page.sentences)
        for page in pages
    )
    return SystemQuestion(
        id=question.question_id, text=question.text, choices=question.choices, kind=question.kind, pages=shown
    )


def _models() -> Models:
    from baselines.embed import Encoder
    from baselines.gguf_model import LocalModel
    from baselines.house.server import HouseModel
    from baselines.house.signs import Models

    return Models(HouseModel("qwen2.5-coder-1.5b"), LocalModel("gemma3-270m"), Encoder())


def _rows(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["question_id"]: row["signs"] for row in map(json.loads, lines)}


def features(dataset: Path, part: str, out: Path) -> None:
    """Write one JSON line a question: its signs, all of them. An existing file is continued."""
    from baselines.house.signs import can_ask, signs_of

    data = Dataset(dataset)
    questions = data.questions(SPLIT)
    wanted = choose(questions, BOARD) if part == "sample" else tuning_questions(questions)
    hits, pages, done = data.hits(SPLIT), data.pages(SPLIT), _rows(out)
    models = _models()
    with out.open("a", encoding="utf-8") as file:
        for number, question in enumerate(wanted):
            asked = as_asked(question, kept_pages(hits.get(question.question_id, []), pages))
            if question.question_id in done or not can_ask(asked):
                continue
            began = time.monotonic()
            found = signs_of(asked, models)
            seconds = round(time.monotonic() - began, 3)
            row = {"question_id": question.question_id, "signs": found.values, "n_input": found.n_input, "s": seconds}
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number + 1} of {len(wanted)}: {seconds} s", file=sys.stderr)


def cases(dataset: Path, signs: Path) -> tuple[list[Case], list[Case]]:
    """The tuning questions with signs, and all other questions that may be tuned on; gold of no other is kept."""
    from house_fit import Case

    data = Dataset(dataset)
    questions = data.questions(SPLIT)
    allowed = {question.question_id: question for question in outside_questions(questions)}
    gold = {one.question_id: one.answer for one in data.records("gold", SPLIT, Gold) if one.question_id in allowed}
    rows, planned = _rows(signs), {question.question_id for question in tuning_questions(questions)}
    tuned, others = [], []
    for question_id, question in sorted(allowed.items()):
        right = list(question.choices).index(str(gold[question_id]))
        if question_id in rows:
            tuned.append(Case(as_asked(question, []), rows[question_id], right))
        elif question_id not in planned:
            others.append(Case(as_asked(question, []), {}, right))
    return tuned, others


def write_weights(dataset: Path, signs: Path, out: Path) -> None:
    """Fit and write weights.json."""
    from house_fit import fitted

    tuned, others = cases(dataset, signs)
    table = {"format": FORMAT} | {which: fitted(tuned, others, which, names) for which, names in KEPT.items()}
    out.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def same(dataset: Path, submission: Path, n: int) -> str:
    """Whether questions of the run, asked again with signs computed here, in another order, get the run's answers."""
    from baselines.house.system import house_system, read_fitted

    path = next(submission.glob(f"predictions/*/{SPLIT}-{BOARD.name}.jsonl"))
    said = {row["question_id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    data = Dataset(dataset)
    board = sorted(choose(data.questions(SPLIT), BOARD), key=lambda one: one.question_id[::-1])[:n]
    hits, pages = data.hits(SPLIT), data.pages(SPLIT)
    answer = house_system(_models(), read_fitted(submission / "weights.json"))
    equal, apart = 0, 0.0
    for question in board:
        mine = answer(as_asked(question, kept_pages(hits.get(question.question_id, []), pages)))
        run = said[question.question_id]
        equal += mine.answer == run.get("answer")
        apart = max(apart, abs((mine.confidence or 0.0) - (run.get("confidence") or 0.0)))
    return f"{equal} of {len(board)} answers are the run's; confidences differ by {apart:.4f} at most."


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["features", "fit", "tuning", "board", "board-500", "same"])
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--part", choices=["tune", "sample"], default="tune")
    parser.add_argument("--signs", type=Path)
    parser.add_argument("--submissions", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--n", type=int, default=10)
    given = parser.parse_args()
    if given.command == "features":
        features(given.dataset, given.part, given.out)
    elif given.command == "fit":
        write_weights(given.dataset, given.signs, given.out)
    elif given.command == "tuning":
        from house_report import tuning_page

        print(tuning_page(*cases(given.dataset, given.signs), KEPT))
    elif given.command == "same":
        print(same(given.dataset, given.submissions / "house", given.n))
    else:
        from house_report import board_page

        sample = Sample(500, 0) if given.command == "board-500" else BOARD
        print(board_page(given.dataset, given.submissions, sample.name))


if __name__ == "__main__":
    main()
