"""Comparisons as text for a terminal: of two systems, and of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from edu_rag.comparing.pair_sentences import contrary, named
from edu_rag.look.texts import clip
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import ALPHA, Paired
from harness.comparing.citation_overlap import overlap_lines
from harness.comparing.compare import Comparison, ComparisonTable
from harness.comparing.plan_comparison import true_difference

_WIDEST_SLICE = 60
_UNDECIDED = "these questions do not tell which is better"


def _percent(rate: float) -> str:
    return f"{100 * rate:+.2f} %"


def _interval(d: Paired) -> str:
    return f"{100 * d.low:+.2f} … {100 * d.high:+.2f} %"


def _units(d: Paired) -> str:
    """What was drawn and flipped: questions, or lessons whole."""
    return f"{d.n:,} questions" if d.n_units == d.n else f"{d.n:,} questions in {d.n_units:,} lessons"


def _by(d: Paired) -> str:
    return "" if d.n_units == d.n else " by lesson"


def _flip_lines(comparison: Comparison, ids: tuple[str, ...], who: str, limit: int) -> Iterator[str]:
    yield f"only {who} is right on {len(ids):,} question(s)"
    for question_id in ids[:limit]:
        question = comparison.questions.get(question_id)
        text = " ".join(question.text.split()) if question else ""
        yield f"  {question_id}  {text[:100]}".rstrip()
    if len(ids) > limit:
        yield f"  … and {len(ids) - limit:,} more (--all lists them)"


def _test_lines(comparison: Comparison, first: str, second: str) -> Iterator[str]:
    d, strict, m = comparison.difference, comparison.strict, comparison.correctness
    yield (
        f"difference {_percent(d.difference)}, 95 % interval {_interval(d)} "
        f"(paired bootstrap{_by(d)}, {_units(d)}), p = {d.p:.4g} (exact sign-flip{_by(d)})"
    )
    yield f"strict     {_percent(strict.difference)}, 95 % interval {_interval(strict)}, p = {strict.p:.4g}"
    yield (
        f"correct only in {first}: {m.n_first_only}, only in {second}: {m.n_second_only}; "
        f"exact McNemar{_by(d)} p = {m.p:.4g}"
    )
    said = "established" if comparison.established else "not established"
    fields = named(comparison, first, second)
    better = "{ahead} is better than {behind}".format_map(fields) if comparison.established else _UNDECIDED
    yield (f"the difference is {said}, so {better}: the sign-flip test on the score decides (p <= {ALPHA})")
    yield from (template.format_map(fields).rstrip(".") for template in contrary(comparison))
    if comparison.detectable is not None:
        yield (
            f"a test of these two on {_units(d)} finds {true_difference(comparison.detectable)} "
            "with 80 % power (`edu-rag power`)"
        )


def _slice_lines(comparison: Comparison) -> Iterator[str]:
    if not comparison.slices:
        return
    found = [part for part in comparison.slices if part.p_holm <= ALPHA]
    yield f"slices in which they differ: {len(found)} of {len(comparison.slices)} tested (Holm over all of these)"
    for part in found:
        name = clip(f"{part.attribute} = {part.value}", _WIDEST_SLICE)
        yield f"  {name:40} {part.n:6,} questions {_percent(part.difference):>10}  p = {part.p_holm:.4g}"


def comparison_lines(comparison: Comparison, limit: int) -> Iterator[str]:
    """A comparison as readable lines; at most `limit` flips on each side."""
    first, second = (card.system.slug for card in (comparison.first, comparison.second))
    if first == second:
        first, second = "A", "B"
    if comparison.same_predictions:
        yield f"note: {first} and {second} are the same predictions: there is nothing to compare"
    for caveat in comparison.caveats:
        yield f"note: {caveat}"
    scores = [_percent(card.counts.score) for card in (comparison.first, comparison.second)]
    yield f"{first}: score {scores[0]}   {second}: score {scores[1]}"
    yield from _test_lines(comparison, first, second)
    yield from _slice_lines(comparison)
    yield from overlap_lines(comparison.overlap, first, second)
    yield from _flip_lines(comparison, comparison.only_first, first, limit)
    yield from _flip_lines(comparison, comparison.only_second, second, limit)
    if not comparison.questions and (comparison.only_first or comparison.only_second):
        yield "#17 is the 17th question in order of id; --dataset names them"


def labels_of(cards: Sequence[ScoreCard]) -> list[str]:
    """A label for each system: its slug, numbered where several of a table share it."""
    slugs = [card.system.slug for card in cards]
    times, seen = Counter(slugs), Counter[str]()
    labels = []
    for slug in slugs:
        seen[slug] += 1
        labels.append(slug if times[slug] == 1 else f"{slug} ({seen[slug]})")
    return labels


def _system_lines(table: ComparisonTable, labels: Sequence[str], width: int) -> Iterator[str]:
    yield f"{'rank':>5} {'system':{width}} {'score':>9} {'95 % interval':>22} {'strict':>9}"
    order = sorted(range(len(labels)), key=lambda i: (table.ranks[i], -table.cards[i].counts.score, labels[i]))
    for i in order:
        counts, bounds = table.cards[i].counts, table.cards[i].intervals.get("score")
        interval = f"{100 * bounds[0]:+.2f} … {100 * bounds[1]:+.2f} %" if bounds else "-"
        score, strict = _percent(counts.score), _percent(counts.strict_score)
        yield f"{table.ranks[i]:5} {labels[i]:{width}} {score:>9} {interval:>22} {strict:>9}"


def _pair_lines(table: ComparisonTable, labels: Sequence[str], width: int) -> Iterator[str]:
    names = f"{'A':{width}} {'B':{width}}"
    yield f"{names} {'A - B':>9} {'95 % interval':>22} {'p':>9} {'McNemar p':>9}"
    for (i, j), pair in table.pairs.tested.items():
        d = pair.difference
        names = f"{labels[i]:{width}} {labels[j]:{width}}"
        mark = " *" if pair.p_holm <= ALPHA else ""
        numbers = f"{_percent(d.difference):>9} {_interval(d):>22} {pair.p_holm:9.3g} {pair.mcnemar_p_holm:9.3g}"
        yield f"{names} {numbers}{mark}"


def table_lines(table: ComparisonTable) -> Iterator[str]:
    """Many systems as readable lines: ranks, then all pairs."""
    labels = labels_of(table.cards)
    width, d = max(map(len, labels)), table.any_difference
    for caveat in table.caveats:
        yield f"note: {caveat}"
    yield from _system_lines(table, labels, width)
    yield ""
    yield from _pair_lines(table, labels, width)
    yield ""
    yield (
        f"on {_units(d)}; intervals: {d.method}; p: exact sign-flip{_by(d)}, exact McNemar{_by(d)}, "
        f"each after Holm over the {len(table.pairs.tested)} pairs; * is established (p <= {ALPHA})"
    )
    if table.detectable is not None:
        yield (
            f"one test of a typical pair finds {true_difference(table.detectable)} with 80 % power; "
            "Holm over all pairs asks for more"
        )
