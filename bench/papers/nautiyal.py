"""Nautiyal et al. 2026 rebuilt: BM25, dense and hybrid retrieval on MedQuAD by the paper's protocol, and what it hides.

Usage: bench/page.py papers/nautiyal:PART --data pairs.jsonl.gz [--runs N] [--seed N] [--plot]

PART is one of
  data        the paper's Table 1 against the data, and the best values that it allows
  retrieval   Table 5: 10 runs of 100 questions, the question's own pair kept and taken out, other readings of "100"
  tests       section 5.2's tests, run by run and over all questions
  cutoffs     figures 6 to 8: P, R and NDCG@k (with --plot writes docs/figures/papers/nautiyal-cutoffs.svg)
  queries     figures 10, 13, 14: results by query (--plot: nautiyal-queries.svg, nautiyal-differences.svg)
  behaviour   Table 6 and section 5.7: changed places, and finds of one system alone
  rerank      the hybrid's top 10 reranked by a bi-encoder (--runs and --n say of how many questions)
  cross-encoder  the hybrid reranked by the models of nautiyal_training.py (--trained: the folder of their scores)
  answers     the three systems' answers on the board's questions (--run DIR: dataset and submissions)
  free-text   answers in free text with sources (--run DIR of bench/papers/paper_runs.py), Mala et al.'s too
  latency     Table 3 and figure 12: milliseconds a part, and by corpus size (--plot: nautiyal-scaling.svg)
The paper's figures are constants here; every other figure is measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, median, stdev

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import free_answers
import nautiyal_behaviour
import nautiyal_cross_encoder
import nautiyal_cutoffs
import nautiyal_latency
import nautiyal_queries
import scored_runs
from board_runs import table
from nautiyal_medquad import K, Medquad, Search, Values, first_of_areas, random_runs, read
from nautiyal_tests import pooled_row, run_ps

from edu_rag.statistics import holm, paired

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers"
METRICS = ("P@10", "R@10", "MRR", "NDCG@10")
PAPER = {
    "BM25": ("60.30 ± 1.82", "58.73 ± 2.14", "93.44 ± 0.87", "74.37 ± 1.95"),
    "dense": ("59.80 ± 1.76", "55.97 ± 2.31", "92.25 ± 1.12", "72.91 ± 2.08"),
    "hybrid": ("63.80 ± 1.65", "61.84 ± 1.98", "94.87 ± 0.64", "78.07 ± 1.74"),
}
"""Table 5, in per cent."""
PAIRS = (("hybrid", "BM25"), ("hybrid", "dense"), ("BM25", "dense"))
PAPER_TESTS = {
    ("hybrid", "BM25"): "0.003, 10 of 10",
    ("hybrid", "dense"): "< 0.001, 10 of 10",
    ("BM25", "dense"): "0.042, 8 of 10",
}
N, LARGEST = 100, 138
SLUGS = ("nautiyal-bm25", "nautiyal-dense", "nautiyal-hybrid-rerank")
CONTROL = "edu-rag-vanilla-gemma3"
"""The same language model without any passage."""
SAMPLE = "stratified-500-seed-0"
RATES = ("score", "accuracy", "hallucination", "missing")


def data_part(data: Medquad, options: argparse.Namespace) -> str:
    """Table 1 and the data, and the bounds that the data sets."""
    areas, n = data.by_focus(), len(data.questions)
    sizes = sorted(map(len, areas.values()), reverse=True)
    n_distinct = len(set(data.questions))
    rows = [
        ("pairs", "16,412", f"{n:,} with an answer"),
        ("focus areas", "138", f"{len(areas):,}; {sum(size >= K for size in sizes)} with {K} or more pairs"),
        ("sources", "12", f"{len(set(data.source))}"),
        ("mean question, characters", "72", f"{mean(map(len, data.questions)):.1f}"),
        ("mean answer, characters", "1,303", f"{mean(map(len, data.answers)):,.1f}"),
        ("repeated questions", "1,428 removed", f"{n - n_distinct:,} (exact text); {n_distinct:,} would be left"),
        ("all answers, MB of UTF-8", "CSV of 12.4", f"{sum(len(a.encode()) for a in data.answers) / 1e6:.1f}"),
    ]
    with_focus = sum(sizes)
    by_areas = min(1.0, LARGEST * K / 16_412)
    least = [
        ("P@10 of a perfect system, a random question", sum(size * min(size, K) for size in sizes) / with_focus / K),
        ("R@10 of a perfect system, a random question", sum(min(size, K) for size in sizes) / with_focus),
        ("R@10 of a perfect system, were there 138 areas among 16,412 documents: at most", by_areas),
    ]
    bounds = [(name, f"{100 * value:.1f} %") for name, value in least]
    return f"{table(('', 'paper', 'data'), rows)}\n\n{table(('what can be reached', 'value'), bounds)}"


def _spread(values: Values, runs: Sequence[Sequence[int]], metric: str) -> str:
    means = [100 * mean(values[metric][row] for row in run if row in values[metric]) for run in runs]
    return f"{mean(means):.2f}" + (f" ± {stdev(means):.2f}" if len(means) > 1 else "")


def _protocol(search: Search, name: str, runs: Sequence[Sequence[int]], *, own: bool) -> list[tuple[str, ...]]:
    rows = [row for run in runs for row in run]
    values = search.values(rows, own=own)
    kept = len(values["BM25"]["MRR"])
    told = f"{name}; {kept} questions"
    return [(told, method, *(_spread(values[method], runs, metric) for metric in METRICS)) for method in values]


def retrieval_part(data: Medquad, options: argparse.Namespace) -> str:
    """Table 5 under each reading of the protocol."""
    runs = random_runs(data, options.runs, N, options.seed)
    large = random_runs(data, options.runs, N, options.seed, LARGEST)
    firsts, large_firsts = first_of_areas(data, N), first_of_areas(data, N, LARGEST)
    search = Search(data, [row for run in (*runs, *large, firsts, large_firsts) for row in run])
    head = ("questions", "method", *(f"{metric} (%)" for metric in METRICS))
    rows: list[tuple[str, ...]] = [("paper, Table 5", name, *figures) for name, figures in PAPER.items()]
    shown = [f"The paper:\n\n{table(head, rows)}"]
    for own in (True, False):
        rows = [
            *_protocol(search, f"random, {len(runs)} x {N} (5.1)", runs, own=own),
            *_protocol(search, f"first of each area, {N} (4.8)", [firsts], own=own),
            *_protocol(search, f"random in the {LARGEST} largest areas, {len(runs)} x {N}", large, own=own),
            *_protocol(search, f"first of each of {N} of the {LARGEST} largest areas", [large_firsts], own=own),
        ]
        shown.append(f"The question's own pair {'kept' if own else 'taken out'}:\n\n{table(head, rows)}")
    return "\n\n".join(shown)


def tests_part(data: Medquad, options: argparse.Namespace) -> str:
    """Is one method better? Run by run as the paper does, and over all questions with focus areas drawn whole."""
    runs = random_runs(data, options.runs, N, options.seed)
    search = Search(data, [row for run in runs for row in run])
    rows = []
    for own in (True, False):
        values = search.values([row for run in runs for row in run], own=own)
        for first, second in PAIRS:
            one, other = values[first]["NDCG@10"], values[second]["NDCG@10"]
            found = run_ps(one, other, runs, options.seed)
            told = f"{median(found):.4f}, {sum(p < 0.05 for p in found)} of {len(found)}"
            paper, pooled = PAPER_TESTS[first, second], pooled_row(one, other, data.focus, options.seed)
            rows.append((f"{first} − {second}", "kept" if own else "out", paper, told, *pooled))
    head = ("NDCG@10 of", "own pair", "paper: median p, p < 0.05", "ours: median p, p < 0.05")
    return table((*head, "questions, areas", "difference (points)", "95 % interval", "established"), rows)


def _by_own(search: Search, rows: Sequence[int]) -> dict[bool, dict[str, Values]]:
    return {own: search.values(rows, own=own) for own in (True, False)}


def cutoffs_part(data: Medquad, options: argparse.Namespace) -> str:
    """P, R and NDCG at 1 … 10."""
    rows = [row for run in random_runs(data, options.runs, N, options.seed) for row in run]
    plot = FOLDER / "nautiyal-cutoffs.svg" if options.plot else None
    return nautiyal_cutoffs.tables(_by_own(Search(data, rows), rows), data.focus, options.seed, plot)


def queries_part(data: Medquad, options: argparse.Namespace) -> str:
    """Differences and spread by query, and the first place by source."""
    rows = [row for run in random_runs(data, options.runs, N, options.seed) for row in run]
    search = Search(data, rows)
    return nautiyal_queries.tables(_by_own(search, rows), search, options.seed, FOLDER if options.plot else None)


def behaviour_part(data: Medquad, options: argparse.Namespace) -> str:
    """How much the rankings differ, and who finds relevant pairs alone."""
    runs = random_runs(data, options.runs, N, options.seed)
    rows = list(dict.fromkeys(row for run in runs for row in run))
    return nautiyal_behaviour.tables(Search(data, rows), rows)


def rerank_part(data: Medquad, options: argparse.Namespace) -> str:
    """The hybrid before and after reranking by a bi-encoder, which is not the paper's reranker."""
    runs = random_runs(data, options.runs, options.n, options.seed)
    rows = list(dict.fromkeys(row for run in runs for row in run))
    return nautiyal_behaviour.reranking(Search(data, rows), rows, options.reranker, options.seed)


