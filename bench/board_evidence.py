"""What systems of the board make of pages that answer the question, by the evidence that strong readers marked.

    python bench/board_evidence.py --dataset RUNS/open-textbooks --dataset RUNS/tqa-val

The questions are the board's samples of 500. Language models read the requests of `edu-rag dataset
mark-evidence` (`bench/evidence_reader.py ask --questions`); REPLIES has what they replied. A question has evidence if
they marked a passage. They could only mark one of the 32 passages that share most words with question and answers,
so evidence in other words is missing, and retrieval by words has an advantage in the first and the third table.

The first table says for each system how many passages it cites and how long they are, how often one of them holds a
marked span whole, and how it scores on questions with and without a mark. Some systems cite passages also when they
are silent, and a short passage holds a span less often, so only systems with equal windows compare. The second table
compares pairs of systems on both parts, and the gain on one with that on the other; the third how often they find the
evidence. Intervals are by chapter where the dataset has them, p is the sign-flip test of one pair, without correction.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tests" / "evidence_labels")]

from board_runs import table  # noqa: E402
from evidence_reader import LABELS, marked  # noqa: E402

from builder.evidence.spans import SpanPlace  # noqa: E402
from edu_rag.files.manifest import read_manifest  # noqa: E402
from edu_rag.statistics import paired  # noqa: E402
from edu_rag.statistics.points import points_of, units_of  # noqa: E402
from edu_rag.statistics.two_parts import kept  # noqa: E402

SUBMISSIONS = ROOT / "submissions"
REPLIES = LABELS / "board_replies.jsonl"
N_RESAMPLES = 10_000
Cited = Mapping[str, Sequence[SpanPlace]]
"""The cited passages of each question."""
Pairs = Sequence[tuple[str, str]]
QWEN, GEMMA = "edu-rag-vanilla-qwen1b", "edu-rag-vanilla-gemma3"


class Board(NamedTuple):
    """A table of the board: the dataset with its version, the sample, and the pairs of systems to compare.

    `all_of` is where the systems without a language model keep their answers to all questions.
    """

    dataset: str
    sample: str
    all_of: str
    asked: str
    pairs: Pairs
    finders: Pairs

    @property
    def results(self) -> Path:
        """The folder of its scorecards."""
        return ROOT / "leaderboard" / "results" / self.dataset / self.sample

    def slugs(self) -> list[str]:
        """The systems of the table."""
        return sorted(path.parent.name for path in self.results.glob("*/scorecard.json"))

    def card(self, slug: str) -> Mapping[str, Any]:
        """The scorecard of a system on the sample."""
        found: Mapping[str, Any] = json.loads((self.results / slug / "scorecard.json").read_text(encoding="utf-8"))
        return found

    def predictions(self, slug: str) -> Path:
        """The smallest file of a system's answers that has the sample."""
        folder = SUBMISSIONS / slug / "predictions" / self.dataset
        names = (self.sample, self.sample.replace("500", "1000"), self.all_of)
        path = next((path for name in names if (path := folder / f"{name}.jsonl").is_file()), None)
        if path is None:
            raise SystemExit(f"{folder} has no predictions for the sample")
        return path

    def cited(self, slug: str) -> Cited:
        """What a system cites; no passages for one that cites nothing."""
        rows = [json.loads(line) for line in self.predictions(slug).read_text(encoding="utf-8").splitlines()]
        return {row["question_id"]: [SpanPlace(*one) for one in row.get("passages") or ()] for row in rows}


BOARDS = {
    "open-textbooks": Board(
        "open-textbooks-1.0.0",
        "test-stratified-500-seed-0",
        "test",
        "house",
        (
            ("edu-rag-paper-qwen1b", QWEN),
            ("huo-self-check-rag", "edu-rag-paper-qwen1b"),
            ("house", QWEN),
            ("house", "edu-rag-paper-qwen1b"),
            ("mala-sparse", GEMMA),
            ("nautiyal-bm25", GEMMA),
            ("nautiyal-dense", GEMMA),
            ("nautiyal-hybrid", GEMMA),
            ("nautiyal-hybrid-rerank", GEMMA),
            ("hypa-fixed-k", GEMMA),
            ("hypa-pa", GEMMA),
            ("hypa-full", GEMMA),
            ("hypa-pa", "hypa-fixed-k"),
            ("nautiyal-dense", "nautiyal-bm25"),
            ("nautiyal-hybrid", "nautiyal-dense"),
            ("nautiyal-hybrid-rerank", "nautiyal-hybrid"),
        ),
        (
            ("nautiyal-dense", "nautiyal-bm25"),
            ("nautiyal-hybrid", "nautiyal-bm25"),
            ("nautiyal-hybrid", "nautiyal-dense"),
            ("nautiyal-hybrid-rerank", "nautiyal-hybrid"),
            ("hypa-pa", "hypa-fixed-k"),
        ),
    ),
    "tqa-val": Board(
        "tqa-val-3.0.0",
        "val-stratified-500-seed-0",
        "val",
        "mala-sparse",
        (("mala-sparse", GEMMA), ("bm25-overlap", "blind-random"), ("bm25-overlap", QWEN), ("mala-sparse", QWEN)),
        (),
    ),
}


def holds(passages: Iterable[SpanPlace], evidence: Iterable[SpanPlace]) -> bool:
    """Whether a cited passage holds a marked span whole."""
    spans = list(evidence)
    return any(
        p.page_id == span.page_id and p.start <= span.start and span.end <= p.end for p in passages for span in spans
    )


