"""BM25 against other packages, with one corpus per question: speed, and whether the scores are the same.

Usage: .venv/bin/python bench/bm25.py --dataset DIR [--split NAME] [--questions N]

Every question's texts are the sentences of its pages, up to as many characters as EDU-RAG's pages have (3.89 pages of
8,285 characters), or all of them. The texts are indexed once a question, and asked for the question's text, or for the
statements of its choices, as `bm25-overlap` does. CPU time of the process, one thread. `tokens given` leaves tokenising
out for all: what a package does with ready lists of tokens, and ours with texts that it has seen. `from text` has every
text tokenised by each package's user, question by question, and by ours once. `in a run` holds rank-bm25 from text
against ours on pages that earlier questions had (the packages remember nothing). Needs rank-bm25, rank-bm25-rs, bm25s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from baselines.chunk.sentences import sentences_of
from baselines.overlap import statement
from baselines.retrieve import top
from baselines.retrieve.bm25 import BM25
from baselines.retrieve.token_ids import TokenIds, tokenise
from edu_rag.files.dataset import Dataset
from edu_rag.serve import SystemPage, SystemQuestion

K = 10
GOAL = 20
PAPERS_CHARACTERS = round(3.89 * 8_285)
"""EDU-RAG, section 3: pages a question, and characters a page."""


class Asked(NamedTuple):
    """The query for a question, and the texts that are ranked for it."""

    queries: list[str]
    texts: list[str]


def within(texts: Sequence[str], n_characters: int) -> list[str]:
    """The first texts that have at most so many characters together."""
    ends = accumulate(map(len, texts))
    return [text for text, end in zip(texts, ends, strict=True) if end <= n_characters]


Build = Callable[[list[list[str]]], Any]
"""From the tokens of texts to an object whose get_scores takes the tokens of a query."""


def _rank_bm25(tokens: list[list[str]]) -> Any:
    from rank_bm25 import BM25Okapi

    return BM25Okapi(tokens)


def _rank_bm25_rs(tokens: list[list[str]]) -> Any:
    from rank_bm25_rs import BM25Okapi

    return BM25Okapi(tokens)


def _bm25s(tokens: list[list[str]], dtype: str = "float64") -> Any:
    import bm25s

    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype=dtype)
    index.index(tokens, show_progress=False)
    return index


PACKAGES: dict[str, Build] = {"rank-bm25": _rank_bm25, "rank-bm25-rs": _rank_bm25_rs, "bm25s": _bm25s}


def asked_of(folder: Path, split: str, n: int) -> Iterator[SystemQuestion]:
    """The first questions that have pages, as a system gets them."""
    dataset = Dataset(folder)
    pages, hits = dataset.pages(split), dataset.hits(split)
    shown = {
        page_id: SystemPage(page_id=page_id, url=p.url, title=p.title, text=p.text, sentences=tuple(p.sentences))
        for page_id, p in pages.items()
    }
    for question in dataset.questions(split):
        kept = [hit.page_id for hit in hits.get(question.question_id, ()) if hit.page_id in shown]
        if kept and n > 0:
            n -= 1
            found = tuple(shown[page_id] for page_id in kept if page_id is not None)
            yield SystemQuestion(id="1", text=question.text, choices=question.choices, kind=question.kind, pages=found)


ROUNDS = 9
T = TypeVar("T")


def seconds(works: Mapping[T, Callable[[], object]]) -> dict[T, float]:
    """CPU seconds of each call, the least of ROUNDS: other work on the machine only adds, and to all of them."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            began = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - began)
    return least


def theirs(build: Build, asked: Sequence[Asked], tokens: Sequence[list[list[str]]] | None) -> None:
    """Rank each question's texts with a package; its user tokenises unless `tokens` are given."""
    for place, (queries, texts) in enumerate(asked):
        index = build(tokens[place] if tokens is not None else [tokenise(text) for text in texts])
        for query in queries:
            top(np.asarray(index.get_scores(tokenise(query))), K)


