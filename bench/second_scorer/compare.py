"""Two scorers, ours and one written from docs/scoring-spec.md alone, on random submissions, to the last digit.

Usage: .venv/bin/python bench/second_scorer/compare.py [--n N] [--seed S] [--jobs N] [--second FILE] [--json FILE]

Each submission is a random file for a random exam (`generate.py`). Both scorers get the same bytes; ours through its
real reader. Compared are whether the file is refused and for which line, what each answer reads as, and every value of
the scorecard: integers and texts equal, floats equal in every bit; only p-values to twelve digits, as the page gives
them. Of two submissions to one exam that follow each other, the paired comparison and McNemar's test are compared too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from generate import PER_EXAM, Case, cases

from edu_rag.errors import DataError
from edu_rag.files.typed import to_plain
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, ScoreCard, SystemFacts
from edu_rag.scorecard.support import Support
from edu_rag.statistics import mcnemar, paired
from harness.exam import Exam
from harness.reading.answers import read_answer
from harness.scoring.score import score, summary
from harness.submission.predictions_file import read_predictions

HERE = Path(__file__).resolve().parent
AT = datetime(2000, 1, 1, tzinfo=UTC)
SYSTEM = SystemFacts(slug="random", name="random", team="nobody")
PARTS = (
    "outcomes",
    "counts",
    "rates",
    "slices",
    "intervals",
    "interval_method",
    "confidence",
    "retrieval",
    "attribution",
)
N_EXAMPLES = 3
BLOCK = 20 * PER_EXAM
"""Submissions that one worker takes at a time: whole exams, so that the number of workers changes nothing."""


def load_second(path: Path) -> ModuleType:
    """The second scorer, from its file."""
    spec = importlib.util.spec_from_file_location("second_scorer", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exam_for_ours(exam: Mapping[str, Any]) -> Exam:
    """The exam as our scorer holds one: records, in order of id."""
    asked = sorted(exam["questions"], key=lambda one: str(one["question_id"]))
    questions = [Question(**{**one, "flags": tuple(one["flags"])}, split="test") for one in asked]
    gold = {name: Gold(question_id=name, answer=label) for name, label in exam["gold"].items()}
    support = Support(
        frozenset(name for name, pages in exam["pages_of"].items() if pages),
        {
            name: {page: [(start, end) for start, end in spans] for page, spans in found.items()}
            for name, found in exam["evidence"].items()
        },
        exam["has_pages"],
        None if exam["leaked"] is None else frozenset(exam["leaked"]),
    )
    return Exam("random@1.0.0#00000000", "test", None, questions, gold, support, frozenset(gold), {})


def told_by_ours(card: ScoreCard) -> dict[str, Any]:
    """Of our scorecard what both tell, in plain values."""
    plain = to_plain(card)
    slices = [[one["attribute"], one["value"], one["counts"]] for one in plain["slices"]]
    rates = {name: value for name, value in summary(card).items() if name not in ("n", "counts", "intervals")}
    return {part: plain.get(part) for part in PARTS} | {"slices": slices, "rates": rates}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every value inside, with its path; floats by `repr`, so that two are equal only to the last digit."""
    if isinstance(value, Mapping):
        yield path, f"{len(value)} values"
        for name in sorted(value):
            yield from leaves(value[name], f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        yield path, f"{len(value)} values"
        for number, one in enumerate(value):
            yield from leaves(one, f"{path}[{number}]")
    else:
        yield path, repr(value)


@dataclass
class Tally:
    """Counts of comparisons and differences: by kind, with the first examples."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def differs(self, kind: str, **example: Any) -> None:
        """Note a difference."""
        self.differences[kind] += 1
        if len(self.examples.setdefault(kind, [])) < N_EXAMPLES:
            self.examples[kind].append(example)

    def same(self, kind: str, ours: Any, second: Any, case: int) -> None:
        """Compare two plain values leaf by leaf; one difference is noted for each kind and submission."""
        one, two = dict(leaves(ours)), dict(leaves(second))
        self.counts["fields"] += len(one)
        apart = [path for path in sorted(one.keys() | two.keys()) if one.get(path) != two.get(path)]
        if apart:
            shown = {path: [one.get(path), two.get(path)] for path in apart[:6]}
            self.differs(kind, submission=case, apart=shown)

    def add(self, other: Tally) -> None:
        """Take in what another worker found."""
        self.counts += other.counts
        self.differences += other.differences
        for kind, found in other.examples.items():
            self.examples[kind] = (self.examples.get(kind, []) + found)[:N_EXAMPLES]


class Both:
    """Our scorer and the second one, side by side."""

    def __init__(self, second: ModuleType, folder: Path) -> None:
        self.second = second
        self.file = folder / "test.jsonl"
        self.tally = Tally()
        self._exam: tuple[Mapping[str, Any], Exam] | None = None
        self._before: tuple[Exam, str] | None = None

    def _ours(self, exam: Mapping[str, Any]) -> Exam:
        if self._exam is None or self._exam[0] is not exam:
            self._exam = (exam, exam_for_ours(exam))
        return self._exam[1]

    def _read(self, case: Case, known: frozenset[str]) -> dict[str, Prediction] | str:
        self.file.write_bytes(case.lines)
        try:
            return read_predictions(self.file, known)
        except DataError as error:
            return str(error)

    def compare(self, case: Case) -> None:
        """Compare all that both say of one submission."""
        ours = self._ours(case.exam)
        found = self._read(case, ours.known)
        told = self.second.score(case.exam, case.lines)
        self.tally.counts["submissions"] += 1
        wrong = self.tally.differences.total()
        if isinstance(found, str) or "fault" in told:
            self._compare_faults(case, found, told)
        else:
            self._compare_readings(case, ours, found)
            self._compare_cards(case, ours, found, told)
        self.tally.counts["identical"] += self.tally.differences.total() == wrong

    def _compare_faults(self, case: Case, found: dict[str, Prediction] | str, told: Mapping[str, Any]) -> None:
        self.tally.counts["refused by both"] += isinstance(found, str) and "fault" in told
        if not isinstance(found, str):
            self.tally.differs(
                "only the second refuses", submission=case.number, fault=case.fault, second=told["fault"]
            )
        elif "fault" not in told:
            self.tally.differs(
                "only ours refuses", submission=case.number, fault=case.fault, ours=found.partition(".jsonl:")[2]
            )
        elif (ours := found.partition(".jsonl:")[2].split(":")[0]) != (line := str(told["fault"]).split(":")[0]):
            self.tally.differs("another line is at fault", submission=case.number, ours=ours, second=line)

    def _compare_readings(self, case: Case, ours: Exam, found: Mapping[str, Prediction]) -> None:
        for question in ours.questions:
            prediction = found.get(question.question_id)
            if prediction is None or prediction.answer is None:
                continue
            self.tally.counts["answers"] += 1
            reading = read_answer(prediction.answer, question.choices)
            second = tuple(self.second.read_answer(prediction.answer, dict(question.choices)))
            if (reading.kind, reading.label) != second:
                self.tally.differs(
                    "reading",
                    submission=case.number,
                    question=question.question_id,
                    choices=dict(question.choices),
                    answer=prediction.answer,
                    ours=[reading.kind, reading.label],
                    second=second,
                )

    def _compare_cards(self, case: Case, ours: Exam, found: Mapping[str, Prediction], told: Mapping[str, Any]) -> None:
        card = score(ours, found, SYSTEM, scored_at=AT).card
        mine = told_by_ours(card)
        for part in PARTS:
            self.tally.same(part, mine[part], told.get(part), case.number)
        if self._before is not None and self._before[0] is ours:
            self._compare_pair(case.number, card.outcomes, self._before[1], card.lessons)
        self._before = (ours, card.outcomes)

    def _compare_pair(self, case: int, first: str, second: str, lessons: Sequence[int]) -> None:
        both, counts = paired(first, second, lessons), mcnemar(first, second, lessons)
        other, other_counts = self.second.paired(first, second, lessons), self.second.mcnemar(first, second, lessons)
        self.tally.counts["pairs"] += 1
        self.tally.same(
            "paired",
            [both.difference, both.low, both.high],
            [other[name] for name in ("difference", "low", "high")],
            case,
        )
        only = [other_counts[name] for name in ("first_only", "second_only")]
        self.tally.same("McNemar", [counts.n_first_only, counts.n_second_only], only, case)
        for name, p, q in (("sign-flip p", both.p, other["p"]), ("McNemar p", counts.p, other_counts["p"])):
            self.tally.counts["fields"] += 1
            if not math.isclose(p, q, rel_tol=1e-12):
                self.tally.differs(name, submission=case, outcomes=[first, second], ours=p, second=q)


def block(path: Path, seed: int, span: tuple[int, int]) -> Tally:
    """Compare submissions `span[0]` … `span[1] - 1`."""
    with tempfile.TemporaryDirectory(prefix="second-scorer-") as folder:
        both = Both(load_second(path), Path(folder))
        for case in cases(span[1] - span[0], seed, span[0]):
            both.compare(case)
        return both.tally


def compare(path: Path, n: int, seed: int, jobs: int, say: Callable[[str], None]) -> Tally:
    """Compare n submissions; `say` is called with the progress."""
    spans = [(first, min(n, first + BLOCK)) for first in range(0, n, BLOCK)]
    work = partial(block, path, seed)
    tally = Tally()
    if jobs == 1:
        done = map(work, spans)
        _gather(tally, done, n, say)
    else:
        with ProcessPoolExecutor(jobs) as pool:
            _gather(tally, pool.map(work, spans), n, say)
    return tally


def _gather(tally: Tally, found: Iterator[Tally], n: int, say: Callable[[str], None]) -> None:
    for one in found:
        tally.add(one)
        say(f"{tally.counts['submissions']:,} of {n:,} submissions, {tally.differences.total():,} differences")


ROWS = (
    ("submissions", "submissions"),
    ("the same to the last digit", "identical"),
    ("files refused by both", "refused by both"),
    ("answers read", "answers"),
    ("pairs of submissions", "pairs"),
    ("values compared", "fields"),
)


def table(tally: Tally) -> Iterator[str]:
    """The Markdown table, and what differed."""
    yield "| | |\n|---|---|"
    for told, name in ROWS:
        yield f"| {told} | {tally.counts[name]:,} |"
    yield f"| differences | {tally.differences.total():,} |"
    for kind, n in tally.differences.most_common():
        yield f"\n{kind}: {n:,}"
        for example in tally.examples[kind]:
            yield f"\n    {json.dumps(example, ensure_ascii=True, default=list)[:2000]}"


def main() -> None:
    """Compare, print the table, and end with 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="submissions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--second", type=Path, default=HERE / "second_scorer.py", help="the second scorer")
    parser.add_argument("--json", type=Path, help="where to write all that was found")
    told = parser.parse_args()
    began, before = time.monotonic(), sum(os.times()[:4])
    tally = compare(told.second, told.n, told.seed, told.jobs, lambda text: print(text, file=sys.stderr))
    print("\n".join(table(tally)))
    print(f"\n{time.monotonic() - began:.0f} s, of which {sum(os.times()[:4]) - before:.0f} s of processor time.")
    if told.json:
        found = {"counts": tally.counts, "differences": tally.differences, "examples": tally.examples}
        told.json.write_text(json.dumps(found, indent=2, default=list), encoding="utf-8")
    raise SystemExit(1 if tally.differences else 0)


if __name__ == "__main__":
    main()
