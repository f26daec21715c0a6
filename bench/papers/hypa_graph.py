"""HyPA-RAG's knowledge graph: does it bring the answer into the context, and what does it cost?

Usage: bench/page.py papers/hypa_rag:graph --folder FOLDER [--n 300]

The language model is left out: the question is what the prompt holds. All contexts
have the same number of characters, so what triplets bring is weighed against the passages that they push out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scored_runs import SPLIT, difference, exam_of, percent, share, table

from baselines.chunk.sentences import windows
from baselines.edu_rag_paper import Context, join
from baselines.graph.graph_part import Remembering, cited, graph_part
from baselines.graph.read_triplets import read_sentences
from baselines.graph.triplets import Extract, Triplet
from baselines.parts import Graph, PagePassage, make
from builder.evidence.spans import gold_texts
from builder.evidence.telling_words import words_of
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.names import Sample
from edu_rag.records import Evidence, Question, WebPage
from edu_rag.serve import SystemPage, SystemQuestion

MAX_CHARS = 2_500
N_RETRIEVED, N_OTHERS, N_TRIPLETS = 16, 24, 20
WINDOWS = "windows alone"
VARIANTS: Mapping[str, tuple[int, int, bool]] = {
    "class 0: K = 3, S = 1": (3, 1, False),
    "class 1: K = 4, S = 2": (4, 2, False),
    "class 2: K = 5, S = 3": (5, 3, False),
    "K = 4, S = 2, choices searched too": (4, 2, True),
}
"""Table 7, three classes; and what the paper's task, which has no choices, cannot have."""


class Asked(NamedTuple):
    """A question as a system gets it, its windows best first, what its gold says, and its evidence."""

    question: SystemQuestion
    windows: Sequence[PagePassage]
    golds: Sequence[str]
    evidence: Sequence[Evidence]


def as_asked(question: Question, pages: Sequence[WebPage]) -> SystemQuestion:
    """The question as a system gets it."""
    shown = tuple(
        SystemPage(
            page_id=page.page_id, url=page.url, title=page.title or "", text=page.text, sentences=tuple(page.sentences)
        )
        for page in pages
    )
    return SystemQuestion(
        id=question.question_id, text=question.text, choices=question.choices, kind=question.kind, pages=shown
    )


def asked(folder: Path, n: int) -> Iterator[Asked]:
    """The questions of the sample whose gold is a text that can support it: no true/false, no "all of the above"."""
    data, exam = Dataset(folder / "dataset"), exam_of(folder, Sample(n, 0).name)
    hits, pages, evidence = data.hits(SPLIT), data.pages(SPLIT), data.evidence(SPLIT)
    cut, retrieve = windows(128, 0), make("retrieve", "bm25", {})
    for one in exam.questions:
        said = [" ".join(words_of(text)) for text in gold_texts(one, exam.gold[one.question_id])]
        if not any(said):
            continue
        question = as_asked(one, kept_pages(hits.get(one.question_id, ()), pages))
        passages = cut(question)
        ranked = retrieve(one.text, [passage.text for passage in passages], 10) if passages else []
        best = [passages[item.place] for item in ranked]
        yield Asked(question, best, [text for text in said if text], evidence.get(one.question_id, ()))