def cross_encoder_part(data: Medquad, options: argparse.Namespace) -> str:
    """The hybrid reranked by trained cross-encoders, next to the three rankings."""
    return nautiyal_cross_encoder.tables(data, options.trained, options.seed)


def latency_part(data: Medquad, options: argparse.Namespace) -> str:
    """Milliseconds a question by part and by corpus size."""
    plot = FOLDER / "nautiyal-scaling.svg" if options.plot else None
    return nautiyal_latency.tables(data, random_runs(data, 1, options.timed, options.seed)[0], options.reranker, plot)


def answers_part(options: argparse.Namespace) -> str:
    """The systems' scores on TQA, those of the same model without passages, and their differences."""
    exam = scored_runs.exam_of(options.run, options.sample, options.split)
    found = {slug: scored_runs.run_of(options.run, exam, slug) for slug in (*SLUGS, CONTROL)}
    outcomes = {slug: run.outcomes for slug, run in found.items() if run is not None}
    missing = [f"`{slug}`" for slug in found if slug not in outcomes]
    told = f"{len(exam.questions)} questions ({options.sample})." + (
        f" Not run yet: {', '.join(missing)}." if missing else ""
    )
    rates = {slug: scored_runs.rates(one) for slug, one in outcomes.items()}
    rows = [(f"`{slug}`", *(values[name] for name in RATES)) for slug, values in rates.items()]
    return f"{told}\n\n{table(('system, %', *RATES), rows)}\n\n{_pairs(outcomes)}"


