"""Fixed k against adaptive k and Q: evidence found, and the context that it costs. No language model.

The adaptive variants are also compared with their own numbers shuffled: the same cost, no knowledge of the query.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from plots import COLOURS, panels, save
from scored_runs import SPLIT, difference, percent, table

from baselines.chunk.sentences import n_tokens, windows
from baselines.classify.tfidf import svm
from baselines.edu_rag_paper import join
from baselines.expand.sub_queries import sub_queries
from baselines.parts import Rank, ScoredPassage
from baselines.pipeline import Numbers, Pipeline, numbers_of_classes
from baselines.retrieve.bm25 import bm25
from baselines.retrieve.dense import dense
from baselines.retrieve.fuse import rrf
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.support import read_support
from edu_rag.serve import SystemQuestion
from harness.running.task import question_line, task_of
from harness.scoring.retrieval import match, mean_with_interval

FIXED = (3, 5, 7, 10)
REFERENCE = "fixed k = 5"
MAX_CHARS = 4_800
SEED = 5
PLOT = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "hypa-rag-retrieval.svg"


class Found(NamedTuple):
    """Of a question under a setting: whether a passage shows evidence, the share of its places, words of context."""

    success: int
    recall: float
    n_tokens: int


def remembering(rank: Rank) -> Rank:
    """The same retriever, asked each query once: settings share their queries."""
    known: dict[tuple[str, int], list[ScoredPassage]] = {}

    def remembered(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        if (query, k) not in known:
            known[query, k] = rank(query, texts, k)
        return known[query, k]

    return remembered


def asked(question: Question, line: bytes) -> SystemQuestion:
    """The question as a system gets it."""
    import msgspec

    return msgspec.json.decode(line, type=SystemQuestion)


class Bench:
    """Retrieval of one question under any numbers, counted against its evidence."""

    def __init__(self, retrieve: Sequence[Rank]) -> None:
        self._chunk = windows(tokens=128, overlap=0)
        self._retrieve = retrieve

    def of_question(self, question: SystemQuestion) -> Callable[[Numbers], list[tuple[str, int, int]]]:
        """The passages cited for the question, by the numbers; Q None means no rewrites."""
        passages = self._chunk(question)
        plain = Pipeline(
            chunk=self._chunk, retrieve=[remembering(one) for one in self._retrieve], fuse=rrf(), numbers=[]
        )
        rewriting = replace(plain, expand=sub_queries())
        texts = [passage.text for passage in passages]

        def cited(numbers: Numbers) -> list[tuple[str, int, int]]:
            pipeline = plain if numbers.n_rewrites is None else rewriting
            ranked = pipeline.rank(question.text, texts, numbers) if texts else []
            return join([passages[item.place] for item in ranked], MAX_CHARS).passages

        return cited


def settings() -> list[Numbers]:
    """Every k and Q that is measured: fixed k without rewrites, each class of both columns without and with."""
    fixed = [Numbers(top_k=k) for k in FIXED]
    of_classes = [Numbers(top_k=one.top_k, n_rewrites=one.n_rewrites) for n in (2, 3) for one in numbers_of_classes(n)]
    return [*fixed, *of_classes]


def measure(folder: Path, split: str, retrieve: Sequence[Rank]) -> tuple[list[str], dict[Numbers, list[Found]]]:
    """The questions with evidence, and what each setting finds for each."""
    dataset = Dataset(folder / "dataset")
    task, support, bench = task_of(dataset, split, None), read_support(dataset, split), Bench(retrieve)
    texts: list[str] = []
    found: dict[Numbers, list[Found]] = {numbers: [] for numbers in settings()}
    for question in task.questions:
        evidence = support.evidence.get(question.question_id)
        if not evidence:
            continue
        pages = {page.page_id: page for page in task.pages[question.question_id]}
        cited = bench.of_question(asked(question, question_line(question, list(pages.values()), "q")))
        texts.append(question.text)
        for numbers, results in found.items():
            spans = cited(numbers)
            matched = match(spans, evidence)
            words = sum(n_tokens(pages[page_id].text[start:end]) for page_id, start, end in spans)
            results.append(Found(int(bool(matched.ranks)), len(matched.ranks) / matched.n_places, words))
    return texts, found


def adaptive(found: dict[Numbers, list[Found]], classes: Sequence[int], n_classes: int, rewriting: bool) -> list[Found]:
    """Of each question what its class's numbers find."""
    numbers = [
        Numbers(top_k=one.top_k, n_rewrites=one.n_rewrites if rewriting else None)
        for one in numbers_of_classes(3 if n_classes == 3 else 2)
    ]
    return [found[numbers[k]][i] for i, k in enumerate(classes)]