def together(found: Sequence[PagePassage], triplets: Sequence[PagePassage]) -> Context:
    """The context as baselines.pipeline makes it."""
    told = join(triplets, MAX_CHARS // 2)
    read = join(found, MAX_CHARS - (len(told.text) + 1 if told.text else 0))
    return Context(f"{read.text} {told.text}", [*read.passages, *told.passages])


def names_gold(context: Context, one: Asked) -> bool:
    """Whether the context contains the words of the gold in order."""
    line = f" {' '.join(words_of(context.text))} "
    return any(f" {gold} " in line for gold in one.golds)


def cites_evidence(context: Context, one: Asked) -> bool:
    """Whether a cited span shares a character with a span of evidence."""
    return any(
        page_id == found.page_id and start < found.end and found.start < end
        for page_id, start, end in context.passages
        for found in one.evidence
    )


class Row(NamedTuple):
    """One variant's additions to the contexts: one entry a question."""

    golds: np.ndarray
    evidence: np.ndarray
    n_triplets: Sequence[int]
    n_chars: Sequence[int]


def measure(questions: Sequence[Asked], find: Callable[[Asked], Sequence[PagePassage]]) -> Row:
    """One variant over all questions."""
    golds, evidence, counts, chars = [], [], [], []
    for one in questions:
        triplets = find(one)
        context = together(one.windows, triplets)
        golds.append(names_gold(context, one))
        evidence.append(cites_evidence(context, one))
        counts.append(len(triplets))
        chars.append(len(" ".join(triplet.text for triplet in triplets)))
    return Row(np.array(golds, dtype=np.int64), np.array(evidence, dtype=np.int64), counts, chars)


class Counting:
    """An extractor that remembers what it was asked and what came of it."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract
        self.n_sentences = 0
        self.n_triplets = 0

    def __call__(self, sentences: Sequence[str]) -> list[list[Triplet]]:
        """The same triplets."""
        found = self._extract(sentences)
        self.n_sentences += len(sentences)
        self.n_triplets += sum(map(len, found))
        return found


def timed(
    part: Graph, top_k: int, n_keywords: int, depth: int, spent: list[float]
) -> Callable[[Asked], list[PagePassage]]:
    """The part as a function of a question that notes its CPU time in milliseconds."""

    def find(one: Asked) -> list[PagePassage]:
        began = time.process_time()
        triplets = part(one.question, one.windows[:top_k], n_keywords, depth)
        spent.append(1_000 * (time.process_time() - began))
        return triplets

    return find


def _cost(spent: Sequence[float], parser: Counting, n: int) -> str:
    ordered = sorted(spent)
    times = (statistics.fmean(spent), ordered[n // 2], ordered[int(n * 0.95)], ordered[-1])
    return table(
        ("CPU ms a question: mean", "median", "95th percentile", "most", "sentences parsed", "triplets of one"),
        [
            (
                *(f"{one:.0f}" for one in times),
                f"{parser.n_sentences / n:.1f}",
                f"{parser.n_triplets / max(1, parser.n_sentences):.2f}",
            )
        ],
    )


def _line(name: str, row: Row, base: Row) -> tuple[object, ...]:
    n = len(row.golds)
    return (
        name,
        f"{statistics.fmean(row.n_triplets):.1f}",
        f"{statistics.fmean(row.n_chars):.0f}",
        share(int(row.golds.sum()), n),
        "-" if row is base else difference(row.golds, base.golds),
        percent(float(row.evidence.mean())),
        "-" if row is base else difference(row.evidence, base.evidence),
    )


def report(folder: Path, n: int) -> str:
    """The part of the page: contexts with and without triplets, and the cost."""
    questions = list(asked(folder, n))
    parser = Counting(read_sentences)
    shared = Remembering(parser)
    cited(shared, [])  # the model is loaded before the clock runs
    rows, spent = {WINDOWS: measure(questions, lambda one: [])}, []
    for name, (n_keywords, depth, with_choices) in VARIANTS.items():
        part = graph_part(shared, N_RETRIEVED, N_OTHERS, N_TRIPLETS, with_choices)
        times: list[float] = []
        rows[name] = measure(questions, timed(part, 5, n_keywords, depth, times))
        if not spent:
            spent, cost = times, _cost(times, parser, len(questions))
    head = (
        "context",
        "triplets",
        "their characters",
        "names the gold",
        "difference",
        "cites evidence, %",
        "difference",
    )
    lines = [_line(name, row, rows[WINDOWS]) for name, row in rows.items()]
    return "\n".join(
        (
            f"{len(questions)} questions of the seeded sample of {n}: those whose gold is a text that can support it "
            '(no true/false, no negation, no "all of the above"). Every context has at most '
            f"{MAX_CHARS:,} characters, BM25's best 128-token windows first. A context names the gold where the "
            "gold's words are in it in order. Differences are points of percent against windows alone: paired "
            "95 % interval, "
            "exact sign-flip p, not adjusted for their number.\n",
            table(head, lines),
            f"What it costs (the first graph row, nothing read before; at most {N_RETRIEVED} sentences of the "
            f"retrieved windows and {N_OTHERS} others a question, {N_TRIPLETS} triplets kept):\n",
            cost,
        )
    )


def main(arguments: Sequence[str] = ()) -> None:
    """Print the part of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--n", type=int, default=300, help="size of the seeded sample")
    given = parser.parse_args(list(arguments))
    print(report(given.folder, given.n))