def ours(variant: Any, asked: Sequence[Asked], remembered: TokenIds | None) -> None:
    """Rank each question's texts with our part, with the texts `remembered`, or none at first."""
    tokens = remembered if remembered is not None else TokenIds()
    for queries, texts in asked:
        index = BM25(texts, variant=variant, tokens=tokens)
        for scores in index.scores_of(queries):
            top(scores, K)


def speed(asked: Sequence[Asked]) -> Iterator[str]:
    """The table of one corpus a question."""
    lists = [[tokenise(text) for text in texts] for _, texts in asked]
    warm = TokenIds()
    works: dict[tuple[str, bool], Callable[[], object]] = {}
    for name, build in PACKAGES.items():
        works[name, True], works[name, False] = (
            partial(theirs, build, asked, lists),
            partial(theirs, build, asked, None),
        )
    for variant in ("lucene", "rank_bm25"):
        name = f"**ours, `{variant}`**"
        ours(variant, asked, warm)
        works[name, True], works[name, False] = partial(ours, variant, asked, warm), partial(ours, variant, asked, None)
    least = seconds(works)
    peer = "rank-bm25"
    yield "| | from text, ms a question | tokens given, ms | times rank-bm25, tokens given to both | times, in a run |"
    yield "|---|---|---|---|---|"
    for name in dict.fromkeys(name for name, _ in works):
        given, text = least[name, True], least[name, False]
        times = f"{1000 * text / len(asked):.2f} | {1000 * given / len(asked):.2f} | {least[peer, True] / given:.1f}"
        yield f"| {name} | {times} | {least[peer, False] / (given if 'ours' in name else text):.1f} |"


def agreement(asked: Sequence[Asked]) -> Iterator[str]:
    """How far scores and the ten best are those of the packages."""
    yield "| our variant | package | equal to the last bit | largest relative difference | same ten best |"
    yield "|---|---|---|---|---|"
    pairs: list[tuple[Any, str]] = [("rank_bm25", "rank-bm25"), ("rank_bm25", "rank-bm25-rs"), ("lucene", "bm25s")]
    for variant, package in pairs:
        equal, same, largest = 0, 0, 0.0
        for (query, *_), texts in asked:
            index = PACKAGES[package]([tokenise(text) for text in texts])
            other, own = np.asarray(index.get_scores(tokenise(query))), BM25(texts, variant=variant).scores(query)
            equal += np.array_equal(other, own)
            same += [hit.place for hit in top(other, K)] == [hit.place for hit in top(own, K)]
            largest = max(largest, float((np.abs(other - own) / np.maximum(np.abs(own), 1e-300)).max()))
        n = len(asked)
        yield f"| `{variant}` | {package} | {equal:,} of {n:,} | {largest:.0e} | {same:,} of {n:,} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--split", default="val")
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    asked = list(asked_of(options.dataset, options.split, options.questions))
    every = [[p.text for p in sentences_of(q)] for q in asked]
    first = [Asked([q.text], within(texts, PAPERS_CHARACTERS)) for q, texts in zip(asked, every, strict=True)]
    stated = [
        Asked([statement(q, label) for label in q.choices] or [q.text], one.texts)
        for q, one in zip(asked, first, strict=True)
    ]
    whole = [Asked([q.text], texts) for q, texts in zip(asked, every, strict=True)][: max(1, len(asked) // 10)]
    for name, some in (
        ("pages of the paper's length, the question's text", first),
        ("pages of the paper's length, a statement for each choice", stated),
        ("all sentences of whole chapters, the question's text", whole),
    ):
        mean = sum(len(one.texts) for one in some) / len(some)
        print(f"One corpus a question, {name} (mean {mean:,.0f} sentences, {len(some):,} questions):\n")
        print("\n".join([*speed(some), ""]))
    print(f"Goal: at least {GOAL} times rank-bm25 in a run, one corpus a question. The same scores:\n")
    print("\n".join(agreement(first)))


if __name__ == "__main__":
    main()
