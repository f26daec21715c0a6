"""What systems of the board make of pages that answer the question, by the evidence that strong readers marked.

    python bench/board_evidence.py --dataset RUNS/open-textbooks

The questions are the board's sample of 500 of open-textbooks. Language models read the requests of `edu-rag dataset
mark-evidence` (`bench/evidence_reader.py ask --questions`); REPLIES has what they replied. A question has evidence if
they marked a passage. They could only mark one of the 32 passages that share most words with question and answers,
so evidence in other words is missing, and retrieval by words has an advantage in the first and the third table.

The first table says for each system how many passages it cites and how long they are, how often one of them holds a
marked span whole, and how it scores on questions with and without a mark. Some systems cite passages also when they
are silent, and a short passage holds a span less often, so only systems with equal windows compare. The second table
compares pairs of systems on both parts, and the gain on one with that on the other; the third how often they find the
evidence. Intervals are by chapter, p is the sign-flip test of one pair, without correction.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tests" / "evidence_labels")]

from board_runs import table  # noqa: E402
from evidence_reader import LABELS, marked  # noqa: E402

from builder.evidence.spans import SpanPlace  # noqa: E402
from edu_rag.statistics import paired  # noqa: E402
from edu_rag.statistics.points import points_of  # noqa: E402
from edu_rag.statistics.two_parts import kept  # noqa: E402

SAMPLE = "test-stratified-500-seed-0"
BOARD = "open-textbooks-1.0.0"
RESULTS = ROOT / "leaderboard" / "results" / BOARD / SAMPLE
SUBMISSIONS = ROOT / "submissions"
REPLIES = LABELS / "board_replies.jsonl"
N_RESAMPLES = 10_000
PAIRS = (
    ("edu-rag-paper-qwen1b", "edu-rag-vanilla-qwen1b"),
    ("house", "edu-rag-vanilla-qwen1b"),
    ("house", "edu-rag-paper-qwen1b"),
    ("mala-sparse", "edu-rag-vanilla-gemma3"),
    ("nautiyal-bm25", "edu-rag-vanilla-gemma3"),
    ("nautiyal-dense", "edu-rag-vanilla-gemma3"),
    ("nautiyal-hybrid", "edu-rag-vanilla-gemma3"),
    ("hypa-fixed-k", "edu-rag-vanilla-gemma3"),
    ("hypa-pa", "edu-rag-vanilla-gemma3"),
    ("hypa-full", "edu-rag-vanilla-gemma3"),
    ("hypa-pa", "hypa-fixed-k"),
    ("nautiyal-dense", "nautiyal-bm25"),
    ("nautiyal-hybrid", "nautiyal-dense"),
)
FINDERS = (
    ("nautiyal-dense", "nautiyal-bm25"),
    ("nautiyal-hybrid", "nautiyal-bm25"),
    ("nautiyal-hybrid", "nautiyal-dense"),
    ("hypa-pa", "hypa-fixed-k"),
)
Cited = Mapping[str, Sequence[SpanPlace]]
"""The cited passages of each question."""


def cited(slug: str) -> Cited:
    """What a system cites, from the smallest of its files that has the sample. Empty for one that cites nothing."""
    folder = SUBMISSIONS / slug / "predictions" / BOARD
    names = (SAMPLE, "test-stratified-1000-seed-0", "test")
    path = next((path for name in names if (path := folder / f"{name}.jsonl").is_file()), None)
    if path is None:
        raise SystemExit(f"{folder} has no predictions for the sample")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["question_id"]: [SpanPlace(*one) for one in row.get("passages") or ()] for row in rows}


def holds(passages: Iterable[SpanPlace], evidence: Iterable[SpanPlace]) -> bool:
    """Whether a cited passage holds a marked span whole."""
    spans = list(evidence)
    return any(
        p.page_id == span.page_id and p.start <= span.start and span.end <= p.end for p in passages for span in spans
    )


def of_board(slug: str) -> Mapping[str, Any]:
    """The scorecard of a system on the sample."""
    found: Mapping[str, Any] = json.loads((RESULTS / slug / "scorecard.json").read_text(encoding="utf-8"))
    return found


def hits(slug: str, evidence: Mapping[str, Sequence[SpanPlace]]) -> str:
    """A letter for each question with evidence: c where the system cites it, a where not."""
    said = cited(slug)
    return "".join("c" if holds(said[id_], spans) else "a" for id_, spans in evidence.items() if spans)


def counts(outcomes: str) -> str:
    """Right, wrong and score of some questions."""
    right, wrong = outcomes.count("c"), outcomes.count("i")
    return f"{right / len(outcomes):.1%} | {wrong / len(outcomes):.1%} | {(right - wrong) / len(outcomes):+.3f}"


def system_rows(evidence: Mapping[str, Sequence[SpanPlace]], marks: str) -> Iterator[list[str]]:
    """The rows of the first table, best score first."""
    cards = {path.parent.name: of_board(path.parent.name) for path in RESULTS.glob("*/scorecard.json")}
    for slug, card in sorted(cards.items(), key=lambda one: -one[1]["rates"]["score"]):
        found, n_passages = hits(slug, evidence), card["retrieval"].get("n_passages_mean")
        lengths = [one.end - one.start for some in cited(slug).values() for one in some]
        parts = [counts(kept(card["outcomes"], card["lessons"], marks, mark)[0]) for mark in "yn"]
        cites = [f"{n_passages:.1f}", round(sum(lengths) / len(lengths))] if lengths else ["–", "–"]
        share = [*map(str, cites), f"{found.count('c') / len(found):.1%}" if lengths else "–"]
        yield [f"`{slug}`", *share, *" | ".join(parts).split(" | ")]


def pair_rows(marks: str) -> Iterator[list[str]]:
    """The rows of the second table."""
    for first, second in PAIRS:
        one, other = of_board(first), of_board(second)
        for mark, name in (("y", "marked"), ("n", "not marked")):
            outcomes, lessons = kept(one["outcomes"], one["lessons"], marks, mark)
            others, _ = kept(other["outcomes"], other["lessons"], marks, mark)
            yield [f"`{first}` - `{second}`", name, *tested(outcomes, others, lessons)]
        value, low, high = gain_by_mark(one, other, marks)
        yield [f"`{first}` - `{second}`", "marked - not", "–", f"{value:+.3f}", f"[{low:.3f}, {high:.3f}]", "–"]


def gain_by_mark(one: Mapping[str, Any], other: Mapping[str, Any], marks: str) -> tuple[float, float, float]:
    """How much more the first system gains on marked questions than on others; 95 % interval, chapters drawn whole."""
    gains = points_of(one["outcomes"]) - points_of(other["outcomes"])
    columns = np.stack([np.array([found == mark for found in marks]) for mark in "yn"])
    _, units = np.unique(np.array(one["lessons"]), return_inverse=True)
    sums = np.stack([np.bincount(units, weights=column * gains) for column in columns])
    sizes = np.stack([np.bincount(units, weights=column) for column in columns])
    n = sums.shape[1]
    drawn = np.random.default_rng(0).integers(0, n, (N_RESAMPLES, n))
    rates = sums[:, drawn].sum(axis=2) / sizes[:, drawn].sum(axis=2)
    low, high = np.percentile(rates[0] - rates[1], [2.5, 97.5])
    with_mark, without = sums.sum(axis=1) / sizes.sum(axis=1)
    return float(with_mark - without), float(low), float(high)


def finder_rows(evidence: Mapping[str, Sequence[SpanPlace]], marks: str) -> Iterator[list[str]]:
    """The rows of the third table."""
    for first, second in FINDERS:
        card = of_board(first)
        _, lessons = kept(card["outcomes"], card["lessons"], marks, "y")
        yield [f"`{first}` - `{second}`", *tested(hits(first, evidence), hits(second, evidence), lessons)]


def tested(first: str, second: str, lessons: Sequence[int]) -> list[str]:
    """Questions, difference, interval, p."""
    found = paired(first, second, lessons)
    return [str(found.n), f"{found.difference:+.3f}", f"[{found.low:.3f}, {found.high:.3f}]", f"{found.p:.1g}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset open-textbooks")
    given = parser.parse_args()
    asked = SUBMISSIONS / "house" / "predictions" / BOARD / f"{SAMPLE}.jsonl"
    evidence = {one.labelled.question_id: spans for one, spans in marked([given.dataset], REPLIES, asked)}
    marks = "".join("y" if spans else "n" for spans in evidence.values())
    exams = {path.parent.name: of_board(path.parent.name)["exam"]["ids"] for path in RESULTS.glob("*/scorecard.json")}
    if list(evidence) != sorted(evidence) or len(marks) != len(of_board("house")["outcomes"]):
        raise SystemExit("the replies are not those of the board's sample, in its order")
    if len(set(exams.values())) != 1:
        raise SystemExit(f"{RESULTS}: the systems did not all answer the same questions")
    n_spans = sum(map(len, evidence.values()))
    print(f"{marks.count('y')} of {len(marks)} questions have a mark, {n_spans:,} spans.\n")
    part = ("right", "wrong", "score")
    head = ("n", "difference", "95 % interval", "p")
    columns = (
        "system",
        "passages",
        "characters of each",
        "passages hold evidence",
        *(f"{name}, marked" for name in part),
    )
    columns += tuple(f"{name}, not marked" for name in part)
    for one in (
        table(columns, system_rows(evidence, marks)),
        table(("score of", "questions", *head), pair_rows(marks)),
        table(("share of marked questions whose evidence is cited", *head), finder_rows(evidence, marks)),
    ):
        print(one + "\n")


if __name__ == "__main__":
    main()