def hits(board: Board, slug: str, evidence: Mapping[str, Sequence[SpanPlace]]) -> str:
    """A letter for each question with evidence: c where the system cites it, a where not."""
    said = board.cited(slug)
    return "".join("c" if holds(said[id_], spans) else "a" for id_, spans in evidence.items() if spans)


def rates(outcomes: str) -> list[str]:
    """The shares of right and wrong answers, and the score."""
    n, right, wrong = len(outcomes), outcomes.count("c"), outcomes.count("i")
    return [f"{right / n:.1%}", f"{wrong / n:.1%}", f"{(right - wrong) / n:+.3f}"]


def system_rows(board: Board, evidence: Mapping[str, Sequence[SpanPlace]], marks: str) -> Iterator[list[str]]:
    """The rows of the first table, best score first."""
    cards = {slug: board.card(slug) for slug in board.slugs()}
    for slug, card in sorted(cards.items(), key=lambda one: -one[1]["rates"]["score"]):
        found, n_passages = hits(board, slug, evidence), card["retrieval"].get("n_passages_mean")
        lengths = [one.end - one.start for some in board.cited(slug).values() for one in some]
        parts = [rates(kept(card["outcomes"], card["lessons"], marks, mark)[0]) for mark in "yn"]
        cites = [f"{n_passages:.1f}", round(sum(lengths) / len(lengths))] if lengths else ["–", "–"]
        share = [*map(str, cites), f"{found.count('c') / len(found):.1%}" if lengths else "–"]
        yield [f"`{slug}`", *share, *parts[0], *parts[1]]


def pair_rows(board: Board, marks: str) -> Iterator[list[str]]:
    """The rows of the second table."""
    for first, second in board.pairs:
        one, other = board.card(first), board.card(second)
        for mark, name in (("y", "marked"), ("n", "not marked")):
            outcomes, lessons = kept(one["outcomes"], one["lessons"], marks, mark)
            others, _ = kept(other["outcomes"], other["lessons"], marks, mark)
            yield [f"`{first}` - `{second}`", name, *tested(outcomes, others, lessons)]
        value, low, high = gain_by_mark(one, other, marks)
        yield [f"`{first}` - `{second}`", "marked - not", "–", f"{value:+.3f}", f"[{low:.3f}, {high:.3f}]", "–"]


def gain_by_mark(one: Mapping[str, Any], other: Mapping[str, Any], marks: str) -> tuple[float, float, float]:
    """How much more the first system gains on marked questions than on others; 95 % interval, chapters whole."""
    gains = points_of(one["outcomes"]) - points_of(other["outcomes"])
    columns = np.stack([np.array([found == mark for found in marks]) for mark in "yn"])
    units = units_of(one["lessons"], len(marks))
    units = np.arange(len(marks)) if units is None else units
    sums = np.stack([np.bincount(units, weights=column * gains) for column in columns])
    sizes = np.stack([np.bincount(units, weights=column) for column in columns])
    n = sums.shape[1]
    drawn = np.random.default_rng(0).integers(0, n, (N_RESAMPLES, n))
    means = sums[:, drawn].sum(axis=2) / sizes[:, drawn].sum(axis=2)
    low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
    with_mark, without = sums.sum(axis=1) / sizes.sum(axis=1)
    return float(with_mark - without), float(low), float(high)


def finder_rows(board: Board, evidence: Mapping[str, Sequence[SpanPlace]], marks: str) -> Iterator[list[str]]:
    """The rows of the third table."""
    for first, second in board.finders:
        card = board.card(first)
        _, lessons = kept(card["outcomes"], card["lessons"], marks, "y")
        yield [f"`{first}` - `{second}`", *tested(hits(board, first, evidence), hits(board, second, evidence), lessons)]


def tested(first: str, second: str, lessons: Sequence[int]) -> list[str]:
    """Questions, difference, interval, p."""
    found = paired(first, second, lessons)
    return [str(found.n), f"{found.difference:+.3f}", f"[{found.low:.3f}, {found.high:.3f}]", f"{found.p:.1g}"]


def show(folder: Path) -> None:
    """Print the tables of a dataset."""
    board = BOARDS[read_manifest(folder).name]
    asked = board.predictions(board.asked)
    evidence = {one.labelled.question_id: spans for one, spans in marked([folder], REPLIES, asked)}
    marks = "".join("y" if spans else "n" for spans in evidence.values())
    exams = {board.card(slug)["exam"]["ids"] for slug in board.slugs()}
    if list(evidence) != sorted(evidence) or len(marks) != len(board.card(board.asked)["outcomes"]) or len(exams) != 1:
        raise SystemExit(
            f"{board.results}: the systems did not all answer the questions that were read, in their order"
        )
    n_spans = sum(map(len, evidence.values()))
    print(f"{board.dataset}: {marks.count('y')} of {len(marks)} questions have a mark, {n_spans:,} spans.\n")
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
    print(table(columns, system_rows(board, evidence, marks)) + "\n")
    print(table(("score of", "questions", *head), pair_rows(board, marks)) + "\n")
    if board.finders:
        finders = finder_rows(board, evidence, marks)
        print(table(("share of marked questions whose evidence is cited", *head), finders) + "\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, action="append", required=True, help="one of the board; repeatable")
    for folder in parser.parse_args().dataset:
        show(folder)


if __name__ == "__main__":
    main()
