"""Retrieval metrics: a system's citations, in their order, against the dataset's evidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from edu_rag.scorecard.card import Outcome, Passage, Prediction, Verdict
from edu_rag.scorecard.support import Support

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating[Any] | np.integer[Any]]

CUTOFFS = (1, 3, 5, 10)
TREC_NAMES: Mapping[str, str] = {
    "P": "P",
    "recall": "R",
    "success": "success",
    "map_cut": "MAP",
    "ndcg_cut": "NDCG",
}
"""trec_eval's measures with a cut-off, and their names on our scorecards."""
DECIMALS = 10
"""Decimals of a mean that a scorecard keeps: the order of additions may change later ones."""
_Z = 1.9599639845400536
"""`statistics.NormalDist().inv_cdf(0.975)`, whose import takes longer than all that is computed with it."""

Spans = Mapping[str, Sequence[tuple[int, int]]]
Ranked = Mapping[str, Sequence[str]]


def places_of(evidence: Spans) -> dict[str, list[tuple[int, int]]]:
    """The places of evidence by page, in the order of the text; spans that share a character are one place."""
    places: dict[str, list[tuple[int, int]]] = {}
    for page_id, spans in evidence.items():
        if len(spans) == 1:
            places[page_id] = [*spans]
            continue
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        places[page_id] = merged
    return places


class Match(NamedTuple):
    """Matches of a question's evidence: how many places hold it, and the ranks, from 1, that match one."""

    n_places: int
    ranks: tuple[int, ...]


def match(passages: Sequence[Passage], evidence: Spans) -> Match:
    """Which ranks of the cited passages are relevant.

    A passage is the first place of evidence, in the order of its page's text, that it shares a character with and that
    no passage before it is; else it is not relevant. So a place counts once, however often it is cited, and a passage
    counts once, however much it spans.
    """
    left = places_of(evidence)
    n_places = sum(map(len, left.values()))
    ranks: list[int] = []
    for rank, (page_id, start, end) in enumerate(passages, 1):
        if page_id not in left:
            continue
        for at, place in enumerate(left[page_id]):
            if start < place[1] and place[0] < end:
                del left[page_id][at]
                ranks.append(rank)
                break
    return Match(n_places, tuple(ranks))


def documents_of(matched: Match) -> tuple[list[str], list[str]]:
    """A match as trec_eval sees it: the relevant documents (`e1` …), and those ranked, to the last relevant one."""
    found = {rank: f"e{number}" for number, rank in enumerate(matched.ranks, 1)}
    last = max(matched.ranks, default=0)
    return [f"e{n}" for n in range(1, matched.n_places + 1)], [found.get(n, f"x{n}") for n in range(1, last + 1)]


def measures(
    relevant: Mapping[str, Collection[str]], ranked: Ranked, cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, list[float]]:
    """P@k, R@k, success@k, MAP@k, NDCG@k and MRR by trec_eval, each as values by question, in the order of `relevant`.

    Only questions with a relevant document are counted; one with nothing ranked is 0. MAP@k divides by all relevant
    documents (trec_eval's map_cut), NDCG@k has gain 1, discount log2(rank + 1) (Järvelin & Kekäläinen 2002) and the
    ideal of all relevant documents, cut at k; MRR holds reciprocal ranks, without a cut.
    """
    from pytrec_eval import RelevanceEvaluator

    names = {f"{trec}_{k}": f"{ours}@{k}" for trec, ours in TREC_NAMES.items() for k in cutoffs} | {"recip_rank": "MRR"}
    asked = {question_id: documents for question_id, documents in relevant.items() if documents}
    judged = {question_id: dict.fromkeys(documents, 1) for question_id, documents in asked.items()}
    # trec_eval reads scores as float32 and breaks ties by name: minus the rank is exact, and never tied.
    run = {
        question_id: {document: -float(rank) for rank, document in enumerate(ranked[question_id])}
        for question_id in asked
        if ranked.get(question_id)
    }
    found = RelevanceEvaluator(judged, set(names)).evaluate(run)
    empty: Mapping[str, float] = dict.fromkeys(names, 0.0)
    values_of = itemgetter(
        *names
    )  # two dozen measures of ten thousand questions: a loop would cost as much as C's work
    rows = [values_of(found.get(question_id, empty)) for question_id in asked]
    return {ours: [row[at] for row in rows] for at, ours in enumerate(names.values())}


