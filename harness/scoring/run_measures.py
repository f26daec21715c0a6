"""Measures of a retrieval run by page, with trec_eval: against pages that hold evidence, and against home pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from edu_rag.scorecard.retrieval_card import PageMeasures, RetrievalCard
from harness.scoring.retrieval import CUTOFFS, DECIMALS, TREC_NAMES, Ranked, mean_with_interval, measures


def page_measures(
    relevant: Mapping[str, Collection[str]], ranked: Ranked, lessons: Mapping[str, int]
) -> PageMeasures | None:
    """Means over the questions with a relevant page; one without a page in the run counts 0. None without questions.

    `lessons` numbers the lesson of each question (-1: none), for the intervals.
    """
    asked = [question_id for question_id, pages in relevant.items() if pages]
    if not asked:
        return None
    clusters = [lessons.get(question_id, -1) for question_id in asked]
    found = {name: mean_with_interval(values, clusters) for name, values in measures(relevant, ranked).items()}
    rounded = {name: [round(number, DECIMALS) for number in numbers] for name, numbers in found.items()}
    return PageMeasures(
        n=len(asked),
        metrics={name: mean for name, (mean, _, _) in rounded.items()},
        intervals={name: (low, high) for name, (_, low, high) in rounded.items()},
    )


def run_lines(card: RetrievalCard) -> Iterator[str]:
    """A card as lines for a terminal."""
    yield f"{card.system.name} on {card.dataset}, split {card.split}" + (f", {card.sample}" if card.sample else "")
    yield f"pages ranked for {card.n_ranked:,} of {card.n:,} questions"
    for measured, what in ((card.evidence, "pages with evidence"), (card.home, "home pages")):
        if measured is None:
            continue
        yield f"{what}, {measured.n:,} questions"
        yield f"  {'at':8}" + "".join(f"{name:>9}" for name in TREC_NAMES.values())
        for k in CUTOFFS:
            yield f"  {k:<8}" + "".join(f"{measured.metrics[f'{name}@{k}']:9.4f}" for name in TREC_NAMES.values())
        low, high = measured.intervals["MRR"]
        yield f"  MRR {measured.metrics['MRR']:.4f}   95 % interval {low:.4f} … {high:.4f}"
