"""A comparison in sentences and its caveats, for `edu-rag compare --html` and for the board: written here, once.

A sentence is a template with names in braces, and a pair has a text for each name (`fields_of`). `edu-rag compare`
fills the templates itself. The board has 19,900 pairs for 200 systems: it writes the templates once a file and the
texts once a pair, and the page's script puts one into the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from edu_rag.comparing.tested_pairs import TestedPair, turned
from edu_rag.look.texts import delta, signed
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import ALPHA, Paired

SAME = "{first} and {second} are the same predictions."
NOTHING = "There is nothing to compare."
EQUAL = "{first} and {second} have the same score on these {n} questions."
LEAD = (
    "{ahead} scores {size} more than {behind} on these {n} questions; the 95 % interval of the difference is "
    "{ahead_interval}."
)
_BECAUSE = (
    "because a difference at least this large turns up in {chance} tests between equally good systems "
    f"(p = {{p}}, the limit is {ALPHA})."
)
ESTABLISHED = f"Established, {_BECAUSE} So {{ahead}} is better than {{behind}}."
NOT_ESTABLISHED = f"Not established, {_BECAUSE}"
EDGE = "Interval and test are made in different ways and disagree here, at the edge: the test decides."
FINDS = "With this many questions, a true difference of {detectable} is found in 4 of 5 cases."
FINDS_NOT = (
    "This does not show that the systems are equally good: with this many questions, a true difference of {detectable} "
    "is found in 4 of 5 cases, and a smaller one is easily missed."
)
CORRECTNESS = (
    "Only {first} is right on {first_only} questions, only {second} on {second_only} (exact McNemar test on being "
    "right: p = {mcnemar_p})."
)
_CONTRARY = (
    "{ahead} scores more although {behind} is right more often: a wrong answer costs a point, and {behind} is wrong on "
    "{behind_wrong} questions, {ahead} on {ahead_wrong}"
)
CONTRARY = f"{_CONTRARY}."
CONTRARY_HELD = f"{_CONTRARY}; it gives no answer to {{held}} of the questions on which {{behind}} is wrong."
STRICT = (
    "If unparseable and failed cost a point too, the difference is {strict_difference} ({strict_interval}, "
    "p = {strict_p})."
)
_METHOD = "Interval: paired bootstrap; test: exact sign-flip."
_LESSONS = "Questions of one lesson are drawn together ({n_units} lessons)."
_ONE_TEST = "This is one test of one pair: if you pick the best of many systems, correct for that"
ALONE = f"{_ONE_TEST} (edu-rag compare A B C … does, by Holm's method)."
AMONG = (
    f"{_ONE_TEST}. After Holm's correction over all {{n_pairs}} pairs of this table p is {{p_holm}}, and McNemar's "
    "{mcnemar_p_holm}."
)


class Sentences(NamedTuple):
    """The templates that hold for a pair: the difference, whether it is established and why, and what else to know."""

    lead: str
    because: str
    remarks: tuple[str, ...]


def chance(p: float) -> str:
    """A p-value as a share of tests: `about 3 of 100`."""
    if p >= 0.995:
        return "nearly all"
    for out_of in (100, 1_000, 10_000):
        if p * out_of >= 1:
            return f"about {round(p * out_of):,} of {out_of:,}"
    return "fewer than 1 of 10,000"


def _lead(pair: TestedPair) -> tuple[str, str]:
    because = ESTABLISHED if pair.established else NOT_ESTABLISHED
    if pair.same_predictions:
        return SAME, NOTHING
    return (LEAD if pair.difference.difference else EQUAL), because


def is_contrary(pair: TestedPair) -> bool:
    """Whether one system scores more although the other is right more often."""
    m = pair.correctness
    return pair.difference.difference * (m.n_first_only - m.n_second_only) < 0


def _n_held(pair: TestedPair) -> int:
    """Questions that the one ahead did not answer and on which the other is wrong."""
    ahead, behind = _in_order(pair, pair.first.outcomes, pair.second.outcomes)
    return sum(a in "auf" and b == "i" for a, b in zip(ahead, behind, strict=True))


def _in_order(pair: TestedPair, first: str, second: str) -> tuple[str, str]:
    """The one that scores more, and the other."""
    return (first, second) if pair.first_is_ahead else (second, first)


def contrary(pair: TestedPair) -> Iterator[str]:
    """Why one system scores more although the other is right more often; nothing where they do not disagree."""
    if is_contrary(pair):
        yield CONTRARY_HELD if _n_held(pair) else CONTRARY


def _remarks(pair: TestedPair) -> Iterator[str]:
    d = pair.difference
    if (d.low <= 0 <= d.high) == pair.established and d.difference:
        yield EDGE
    if pair.detectable is not None:
        yield FINDS if pair.established else FINDS_NOT
    yield CORRECTNESS
    yield from contrary(pair)
    yield STRICT
    lessons = [] if d.n_units == d.n else [_LESSONS]
    yield " ".join([_METHOD, *lessons, AMONG if pair.among else ALONE])


def sentences_of(pair: TestedPair) -> Sentences:
    """The sentences of a pair, as templates."""
    return Sentences(*_lead(pair), tuple(_remarks(pair)))


def interval_text(d: Paired) -> str:
    """An interval of a difference, with signs."""
    return f"{delta(d.low)} to {delta(d.high)}"


def _contrary_fields(pair: TestedPair) -> dict[str, str]:
    if not is_contrary(pair):
        return {}
    ahead, behind = _in_order(pair, pair.first.outcomes, pair.second.outcomes)
    return {
        "ahead_wrong": f"{ahead.count('i'):,}",
        "behind_wrong": f"{behind.count('i'):,}",
        "held": f"{_n_held(pair):,}",
    }


def _among_fields(pair: TestedPair) -> dict[str, str]:
    if pair.among is None:
        return {}
    n_pairs, p, mcnemar_p = pair.among
    return {"n_pairs": f"{n_pairs:,}", "p_holm": f"{p:.2g}", "mcnemar_p_holm": f"{mcnemar_p:.2g}"}


def fields_of(pair: TestedPair) -> dict[str, str]:
    """A pair's numbers as people read them, by name; those that its sentences do not need may be absent."""
    d, strict, m = pair.difference, pair.strict, pair.correctness
    forward = d if pair.first_is_ahead else turned(d)
    return {
        "n": f"{d.n:,}",
        "n_units": f"{d.n_units:,}",
        "size": signed(abs(d.difference)),
        "ahead_interval": f"{signed(forward.low)} to {signed(forward.high)}",
        "chance": chance(d.p),
        "difference": delta(d.difference),
        "interval": interval_text(d),
        "p": f"{d.p:.2g}",
        "strict_difference": delta(strict.difference),
        "strict_interval": interval_text(strict),
        "strict_p": f"{strict.p:.2g}",
        "first_only": f"{m.n_first_only:,}",
        "second_only": f"{m.n_second_only:,}",
        "mcnemar_p": f"{m.p:.2g}",
        **({} if pair.detectable is None else {"detectable": signed(pair.detectable)}),
        **_contrary_fields(pair),
        **_among_fields(pair),
    }


