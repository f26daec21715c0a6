"""A paired test in plain words: the established difference, or the lack of one, and the reason."""

from __future__ import annotations

from collections.abc import Iterator

from edu_rag.look.texts import signed
from harness.comparing.compare import Comparison
from harness.comparing.verdict import ALPHA, better, contrary, established, same_predictions


def chance(p: float) -> str:
    """A p-value as a share of tests: `about 3 of 100`."""
    if p >= 0.995:
        return "nearly all"
    for out_of in (100, 1_000, 10_000):
        if p * out_of >= 1:
            return f"about {round(p * out_of):,} of {out_of:,}"
    return "fewer than 1 of 10,000"


def _difference(comparison: Comparison, first: str, second: str) -> str:
    d = comparison.difference
    if same_predictions(comparison):
        return f"{first} and {second} are the same predictions."
    if d.difference == 0:
        return f"{first} and {second} have the same score on these {d.n:,} questions."
    ahead, behind = (first, second) if d.difference > 0 else (second, first)
    low, high = (d.low, d.high) if d.difference > 0 else (-d.high, -d.low)
    return (
        f"{ahead} scores {signed(abs(d.difference))} more than {behind} on these {d.n:,} questions; "
        f"the 95 % interval of the difference is {signed(low)} to {signed(high)}."
    )


def _because(comparison: Comparison, first: str, second: str) -> str:
    if same_predictions(comparison):
        return "There is nothing to compare."
    d = comparison.difference
    said = f"a difference at least this large turns up in {chance(d.p)} tests between equally good systems"
    if established(comparison):
        told = f"Established, because {said} (p = {d.p:.2g}, at most {ALPHA} is asked for)."
        return f"{told} So {better(comparison, first, second)}."
    return f"Not established, because {said} (p = {d.p:.2g}, at most {ALPHA} is asked for)."


def _at_the_edge(comparison: Comparison) -> Iterator[str]:
    d = comparison.difference
    if (d.low <= 0 <= d.high) == (d.p <= ALPHA) and d.difference:
        yield "Interval and test are made in different ways and disagree here, at the edge: the test decides."


def _detectable(comparison: Comparison) -> Iterator[str]:
    d, detectable = comparison.difference, comparison.detectable
    if detectable is None:
        return
    if d.p > ALPHA:
        yield (
            f"What is not established is not shown to be nothing: with this many questions, a true difference of "
            f"{signed(detectable)} is found in 4 of 5 cases, and a smaller one easily goes unnoticed."
        )
    else:
        yield f"With this many questions, a true difference of {signed(detectable)} is found in 4 of 5 cases."


def _correctness(comparison: Comparison, first: str, second: str) -> str:
    m = comparison.correctness
    return (
        f"Only {first} is right on {m.n_first_only:,} questions, only {second} on {m.n_second_only:,} "
        f"(exact McNemar test on being right: p = {m.p:.2g})."
    )


def headline(comparison: Comparison, first: str, second: str) -> tuple[str, str]:
    """(the difference, whether it is established, and why)."""
    return _difference(comparison, first, second), _because(comparison, first, second)


def remarks(comparison: Comparison, first: str, second: str) -> list[str]:
    """Further remarks: edges, the power of such a test, correctness, strict reading, many systems."""
    strict, d = comparison.strict, comparison.difference
    together = "" if d.n_units == d.n else f" Questions of one lesson are drawn together ({d.n_units:,} lessons)."
    return [
        *_at_the_edge(comparison),
        *_detectable(comparison),
        _correctness(comparison, first, second),
        *(f"{sentence}." for sentence in contrary(comparison, first, second)),
        f"If unparseable and failed cost a point too, the difference is {signed(strict.difference)} "
        f"({signed(strict.low)} to {signed(strict.high)}, p = {strict.p:.2g}).",
        f"Interval: paired bootstrap; test: exact sign-flip.{together} This is one test of one pair: whoever picks the "
        "best of many systems must correct for that (edu-rag compare A B C … does, by Holm's method).",
    ]
