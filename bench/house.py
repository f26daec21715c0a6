"""The house systems' measurements: signs of tuning questions, the fit of their weights, and what each sign is worth.

Usage: bench/house.py features --system house-light --dataset DIR --split dev --out FILE [--most N]
       bench/house.py fit      --system house-light --signs DIR:SPLIT:FILE … --out weights.json
       bench/house.py tuning | tuning-light --signs DIR:SPLIT:FILE …      Markdown for docs/figures/house.md

`features` writes one JSON line a question and goes on where it stopped. Gold answers are read of tuning questions only:
the split `dev`, and of other splits what lies outside the board's samples.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.gold import Gold
from edu_rag.names import Sample
from edu_rag.records import Question, WebPage
from edu_rag.serve import SystemQuestion
from harness.running.task import question_line

if TYPE_CHECKING:
    from house_fit import Case

    from baselines.house.signs import Models

OUTSIDE = Sample(1_000, 0)
"""No question of this sample of a split that is on the board is used for tuning: it contains the sample of 500."""
PUBLIC_SPLIT = "dev"
SEED = 7
PAGES = "pages"
"""In place of a system: the signs of the pages, which need no model and cost little."""
KEPT = {
    "house": {
        "choices": ("page_bm25", "page_support", "large_closed", "large_read"),
        "true_false": (),
    },
    "house-light": {
        "choices": ("page_bm25", "page_support", "small_read"),
        "true_false": (),
    },
}
"""The signs that each system has."""


class SignsFile(NamedTuple):
    """Signs that were computed, and the questions that they belong to."""

    dataset: Path
    split: str
    signs: Path


def signs_file(text: str) -> SignsFile:
    """DIR:SPLIT:FILE."""
    dataset, split, signs = text.rsplit(":", 2)
    return SignsFile(Path(dataset), split, Path(signs))


def _same_text(question: Question) -> str:
    return " ".join(question.text.casefold().split()).strip(" ._")


def tuning_questions(questions: list[Question], split: str) -> list[Question]:
    """The questions that may be tuned on, in an order by hash, so that the first n are a random sample.

    Of a split on the board: outside its samples, and saying nothing that a question of a sample says.
    """
    kept_out = [] if split == PUBLIC_SPLIT else choose(questions, OUTSIDE)
    ids, texts = {one.question_id for one in kept_out}, {_same_text(one) for one in kept_out}
    allowed = [one for one in questions if one.question_id not in ids and _same_text(one) not in texts]
    return sorted(allowed, key=lambda one: hashlib.sha256(f"{SEED} {one.question_id}".encode()).digest())


def as_asked(question: Question, pages: Sequence[WebPage] = ()) -> SystemQuestion:
    """The question as a system gets it."""
    return msgspec.json.decode(question_line(question, pages, question.question_id), type=SystemQuestion)


def _models(system: str) -> Models:
    from baselines.house.signs import Models
    from baselines.local_model import local_model

    if system == PAGES:
        return Models()
    if system == "house-light":
        return Models(small=local_model("smollm2-135m"))
    from baselines.embed import Encoder
    from baselines.house.system import HouseModel

    return Models(large=HouseModel("qwen2.5-coder-1.5b"), encoder=Encoder())


def _rows(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["question_id"]: row["signs"] for row in map(json.loads, lines)}


def features(system: str, dataset: Path, split: str, out: Path, most: int) -> None:
    """Write one JSON line a question: its signs. An existing file is continued."""
    from baselines.house.signs import can_ask, signs_of

    data = Dataset(dataset)
    hits, pages, done = data.hits(split), data.pages(split), _rows(out)
    wanted = tuning_questions(data.questions(split), split)[:most]
    models = _models(system)
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


def _joined(files: Sequence[SignsFile]) -> dict[tuple[Path, str], dict[str, Any]]:
    """The signs of each question of a dataset's split, from all files that have some."""
    joined: dict[tuple[Path, str], dict[str, Any]] = {}
    for one in files:
        of_split = joined.setdefault((one.dataset, one.split), {})
        for question_id, signs in _rows(one.signs).items():
            of_split[question_id] = of_split.get(question_id, {}) | signs
    return joined


def cases(files: Sequence[SignsFile]) -> list[Case]:
    """The tuning questions that have signs; no other gold answer is kept."""
    from house_fit import Case

    found = []
    for (folder, split), rows in _joined(files).items():
        data = Dataset(folder)
        allowed = [one for one in tuning_questions(data.questions(split), split) if one.question_id in rows]
        ids = {question.question_id for question in allowed}
        gold = {row.question_id: row.answer for row in data.records("gold", split, Gold) if row.question_id in ids}
        for question in allowed:
            right = list(question.choices).index(str(gold[question.question_id]))
            name, lesson = data.manifest.name, question.lesson or question.question_id
            found.append(Case(as_asked(question), rows[question.question_id], right, lesson, name))
    return found


def write_weights(system: str, files: Sequence[SignsFile], out: Path) -> None:
    """Fit and write weights.json."""
    from house_fit import fitted

    from baselines.house.system import ANSWERS, FORMAT

    found = cases(files)
    table = {which: fitted([case for case in found if case.which == which], KEPT[system][which]) for which in ANSWERS}
    out.write_text(json.dumps({"format": FORMAT} | table, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["features", "fit", "tuning", "tuning-light"])
    parser.add_argument("--system", choices=(*KEPT, PAGES), default="house")
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--split", default=PUBLIC_SPLIT)
    parser.add_argument("--signs", type=signs_file, nargs="+", metavar="DIR:SPLIT:FILE")
    parser.add_argument("--most", type=int, default=10_000, help="at most so many questions")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.command == "features":
        features(given.system, given.dataset, given.split, given.out, given.most)
    elif given.command == "fit":
        write_weights(given.system, given.signs, given.out)
    else:
        from house_report import tuning_page

        system, model = ("house-light", "small") if given.command == "tuning-light" else ("house", "large")
        print(tuning_page(cases(given.signs), KEPT[system], model))


if __name__ == "__main__":
    main()
