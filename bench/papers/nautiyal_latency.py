"""Milliseconds a question: by part (Nautiyal et al., Table 3), and by corpus size (figure 12)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from board_runs import table
from nautiyal_medquad import CANDIDATES, K, Medquad, vectors_of
from plots import COLOURS, panels, save

from baselines.embed import DEFAULT_MODEL, Encoder
from baselines.models import cache_folder
from baselines.retrieve import top
from baselines.retrieve.bm25 import BM25, tokenise
from baselines.retrieve.fuse import rrf

SIZES = (1_000, 2_000, 4_000, 8_000)
N_RERANKED = 5
"""Reranking takes seconds a question."""
ENOUGH = 20
"""Fewer times have no 95th percentile."""


def times_of(work: Callable[[int], object], rows: Sequence[int]) -> list[float]:
    """Milliseconds of each call; the first is not counted, since it may load what all others share."""
    work(rows[0])
    found = []
    for row in rows[1:]:
        start = perf_counter()
        work(row)
        found.append(1_000 * (perf_counter() - start))
    return found


def _shown(times: Sequence[float]) -> tuple[str, str]:
    return f"{median(times):.2f}", f"{quantiles(times, n=20)[-1]:.2f}" if len(times) >= ENOUGH else "-"


def tables(data: Medquad, rows: Sequence[int], reranker: str, plot: Path | None) -> str:
    """Both tables; questions and candidates are encoded again, documents are not."""
    documents = vectors_of(Encoder(DEFAULT_MODEL, cache=cache_folder()), data.for_meaning)
    return f"{_by_part(data, rows, documents, reranker)}\n\n{_by_size(data, rows, documents, plot)}"


def _by_part(data: Medquad, rows: Sequence[int], documents: Any, reranker: str) -> str:
    from rank_bm25 import BM25Okapi

    asked, words = data.questions, data.for_words
    index, theirs = BM25(words, variant="rank_bm25"), BM25Okapi([tokenise(text) for text in words])
    unasked = BM25(words, variant="rank_bm25")  # an index keeps what it worked out for a word
    small = Encoder(DEFAULT_MODEL)
    query_of = {row: small.encode([asked[row]])[0] for row in rows}
    sparse = {row: top(index.scores(asked[row]), CANDIDATES) for row in rows}
    dense = {row: top(documents @ query_of[row], CANDIDATES) for row in rows}
    fused = {row: rrf()(asked[row], (), [sparse[row], dense[row]], K) for row in rows}
    fresh, large = Encoder(DEFAULT_MODEL), Encoder(reranker)

    def rerank(row: int) -> None:
        texts = [data.answers[one.place] for one in fused[row]]
        large.encode(texts) @ large.encode([asked[row]])[0]

    few = rows[: N_RERANKED + 1]  # the first call is not counted
    measured: list[tuple[str, str, Callable[[int], object]]] = [
        ("BM25, as here (variant rank_bm25)", "25", _by_words(data, unasked)),
        ("BM25, the package rank-bm25", "25", lambda row: theirs.get_scores(tokenise(asked[row]))),
        ("dense: encode the question", "", lambda row: fresh.encode([asked[row]])),
        ("dense: search", "100 with encoding; 820 in section 5.8", _by_meaning(documents, query_of)),
        ("fusion alone", "150 with both searches", lambda row: rrf()(asked[row], (), [sparse[row], dense[row]], K)),
    ]
    times = [(name, paper, times_of(work, rows)) for name, paper, work in measured]
    times.append((f"rerank ten by {reranker} (bi-encoder)", "2,000 (cross-encoder)", times_of(rerank, few)))
    lines = [(name, paper, len(found), *_shown(found)) for name, paper, found in times]
    return table(("part", "paper, ms", "questions", "median ms", "95th percentile"), lines)


def _by_words(data: Medquad, index: BM25) -> Callable[[int], object]:
    return lambda row: top(index.scores(data.questions[row]), CANDIDATES)


def _by_meaning(documents: Any, query_of: Mapping[int, Any]) -> Callable[[int], object]:
    return lambda row: top(documents @ query_of[row], CANDIDATES)


def _by_size(data: Medquad, rows: Sequence[int], documents: Any, plot: Path | None) -> str:
    places = list(range(len(data.questions)))
    random.Random(0).shuffle(places)
    encoder = Encoder(DEFAULT_MODEL)
    query_of = {row: encoder.encode([data.questions[row]])[0] for row in rows}
    words, lines, medians = data.for_words, [], []
    for size in (*SIZES, len(places)):
        index = BM25([words[place] for place in places[:size]], variant="rank_bm25")
        both = [
            times_of(_by_words(data, index), rows),
            times_of(_by_meaning(documents[places[:size]], query_of), rows),
        ]
        medians.append((size, *(median(times) for times in both)))
        lines.append((f"{size:,}", *_shown(both[0]), *_shown(both[1])))
    shown = table(("documents", "BM25 median ms", "95th", "dense search median ms", "95th"), lines)
    return shown if plot is None else f"![{_drawn(medians, plot)}]({plot.name})\n\n{shown}"


def _drawn(medians: Sequence[Sequence[float]], plot: Path) -> str:
    [axes] = panels([""], "documents", "median milliseconds a question")
    sizes, *lists = zip(*medians, strict=True)
    for values, name, colour in zip(lists, ("BM25", "dense search (question encoded before)"), COLOURS, strict=False):
        axes.plot(sizes, values, "o-", color=colour, label=name)
    axes.set_ylim(bottom=0)
    save(axes, plot)
    return "Milliseconds a question by number of documents"
