"""The ablation with a reranker (HyPA-RAG, Tables 3 and 9), in retrieval: evidence in the context with and without it.

The weights of the paper's reranker, bge-reranker-large, are in no package registry. A bi-encoder reorders BM25's best
30 windows instead, so the figures say nothing about the paper's. No language model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypa_retrieval import MAX_CHARS, Found, asked, remembering
from scored_runs import SPLIT, difference, percent, table

from baselines.chunk.sentences import n_tokens, windows
from baselines.classify.tfidf import svm
from baselines.edu_rag_paper import join
from baselines.expand.sub_queries import sub_queries
from baselines.models import DEFAULT_MODEL
from baselines.parts import Rank
from baselines.pipeline import Numbers, Pipeline, numbers_of_classes
from baselines.rerank.cross_encoder import bi_encoder
from baselines.retrieve.bm25 import bm25
from baselines.retrieve.fuse import rrf
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.support import read_support
from edu_rag.serve import SystemQuestion
from harness.exam import open_exam
from harness.running.task import question_line, task_of
from harness.scoring.retrieval import match, mean_with_interval

RERANKED = 30
WINDOWS = windows(tokens=128, overlap=0)
Spans = Mapping[str, Sequence[tuple[int, int]]]
"""Evidence by page."""
FIXED = ("fixed k = 3", "fixed k = 5", "fixed k = 10")
ADAPTIVE = "adaptive k, 3 classes"
PA = "adaptive k and Q, 3 classes (PA)"


def numbers_by_system(n_class: int) -> dict[str, Numbers]:
    """The numbers of each system for a question of this class; Q None means no rewrites."""
    of_class = numbers_of_classes(3)[n_class]
    fixed = {name: Numbers(top_k=int(name.rsplit(" ", 1)[-1])) for name in FIXED}
    adaptive = Numbers(top_k=of_class.top_k)
    return {**fixed, ADAPTIVE: adaptive, PA: replace(adaptive, n_rewrites=of_class.n_rewrites)}


def pipelines(reranker: Rank) -> Callable[[Numbers, bool], Pipeline]:
    """BM25's windows for these numbers, with rewrites where they have a Q, reranked or not."""
    plain = Pipeline(chunk=WINDOWS, retrieve=[remembering(bm25())], fuse=rrf(), numbers=[], candidates=RERANKED)
    rewriting = replace(plain, expand=sub_queries())

    def of(numbers: Numbers, again: bool) -> Pipeline:
        found = plain if numbers.n_rewrites is None else rewriting
        return replace(found, rerank=reranker, rerank_from=RERANKED) if again else found

    return of


def of_question(query: SystemQuestion, evidence: Spans, n_class: int, reranker: Rank) -> dict[tuple[str, bool], Found]:
    """The evidence of a question that each system finds, without the reranker (False) and with it."""
    passages, pages = WINDOWS(query), {page.page_id: page for page in query.pages}
    texts, pipeline, found = [one.text for one in passages], pipelines(reranker), {}
    for name, numbers in numbers_by_system(n_class).items():
        for again in (False, True):
            ranked = pipeline(numbers, again).rank(query.text, texts, numbers)
            spans = join([passages[one.place] for one in ranked], MAX_CHARS).passages
            matched = match(spans, evidence)
            words = sum(n_tokens(pages[page_id].text[start:end]) for page_id, start, end in spans)
            found[name, again] = Found(int(bool(matched.ranks)), len(matched.ranks) / matched.n_places, words)
    return found


def measure(folder: Path, split: str, sample: str | None, reranker: Rank) -> dict[tuple[str, bool], list[Found]]:
    """The same of all questions with evidence, in order."""
    dataset = Dataset(folder / "dataset")
    task, support, classify = task_of(dataset, split, None), read_support(dataset, split), svm(n_classes=3)
    chosen = {question.question_id for question in open_exam(dataset, split, sample).questions}
    found: dict[tuple[str, bool], list[Found]] = {}
    for question in task.questions:
        evidence = support.evidence.get(question.question_id)
        if not evidence or question.question_id not in chosen:
            continue
        query = asked(question, question_line(question, list(task.pages[question.question_id]), "q"))
        for key, result in of_question(query, evidence, classify(query.text), reranker).items():
            found.setdefault(key, []).append(result)
    return found


def _held(results: Sequence[Found]) -> np.ndarray:
    return np.array([one.success for one in results], dtype=np.int64)


def _rows(found: Mapping[tuple[str, bool], list[Found]]) -> list[list[object]]:
    rows: list[list[object]] = []
    for name in dict.fromkeys(name for name, _ in found):
        without, with_it = found[name, False], found[name, True]
        shares = [mean_with_interval(_held(results).astype(float).tolist()) for results in (without, with_it)]
        shown = [percent(value, (low, high)) for value, low, high in shares]
        words = [f"{np.mean([one.n_tokens for one in results]):,.0f}" for results in (without, with_it)]
        rows.append([name, *shown, difference(_held(with_it), _held(without)), " → ".join(words)])
    return rows


def _against(found: Mapping[tuple[str, bool], list[Found]]) -> list[list[object]]:
    pairs = ((PA, ADAPTIVE), (PA, "fixed k = 5"), (ADAPTIVE, "fixed k = 3"))
    return [
        [
            f"{second} - {first}",
            *(difference(_held(found[second, on]), _held(found[first, on])) for on in (False, True)),
        ]
        for second, first in pairs
    ]


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="holds dataset/")
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--sample")
    parser.add_argument("--encoder", default=DEFAULT_MODEL)
    given = parser.parse_args(arguments)
    found = measure(given.folder, given.split, given.sample, bi_encoder(given.encoder))
    n = len(next(iter(found.values())))
    print(
        f"{n:,} questions of {given.split} with evidence; windows of 128 tokens by BM25, the best {RERANKED} reordered "
        f"by `{given.encoder}`, a bi-encoder (the paper's is bge-reranker-large); percent, 95 % intervals.\n"
    )
    head = ["evidence in the context, %", "without reranker", "with it", "with minus without", "words of context"]
    print(table(head, _rows(found)))
    print(table(["difference, points", "both without reranker", "both with it"], _against(found)))


if __name__ == "__main__":
    main()
