"""A guard: a system that abstains, or takes the reader's answer, where a verifier does not bear its answer out."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
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


AnswerFrom = Callable[[SystemQuestion, str], SystemAnswer]
"""The model's answer to a question when it reads this text."""


def _cited(check: Check, before: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    looked_at = [one.span for one in (check.passage, *check.others) if one is not None]
    return [*before, *(span for span in looked_at if span not in before)]


def guarded(
    answer: System,
    verify: Verify,
    abstain_on: Collection[Relation] = ("no", "not_related"),
    replace_on: Collection[Relation] = (),
    answer_from: AnswerFrom | None = None,
) -> System:
    """The same system, with answers of these relations turned into "I don't know" (Huo et al., section 2.3).

    With `replace_on` and `answer_from`, answers of those relations are replaced by the reader's (section 3.3.2): its
    extract itself, or, where a question has choices, the answer that the model gives when it reads the extract. Without
    an extract the system abstains. The check's tokens are added to the answer's, and the passages that it looked at are
    cited. The response contains the unguarded answer and the result of the check, so that one run gives the guarded and
    the unguarded figures.
    """

    def checked(question: SystemQuestion) -> SystemAnswer:
        said = answer(question)
        if said.answer is None:
            return said
        check = verify(question, said.answer)
        kept = replace(said, answer=None) if check.relation in abstain_on else said
        if check.relation in replace_on and answer_from is not None:
            kept = _readers(question, said, check, answer_from)
        return replace(
            kept,
            response=(kept.response or "") + as_line(said.answer, check),
            passages=_cited(check, said.passages),
            input_tokens=(kept.input_tokens or 0) + check.n_input,
            output_tokens=(kept.output_tokens or 0) + check.n_output,
        )

    return checked


def _readers(question: SystemQuestion, said: SystemAnswer, check: Check, answer_from: AnswerFrom) -> SystemAnswer:
    """The reader's answer, with the cost of both answers; none without an extract."""
    extract = (check.extract or "").strip()
    if not extract:
        return replace(said, answer=None)
    if not question.choices:
        return replace(said, answer=extract, confidence=None)
    again = answer_from(question, extract)
    return replace(
        again,
        response=f"{said.response or ''} | with the extract: {again.response or ''}",
        input_tokens=(said.input_tokens or 0) + (again.input_tokens or 0),
        output_tokens=(said.output_tokens or 0) + (again.output_tokens or 0),
    )
