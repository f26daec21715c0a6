"""A guard: a system that abstains where a verifier does not bear its answer out."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from baselines.edu_rag_paper import System
from baselines.parts import Check, Relation, Verify
from edu_rag.serve import SystemAnswer, SystemQuestion

MARK = " | check: "


class Checked(NamedTuple):
    """The check in a guarded system's response: the unguarded answer, the relation, its probabilities."""

    answer: str
    relation: Relation
    probabilities: dict[Relation, float] | None = None


def as_line(answer: str, check: Check) -> str:
    """A check as the last part of a response: one line of JSON behind a mark, which `checked_of` reads."""
    each = check.probabilities
    rounded = None if each is None else {name: round(value, 6) for name, value in each.items()}
    # The mark must not occur elsewhere: an answer in free text may say anything.
    return MARK + json.dumps([answer, check.relation, rounded], ensure_ascii=False).replace("|", "\\u007c")


def checked_of(response: str | None) -> Checked | None:
    """The check in a guarded system's response; None if it has none (the system abstained by itself)."""
    _, mark, last = (response or "").rpartition(MARK)
    if not mark:
        return None
    try:
        return decode(last, type=Checked)
    except (DecodeError, ValidationError):
        return None


def guarded(answer: System, verify: Verify, abstain_on: Collection[Relation] = ("no", "not_related")) -> System:
    """The same system, with answers of these relations turned into "I don't know" (Huo et al., section 2.3).

    The check's tokens are added to the answer's, and the passage that it looked at is cited. The response contains
    the unguarded answer and the result of the check, so that one run gives the guarded and the unguarded figures.
    """

    def checked(question: SystemQuestion) -> SystemAnswer:
        said = answer(question)
        if said.answer is None:
            return said
        check = verify(question, said.answer)
        cited = [] if check.passage is None or check.passage.span in said.passages else [check.passage.span]
        return replace(
            said,
            answer=None if check.relation in abstain_on else said.answer,
            response=(said.response or "") + as_line(said.answer, check),
            passages=[*said.passages, *cited],
            input_tokens=(said.input_tokens or 0) + check.n_input,
            output_tokens=(said.output_tokens or 0) + check.n_output,
        )

    return checked
