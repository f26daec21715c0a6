"""A guard: a system that abstains where a verifier does not bear its answer out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from baselines.edu_rag_paper import System
from baselines.parts import Relation, Verify
from edu_rag.serve import SystemAnswer, SystemQuestion


def guarded(answer: System, verify: Verify, abstain_on: Collection[Relation] = ("no", "not_related")) -> System:
    """The same system, with answers of these relations turned into "I don't know" (Huo et al., section 2.3).

    The check's tokens are added to the answer's, and the passage that it looked at is cited.
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
            response=f"{said.response or said.answer} | check: {check.relation}",
            passages=[*said.passages, *cited],
            input_tokens=(said.input_tokens or 0) + check.n_input,
            output_tokens=(said.output_tokens or 0) + check.n_output,
        )

    return checked