def named(pair: TestedPair, first: str, second: str) -> Mapping[str, str]:
    """The fields of a pair with what its systems are called."""
    ahead, behind = _in_order(pair, first, second)
    return {**fields_of(pair), "first": first, "second": second, "ahead": ahead, "behind": behind}


def filled(pair: TestedPair, first: str, second: str) -> Sentences:
    """The sentences of a pair as people read them; `first` and `second` are what its systems are called."""
    fields, found = named(pair, first, second), sentences_of(pair)
    texts = [template.format_map(fields) for template in (found.lead, found.because, *found.remarks)]
    return Sentences(texts[0], texts[1], tuple(texts[2:]))


FEW_UNITS = 40
"""Below this many lessons the interval is too narrow; docs/scoring.md has the simulation."""
FEW_QUESTIONS = 20


def _listed(values: Sequence[str]) -> str:
    return " and ".join(sorted(set(values)))


def about_answers(cards: Sequence[ScoreCard]) -> Iterator[str]:
    """Other rules, versions or judges, and answers that were given on other pages."""
    rules, versions = [card.answers_rule for card in cards], [card.dataset for card in cards]
    if len(set(rules)) > 1:
        yield f"answers were read by different rules ({_listed(rules)}): score the older again"
    if len(set(versions)) > 1:
        yield f"the dataset's versions differ ({_listed(versions)}): same questions, but other pages or evidence"
    if any(dict(card.judges) != dict(cards[0].judges) for card in cards):
        yield "free text was graded by different judges"
    for card in cards:
        if card.made_on:
            yield f"{card.system.slug} answered on {card.made_on}, not on {card.dataset}"


def about_lessons(cards: Sequence[ScoreCard], difference: Paired) -> Iterator[str]:
    """Lessons that differ between the scorecards that were tested together, and few lessons or questions."""
    if len({card.lessons for card in cards if card.lessons}) > 1:
        yield (
            "the scorecards state different lessons, so questions are taken as independent and the difference "
            "looks surer than it is: score the older again"
        )
    if difference.n_units < min(FEW_UNITS, difference.n):
        yield f"only {difference.n_units} lessons: the interval of a difference is too narrow"
    elif difference.n < FEW_QUESTIONS:
        yield f"only {difference.n} question(s): the interval of a difference is too narrow"


def about_choice(pair: TestedPair) -> Iterator[str]:
    """A difference that is established for a pair alone, but not among all pairs of its table."""
    if pair.among is None or pair.same_predictions or not pair.established or pair.among.p_holm <= ALPHA:
        return
    yield (
        f"this holds for the pair alone. Among all {pair.among.n_pairs:,} pairs of the table the difference is not "
        f"established (p = {pair.among.p_holm:.2g} after Holm's correction), which counts if you picked the two for "
        "their scores"
    )
