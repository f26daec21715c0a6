"""Evidence methods against labelled sentences of the datasets by recipe, and the share of questions that they cover.

    python bench/evidence.py --dataset RUNS/open-textbooks --dataset RUNS/tqa-val [--half tune] [--with embedding-v1]

A method sees all pages of a question, as in a build. Every span that it returns is looked up. It is right if it
covers a sentence that a reader marked as support, with the neighbour that it needs. "At least" is the precision if
every span that no reader judged is wrong. Recall is over all marked places. The peer is what most retrieval benchmarks
do: every sentence that contains the answer's words is evidence. Model and thresholds were chosen on the questions
`tune`: the first round of labels and half of the second. The figures are those of `test`, the other half of the
second round (docs/evidence.md says how often it was seen). Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evidence_labels")]

from built_dataset import BuiltDataset  # noqa: E402
from labelled_spans import (  # noqa: E402
    FRESH,
    SECOND_READER,
    SUPPORTING,
    LabelledQuestion,
    SpanCounts,
    count_spans,
    for_tuning,
    read_spans,
    span_rates,
    untouched,
)

from builder.evidence import METHODS  # noqa: E402
from builder.evidence.spans import gold_texts  # noqa: E402
from builder.evidence.telling_words import words_of  # noqa: E402
from edu_rag.gold import Gold  # noqa: E402
from edu_rag.records import Question, WebPage  # noqa: E402

PEER = "answer anywhere (peer)"
SHOWN = ("answer-string-v1", "answer-string-v2", "true-false-v1", "evidence-v3", "evidence-v4", "evidence-v5")
N_RESAMPLES = 2_000
Found = list[tuple[str, int, int]]
Find = Callable[[Question, Gold, Sequence[WebPage]], Found]


def answer_anywhere(question: Question, gold: Gold, pages: Sequence[WebPage]) -> Found:
    """The sentences that contain the gold's words in order. The question does not matter."""
    needles = [f" {' '.join(words_of(text))} " for text in gold_texts(question, gold)]
    return [
        (page.page_id, *span)
        for page in pages
        for span in page.sentences
        if any(needle.strip() and needle in f" {' '.join(words_of(page.text[slice(*span)]))} " for needle in needles)
    ]


def finder(name: str) -> Find:
    """A method as a function to spans."""
    if name == PEER:
        return answer_anywhere
    return lambda question, gold, pages: [
        (e.page_id, e.start, e.end) for e in METHODS[name].find(question, gold, pages)
    ]


def applies(name: str, kind: str) -> bool:
    """Whether a method is for a kind of question."""
    return (kind == "true_false") == (name == "true-false-v1")


def interval(counts: Sequence[SpanCounts], rate: str) -> tuple[float, float]:
    """The 95 % interval of a rate over questions drawn again."""
    rng, some = np.random.default_rng(0), np.array(counts)
    drawn = [
        span_rates([SpanCounts(*row) for row in some[rng.integers(0, len(some), len(some))].tolist()])[rate]
        for _ in range(N_RESAMPLES)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def rows(labelled: Sequence[LabelledQuestion], data: dict[str, BuiltDataset], names: Iterable[str]) -> Iterator[str]:
    """The lines of the table of precision and recall."""
    yield "| dataset | kind | method | precision | at least | recall | questions found | spans (not judged) |"
    yield "|---|---|---|---|---|---|---|---|"
    groups = sorted({(one.dataset, one.kind) for one in labelled})
    for dataset, kind in [*groups, ("all", "multiple choice and matching")]:
        some = [
            one
            for one in labelled
            if (one.dataset, one.kind) == (dataset, kind) or (dataset == "all" and one.kind != "true_false")
        ]
        for name in names:
            if applies(name, some[0].kind):
                counts = [count_spans(one, finder(name)(*data[one.dataset].exam(one.question_id))) for one in some]
                yield f"| {dataset} | {kind}, {len(some)} | {name} | {_cells(counts)} |"


def _cells(counts: Sequence[SpanCounts]) -> str:
    rates = span_rates(counts)
    cells = []
    for rate in ("precision", "at_least", "recall", "questions"):
        low, high = interval(counts, rate)
        cells.append(f"{rates[rate]:.2f} [{low:.2f}, {high:.2f}]")
    n_spans = sum(one.right + one.wrong + one.unjudged for one in counts)
    return " | ".join([*cells, f"{n_spans} ({sum(one.unjudged for one in counts)})"])


def coverage(data: Iterable[BuiltDataset]) -> Iterator[str]:
    """The lines of the table of questions with evidence, by the methods that the datasets were built with."""
    yield "| dataset | method | questions with evidence | spans |"
    yield "|---|---|---|---|"
    for one in data:
        for name, found in sorted(one.evidence.items()):
            n, n_with = len(one.questions), len(set(found))
            yield f"| {one.name} | {name} | {n_with:,} of {n:,} ({n_with / n:.1%}) | {len(found):,} |"


def agreement(labelled: Sequence[LabelledQuestion]) -> str:
    """How often two readers say the same of a sentence: supports (with or without a neighbour) or not."""
    first = {(one.question_id, s.page_id, s.start): s.label for one in labelled for s in one.sentences}
    asked = {one.question_id for one in labelled}
    again = [one for one in read_spans(SECOND_READER) if one.question_id in asked]
    second = [(one.question_id, s) for one in again for s in one.sentences]
    both = [(first[q, s.page_id, s.start] in SUPPORTING, s.label in SUPPORTING) for q, s in second]
    n, same = len(both), sum(a == b for a, b in both)
    yes_a, yes_b = sum(a for a, _ in both) / n, sum(b for _, b in both) / n
    chance = yes_a * yes_b + (1 - yes_a) * (1 - yes_b)
    n_pairs = len({(q, s.page_id) for q, s in second})
    return (
        f"A second reader, who saw neither the first labels nor the methods, judged {n:,} sentences of {n_pairs} "
        f"question-page pairs: {same / n:.1%} equal, kappa {(same / n - chance) / (1 - chance):.2f}."
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, action="append", required=True, help="a built dataset; once for each")
    parser.add_argument("--half", choices=("test", "tune"), default="test")
    parser.add_argument(
        "--with", dest="more", action="append", default=[], help="one more method, such as embedding-v1"
    )
    parser.add_argument("--no-coverage", action="store_true", help="only the labelled questions")
    given = parser.parse_args()
    data = {one.name: one for one in map(BuiltDataset.read, given.dataset)}
    half = [one for one in (untouched() if given.half == "test" else for_tuning()) if one.dataset in data]
    for one in half:
        data[one.dataset].require_same_text(one)
    pairs = {(one.question_id, s.page_id) for one in half for s in one.sentences}
    print(f"Questions `{given.half}`: {len(half)}, {len(pairs):,} question-page pairs, ", end="")
    print(f"{sum(len(one.sentences) for one in half):,} judged sentences.\n")
    names = (PEER, *SHOWN, *given.more)
    print("\n".join(rows(half, data, names)))
    print(f"\n{agreement([one for one in [*read_spans(), *read_spans(FRESH)] if one.dataset in data])}")
    if not given.no_coverage:
        print("\n" + "\n".join(coverage(data.values())))


if __name__ == "__main__":
    main()