def mean_with_interval(values: Sequence[float], clusters: Sequence[int] = ()) -> tuple[float, float, float]:
    """Mean of values in 0 … 1 and its 95 % interval by the normal approximation, cut to 0 … 1.

    The standard error is the cluster-robust one of a mean (Liang & Zeger 1986, with the factor G / (G - 1)):
    sqrt(G / (G - 1) * sum over G clusters of (sum of deviations)^2) / n. `clusters` numbers each value's cluster, -1
    for a value that is its own cluster; without it each value is one. A single cluster says nothing of the error: the
    interval is 0 … 1.
    """
    import numpy as np

    return _mean_in(np.asarray(values), _numbered(clusters, len(values)))


def _numbered(clusters: Sequence[int], n: int) -> Numbers:
    """The cluster of each of n values, with a new number for each that has none."""
    import numpy as np

    numbers, own = np.asarray(clusters or [-1] * n), np.arange(n)
    return np.where(numbers < 0, own + 1 + numbers.max(), numbers)


def _mean_in(values: Numbers, numbers: Numbers) -> tuple[float, float, float]:
    import numpy as np

    n = len(values)
    mean = math.fsum(values.tolist()) / n
    n_clusters = int(np.count_nonzero(np.bincount(numbers)))  # not by np.unique, which imports numpy.ma
    if n_clusters == 1:
        return mean, 0.0, 1.0
    sums = np.bincount(numbers, weights=values - mean)
    error = math.sqrt(n_clusters / (n_clusters - 1) * float(sums @ sums)) / n
    return mean, max(0.0, mean - _Z * error), min(1.0, mean + _Z * error)


def retrieval_of(
    predictions: Mapping[str, Prediction], verdicts: Sequence[Verdict], support: Support, lessons: Sequence[int] = ()
) -> dict[str, Any]:
    """Figures of a system's citations: how much of the evidence is among them, and grounded and lucky right answers.

    `lessons` numbers the lesson of each verdict's question (-1: none), for the intervals. Empty for a system that cites
    nothing. Metrics are means over all questions with evidence; one that was not answered, or cites nothing, counts 0.
    """
    citing = [p for p in predictions.values() if p.passages]
    if not citing:
        return {}
    result: dict[str, Any] = {
        "n_citing": len(citing),
        "n_passages_mean": sum(len(p.passages) for p in citing) / len(citing),
        "n_characters_mean": sum(end - start for p in citing for _, start, end in p.passages) / len(citing),
    }
    supported = [(at, v) for at, v in enumerate(verdicts) if support.evidence.get(v.question_id)]
    if supported:
        matches = [match(_passages(predictions, v.question_id), support.evidence[v.question_id]) for _, v in supported]
        result |= _grounding([(v.outcome, bool(found.ranks)) for (_, v), found in zip(supported, matches, strict=True)])
        result |= _metrics(matches, [lessons[at] for at, _ in supported] if lessons else ())
    at_home = [(at, v.question_id) for at, v in enumerate(verdicts) if v.question_id in support.home_pages]
    if at_home:
        cited = [[page_id for page_id, _, _ in _passages(predictions, question_id)] for _, question_id in at_home]
        homes = [support.home_pages[question_id] for _, question_id in at_home]
        result["home_page"] = _home_page(homes, cited, [lessons[at] for at, _ in at_home] if lessons else ())
    return result


