"""Does the check fail where answers are numbers (Huo et al., 3.1)? On questions with and without.

The paper's example of such an error is a "Yes" for two different telephone numbers. The guarded run answers on Yes and
is silent on No and Not Related, so an answered wrong one is a false Yes.
"""

from __future__ import annotations

import re

from scored_runs import Run, p_text, share, table

from edu_rag.records import Question

DIGIT = re.compile(r"\d")


def has_numbers(question: Question) -> bool:
    """Whether every choice has a digit, so that the answer has one."""
    return all(DIGIT.search(text) for text in question.choices.values())


def _fisher(first: tuple[int, int], second: tuple[int, int]) -> str:
    """Fisher's exact p that two shares, each `n of`, are equal."""
    from scipy.stats import fisher_exact

    return p_text(float(fisher_exact([[n, of - n] for n, of in (first, second)])[1]))


def _counts(guarded: Run, alone: Run, group: list[int]) -> list[tuple[int, int]]:
    """`n of` in one group: wrong answers alone, wrong of the answered, silenced wrong ones, silenced right ones."""
    before = [alone.outcomes[place] for place in group]
    after = [guarded.outcomes[place] for place in group]
    silent = [letter not in "ci" for letter in after]
    silenced = {letter: sum(b == letter and s for b, s in zip(before, silent, strict=True)) for letter in "ic"}
    return [
        (before.count("i"), len(group)),
        (after.count("i"), len(group) - sum(silent)),
        (silenced["i"], before.count("i")),
        (silenced["c"], before.count("c")),
    ]


def report(guarded: Run, alone: Run) -> str:
    """One row for the questions with numbers in all choices, one for the others, one for the test."""
    places: dict[bool, list[int]] = {True: [], False: []}
    for place, question in enumerate(guarded.exam.questions):
        places[has_numbers(question)].append(place)
    with_numbers, others = (_counts(guarded, alone, places[found]) for found in (True, False))
    rows: list[tuple[str, ...]] = [
        (f"{name} ({len(places[found])})", *(share(*one) for one in counts))
        for name, found, counts in (("numbers in all choices", True, with_numbers), ("others", False, others))
    ]
    rows.append(("p: equal (Fisher)", *(_fisher(*pair) for pair in zip(with_numbers, others, strict=True))))
    shown = ("wrong, the model alone %", "wrong of the answered (a false Yes) %")
    silenced = ("silenced of the wrong answers %", "silenced of the right answers %")
    return table(("questions (n)", *shown, *silenced), rows)