def _pairs(outcomes: Mapping[str, str]) -> str:
    names = list(combinations(outcomes, 2))
    tests = [paired(outcomes[second], outcomes[first]) for first, second in names]
    rows = [
        (
            f"`{second}` − `{first}`",
            f"{one.difference:+.3f}",
            f"{one.low:+.3f} … {one.high:+.3f}",
            f"{one.p:.2g}",
            f"{p:.2g}",
        )
        for (first, second), one, p in zip(names, tests, holm([one.p for one in tests]), strict=True)
    ]
    return table(("difference of", "score", "95 % interval", "sign-flip p", "p after Holm"), rows)


PARTS: dict[str, Callable[[Medquad, argparse.Namespace], str]] = {
    "data": data_part,
    "retrieval": retrieval_part,
    "tests": tests_part,
    "cutoffs": cutoffs_part,
    "queries": queries_part,
    "behaviour": behaviour_part,
    "rerank": rerank_part,
    "cross-encoder": cross_encoder_part,
    "latency": latency_part,
}


def main() -> None:
    """Print one part as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", choices=(*PARTS, "answers", "free-text"))
    parser.add_argument(
        "--data", type=Path, help="MedQuAD's pairs as JSON lines (gzip); all parts but answers, free-text"
    )
    parser.add_argument("--run", type=Path, help="folder of the real run; answers and free-text")
    parser.add_argument("--sample", default=SAMPLE, help="which sample the runs are of; answers and free-text")
    parser.add_argument("--split", default=scored_runs.SPLIT, help="which split the runs are of; answers and free-text")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n", type=int, default=N, help="questions a run; rerank only")
    parser.add_argument("--timed", type=int, default=50, help="questions that are timed")
    parser.add_argument("--reranker", default="all-mpnet-base-v2", help="encoder that reranks")
    parser.add_argument("--trained", type=Path, help="folder of the trained models' scores; cross-encoder only")
    parser.add_argument("--plot", action="store_true")
    options = parser.parse_args()
    if options.part == "answers":
        print(answers_part(options))
        return
    if options.part == "free-text":
        print(free_answers.report(options.run, options.split, options.sample))
        return
    data = read(options.data)
    n_without = sum(not focus for focus in data.focus)
    print(PARTS[options.part](data, options))
    print(f"\nSeed {options.seed}. {n_without} pairs have no focus area: they are documents, and no questions.")


if __name__ == "__main__":
    main()
