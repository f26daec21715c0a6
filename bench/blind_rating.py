"""A blind rating of generated questions and of exercises of the books whose pages they were made from.

    python bench/blind_rating.py draw --generated FOLDER --dataset open-textbooks --to RATING [--rejected 60]
    python bench/page.py blind_rating report --to RATING [--second OTHER]

`draw` takes up to N questions that `edu-rag questions generate` kept, some that its filters rejected, and N of the
books' exercises with labelled evidence, all with four choices. It writes them in a drawn order to RATING/sheet.jsonl,
each with its key and a passage: the one that the generated question was made from, or the window of the home page, cut
by the same rule, with the exercise's first evidence. A generated question is shown as `questions convert --plain`
writes it, without the remark, situation or message that its type puts before it. Where each is from is in
RATING/origins.json, which the reader must not see. The reader writes RATING/ratings.jsonl: for each `item` whether
exactly the key is right (`one_right`), whether the passage suffices to choose it (`answerable`), and whether a teacher
could use it as it is (`clear`).
A question is sound if it has one right choice and its passage suffices. Questions that no passage answers
(`out-of-scope`) have no choices, and are left out. OTHER is the folder of another reader's rating, of some of the same
questions: `report` says how far both agree.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.generating.drawn_passages import passages_of
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import HOME_PAGE, Evidence, WebPage
from harness.judging.judge_audit import cohen_kappa
from harness.probing.probe_rates import wilson

KEPT, REJECTED, BOOKS = "generated, kept by all filters", "generated, rejected by a filter", "the books' exercises"
MARKS = ("one_right", "answerable", "clear")
Item = dict[str, Any]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _item(question: str, choices: Mapping[str, str], key: str, passage: str) -> Item:
    return {"question": question, "choices": dict(choices), "key": key, "passage": passage}


def generated(lines: Sequence[Mapping[str, Any]], pages: Mapping[str, WebPage]) -> list[Item]:
    """Generated questions with choices, each with the passages that it was made from."""
    found = []
    for line in lines:
        if len(line.get("choices") or ()) == 4:
            spans = line["made_from"]
            passage = "\n\n".join(pages[span["url"]].text[span["start"] : span["end"]] for span in spans)
            found.append(_item(line.get("plain", line["question"]), line["choices"], line["answer"], passage))
    return found


def exercises(dataset: Dataset, split: str) -> Iterator[Item]:
    """The exercises of a split with four choices that have labelled evidence on their home page."""
    first: dict[str, Evidence] = {}
    gold = {one.question_id: one for one in dataset.records("gold", split, Gold)}
    for span in dataset.records("evidence", split, Evidence):
        if span.method != HOME_PAGE and span.page_id == gold[span.question_id].home_page:
            first.setdefault(span.question_id, span)
    pages = dataset.pages(split, {span.page_id for span in first.values()})
    for question in dataset.questions(split):
        span, key = first.get(question.question_id), gold[question.question_id].answer
        if span is not None and key is not None and len(question.choices) == 4:
            page = pages[span.page_id]
            held = [one for one in passages_of(page) if one.start <= span.start and span.end <= one.end]
            if held:
                yield _item(question.text, question.choices, key, page.text[held[0].start : held[0].end])


def draw(options: argparse.Namespace) -> None:
    """Write the sheet and the origins."""
    dataset, chance = Dataset(options.dataset), random.Random(options.seed)
    pages = {page.url: page for split in dataset.splits() for page in dataset.records("pages", split, WebPage)}
    kept = generated(_lines(options.generated / "questions.jsonl"), pages)
    rejected = [row["question"] for row in _lines(options.generated / "rejected.jsonl") if "question" in row]
    groups = {
        KEPT: kept,
        REJECTED: generated(rejected, pages),
        BOOKS: [item for split in dataset.splits() for item in exercises(dataset, split)],
    }
    sizes = {KEPT: options.n, REJECTED: options.rejected, BOOKS: options.n}
    drawn = [(name, one) for name, some in groups.items() for one in chance.sample(some, min(sizes[name], len(some)))]
    chance.shuffle(drawn)
    options.to.mkdir(parents=True, exist_ok=True)
    sheet = (json.dumps({"item": number, **item}, ensure_ascii=False) for number, (_, item) in enumerate(drawn, 1))
    (options.to / "sheet.jsonl").write_text("".join(f"{line}\n" for line in sheet), encoding="utf-8")
    (options.to / "origins.json").write_text(json.dumps([name for name, _ in drawn]), encoding="utf-8")
    print({name: (len(some), sum(origin == name for origin, _ in drawn)) for name, some in groups.items()})


def read_ratings(folder: Path) -> dict[str, list[Item]]:
    """The ratings by origin. Raises SystemExit where an item has none or a mark is not true or false."""
    origins = json.loads((folder / "origins.json").read_text(encoding="utf-8"))
    ratings = {row["item"]: row for row in _lines(folder / "ratings.jsonl")}
    found: dict[str, list[Item]] = {}
    for number, origin in enumerate(origins, 1):
        row = ratings.get(number, {})
        if any(not isinstance(row.get(mark), bool) for mark in MARKS):
            raise SystemExit(f"ratings.jsonl: item {number}: {', '.join(MARKS)} must be true or false: rate it")
        found.setdefault(origin, []).append({**row, "sound": row["one_right"] and row["answerable"]})
    return found


def _sound_by_question(folder: Path) -> dict[str, bool]:
    asked = {row["item"]: json.dumps([row["question"], row["choices"]]) for row in _lines(folder / "sheet.jsonl")}
    return {asked[row["item"]]: row["sound"] for some in read_ratings(folder).values() for row in some}


def report(options: argparse.Namespace) -> None:
    """Print the shares by origin, and p of the differences in sound questions."""
    import scipy.stats

    ratings = read_ratings(options.to)
    columns = {
        "sound": "sound",
        "one_right": "one right choice",
        "answerable": "passage suffices",
        "clear": "usable as it is",
    }
    print(f"| questions | n | {' | '.join(f'{label} %' for label in columns.values())} |")
    print(f"|---|---|{'---|' * len(columns)}")
    for origin in (KEPT, REJECTED, BOOKS):
        some = ratings.get(origin, [])
        if some:
            cells = []
            for mark in columns:
                n = sum(row[mark] for row in some)
                low, high = wilson(n, len(some))
                cells.append(f"{100 * n / len(some):.1f} [{100 * low:.1f}, {100 * high:.1f}]")
            print(f"| {origin} | {len(some)} | {' | '.join(cells)} |")
    print("\nShares with Wilson's 95 % intervals.")
    for one, other in ((KEPT, BOOKS), (KEPT, REJECTED), (REJECTED, BOOKS)):
        if one in ratings and other in ratings:
            table = [
                [sum(row["sound"] is side for row in ratings[name]) for side in (True, False)] for name in (one, other)
            ]
            print(f"Sound, {one} against {other}: p {scipy.stats.fisher_exact(table).pvalue:.2g} (Fisher, two-sided).")
    if options.second is not None:
        print(f"\n{agreement(options.to, options.second)}")


def agreement(first: Path, second: Path) -> str:
    """How far two readers agree on which of the questions that both rated are sound."""
    one, other = _sound_by_question(first), _sound_by_question(second)
    shared = sorted(set(one) & set(other))
    pairs = [(one[key], other[key]) for key in shared]
    kappa = cohen_kappa(*(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))))
    shown = "not defined" if kappa is None else f"{kappa:.2f}"
    same = sum(a is b for a, b in pairs)
    return (
        f"A second reader rated {len(pairs)} of these questions: {same} equal on whether they are sound, kappa {shown}."
    )


def main() -> None:
    """Draw or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "report"))
    parser.add_argument(
        "--generated", type=Path, help="the --out of a finished `edu-rag questions generate`; draw only"
    )
    parser.add_argument("--dataset", type=Path, help="folder of the dataset; draw only")
    parser.add_argument("--to", type=Path, required=True, help="folder of the rating")
    parser.add_argument("--second", type=Path, help="folder of another reader's rating; report only")
    parser.add_argument("--n", type=int, default=60, help="of the kept ones and of the exercises; draw only")
    parser.add_argument("--rejected", type=int, default=60, help="of the rejected ones; draw only")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.what == "report":
        report(options)
    elif options.generated is None or options.dataset is None:
        parser.error("draw needs --generated and --dataset")
    else:
        draw(options)


if __name__ == "__main__":
    main()