def systems(texts: Sequence[str], found: dict[Numbers, list[Found]]) -> dict[str, list[Found]]:
    """Name -> what is found of each question."""
    named = {f"fixed k = {k}": found[Numbers(top_k=k)] for k in FIXED}
    for n_classes in (2, 3):
        classify = svm(n_classes=3 if n_classes == 3 else 2)
        classes = [classify(text) for text in texts]
        dealt = list(classes)
        random.Random(SEED).shuffle(dealt)
        named[f"adaptive k, {n_classes} classes"] = adaptive(found, classes, n_classes, rewriting=False)
        named[f"the same, classes dealt at random ({n_classes})"] = adaptive(found, dealt, n_classes, rewriting=False)
        named[f"adaptive k and Q, {n_classes} classes (PA)"] = adaptive(found, classes, n_classes, rewriting=True)
    return named


def _row(name: str, results: Sequence[Found], against: str) -> list[object]:
    success, recall = (
        mean_with_interval([float(value) for value in values])
        for values in ([one.success for one in results], [one.recall for one in results])
    )
    shown = [percent(value, (low, high)) for value, low, high in (success, recall)]
    return [name, *shown, f"{np.mean([one.n_tokens for one in results]):,.0f}", against]


def _against(named: dict[str, list[Found]], second: str, first: str) -> str:
    """The difference in questions with evidence in the context."""
    ours, theirs = (np.array([one.success for one in named[name]], dtype=np.int64) for name in (second, first))
    return difference(ours, theirs)


def _pairs(named: dict[str, list[Found]]) -> list[list[object]]:
    """The gain of classes over shuffled ones, and of rewrites over none."""
    rows: list[list[object]] = []
    for n_classes in (2, 3):
        plain, dealt, rewriting = (name for name in named if str(n_classes) in name and not name.startswith("fixed"))
        rows += [[f"{plain} - dealt at random", _against(named, plain, dealt)]]
        rows += [[f"{rewriting} - {plain}", _against(named, rewriting, plain)]]
    return rows


def draw(named: dict[str, list[Found]], path: Path = PLOT) -> None:
    """Evidence found against words of context: fixed k as a line, what adapts as points."""
    [axes] = panels([""], "words and marks of context a question", "questions with evidence in the context, %")

    def points(names: Sequence[str]) -> tuple[list[float], list[float]]:
        results = [named[name] for name in names]
        return (
            [float(np.mean([one.n_tokens for one in each])) for each in results],
            [100 * float(np.mean([one.success for one in each])) for each in results],
        )

    fixed = [name for name in named if name.startswith("fixed")]
    x, y = points(fixed)
    axes.plot(x, y, "-o", color=COLOURS[0], label="fixed k")
    for k, at, value in zip(FIXED, x, y, strict=True):
        axes.annotate(f"k = {k}", (at, value), xytext=(-4, 7), textcoords="offset points", ha="right", fontsize=8)
    marks = {"adaptive k,": ("s", "adaptive k"), "the same": ("x", "adaptive k, classes dealt at random")}
    marks["adaptive k and"] = ("D", "adaptive k and Q (PA)")
    for colour, (start, (mark, label)) in zip(COLOURS[1:], marks.items(), strict=False):
        names = [name for name in named if name.startswith(start)]
        axes.scatter(*points(names), marker=mark, color=colour, label=label, zorder=3)
    for n_classes in "23":
        x, y = points([name for name in named if not name.startswith("fixed") and n_classes in name])
        axes.annotate(f"{n_classes} classes", (x[0], min(y)), xytext=(0, -15), textcoords="offset points", ha="center")
    axes.margins(x=0.09, y=0.14)
    save(axes, path)


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="holds dataset/")
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--sparse", action="store_true", help="BM25 alone, which needs no model; draws no plot")
    parser.add_argument("--json", type=Path, help="file for the results of each question; an existing file is read")
    given = parser.parse_args(arguments)
    if given.json is not None and given.json.is_file():
        kept = json.loads(given.json.read_text(encoding="utf-8"))
        named = {name: [Found(*one) for one in results] for name, results in kept.items()}
    else:
        retrieve = (bm25(),) if given.sparse else (bm25(), dense())
        named = systems(*measure(given.folder, given.split, retrieve))
        if given.json is not None:
            given.json.write_text(json.dumps(named), encoding="utf-8")
    against = {name: _against(named, name, REFERENCE) for name in named} | {REFERENCE: "-"}
    rows = [_row(name, results, against[name]) for name, results in named.items()]
    head = [
        "system",
        "evidence in the context",
        "share of its places",
        "words of context",
        f"first column - {REFERENCE}",
    ]
    print(
        f"{len(named[REFERENCE]):,} questions of the whole split {given.split} have evidence; percent, 95 % intervals; "
        f"windows of 128 tokens. The classes were dealt at random once (seed {SEED}).\n"
    )
    print(table(head, rows))
    print(table(["difference in evidence in the context, points of percent", "95 % interval, p"], _pairs(named)))
    if given.sparse:
        return
    draw(named)
    print(f"![evidence found against words of context]({PLOT.name})")


if __name__ == "__main__":
    main()