def _home_page(homes: Sequence[str], cited: Sequence[Sequence[str]], lessons: Sequence[int]) -> dict[str, Any]:
    """Success@k of pages: how often one of the first k passages is on the page that the question was taken from."""
    import numpy as np

    numbers, found = _numbered(lessons, len(homes)), {}
    for k in CUTOFFS:
        hits = [float(home in pages[:k]) for home, pages in zip(homes, cited, strict=True)]
        found[f"success@{k}"] = _mean_in(np.asarray(hits), numbers)
    return {
        "n": len(homes),
        "metrics": {name: round(mean, DECIMALS) for name, (mean, _, _) in found.items()},
        "intervals": {name: [round(low, DECIMALS), round(high, DECIMALS)] for name, (_, low, high) in found.items()},
    }


def _passages(predictions: Mapping[str, Prediction], question_id: str) -> Sequence[Passage]:
    prediction = predictions.get(question_id)
    return prediction.passages if prediction else ()


def _grounding(supported: Sequence[tuple[Outcome, bool]]) -> dict[str, float | int]:
    """Answers to supported questions, by whether evidence is among the cited."""
    counts = Counter(supported)
    held = counts["correct", True] + counts["incorrect", True]
    answered = held + counts["correct", False] + counts["incorrect", False]
    result: dict[str, float | int] = {
        "n_supported": len(supported),
        "n_answered_supported": answered,
        "n_grounded": counts["correct", True],
        "n_lucky": counts["correct", False],
    }
    return result | ({"evidence_cited": held / answered} if answered else {})


def _metrics(matches: Sequence[Match], lessons: Sequence[int]) -> dict[str, Any]:
    import numpy as np

    # Ten thousand questions have a few hundred different matches, and trec_eval need see each but once.
    different = {found: str(number) for number, found in enumerate(dict.fromkeys(matches))}
    documents = {name: documents_of(found) for found, name in different.items()}
    values = measures(
        {name: relevant for name, (relevant, _) in documents.items()},
        {name: ranked for name, (_, ranked) in documents.items()},
    )
    rows = np.asarray([int(different[found]) for found in matches])
    numbers = _numbered(lessons, len(matches))
    found = {name: _mean_in(np.asarray(column)[rows], numbers) for name, column in values.items()}
    rounded = {name: [round(number, DECIMALS) for number in numbers] for name, numbers in found.items()}
    return {
        "n_evidence_mean": sum(found.n_places for found in matches) / len(matches),
        "metrics": {name: mean for name, (mean, _, _) in rounded.items()},
        "intervals": {name: [low, high] for name, (_, low, high) in rounded.items()},
    }


def retrieval_lines(values: Mapping[str, Any]) -> Iterator[str]:
    """The field as lines for a terminal."""
    yield (
        f"cited by {values['n_citing']:,} answer(s), on average {values['n_passages_mean']:.1f} passages "
        f"and {values['n_characters_mean']:,.0f} characters an answer"
    )
    if "home_page" in values:
        home = values["home_page"]["metrics"]
        shares = ", ".join(f"{home[f'success@{k}']:.3f} of the first {k}" for k in CUTOFFS)
        yield f"  home page of {values['home_page']['n']:,} questions among the cited: {shares}"
    if "n_supported" not in values:
        yield "  no question of these has evidence, so what was cited cannot be judged"
        return
    right = values["n_grounded"] + values["n_lucky"]
    yield (
        f"  right on {right:,} of {values['n_supported']:,} supported questions: "
        f"{values['n_grounded']:,} grounded (evidence among the cited), {values['n_lucky']:,} lucky (without)"
    )
    metrics, intervals = values["metrics"], values["intervals"]
    yield f"  {'at':8}" + "".join(f"{name:>9}" for name in TREC_NAMES.values())
    for k in CUTOFFS:
        yield f"  {k:<8}" + "".join(f"{metrics[f'{name}@{k}']:9.4f}" for name in TREC_NAMES.values())
    low, high = intervals["MRR"]
    yield f"  MRR {metrics['MRR']:.4f}   95 % interval {low:.4f} … {high:.4f}"
