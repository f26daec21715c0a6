"""Abstention: answer "I don't know" instead of an answer that the system is not sure of.

Three ways, which can be combined: by instruction (the prompt allows it: style `abstain` of baselines.generate), by
likelihood (`by_confidence` here; by the margin between the first two choices: `likeliest` of baselines.generate), by
verification (baselines.verify.guard). A wrong answer costs what a right one earns, so that an answer pays where it is
more likely right than wrong: where its calibrated confidence is above one half.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from edu_rag.errors import ConfigError
from edu_rag.serve import SystemAnswer, SystemQuestion

_UNKNOWN = re.compile(
    r"\b(?:(?:do\s+not|don\W?t|cannot|can\W?t|can\s+not)\s+(?:know|say|tell|answer|determine)"
    r"|(?:am|i\W?m)\s+(?:not\s+(?:sure|certain)|unsure)|unknown)\b",
    re.IGNORECASE,
)


def says_unknown(reply: str) -> bool:
    """Whether a reply says in words that the model does not know (EDU-RAG section 4.2: "I don't know", "I can't …")."""
    return _UNKNOWN.search(reply) is not None


def by_confidence(
    answer: Callable[[SystemQuestion], SystemAnswer], least: float
) -> Callable[[SystemQuestion], SystemAnswer]:
    """The same system, abstaining where its confidence is below `least`; answers without a confidence stay.

    The confidence stays in the answer, so that the threshold can be judged afterwards. Raises ConfigError if `least`
    is outside of [0, 1].
    """
    if not 0 <= least <= 1:
        raise ConfigError("abstain_below", f"{least} is not a share", "give a number from 0 to 1")

    def sure(question: SystemQuestion) -> SystemAnswer:
        said = answer(question)
        unsure = said.confidence is not None and said.confidence < least
        return replace(said, answer=None) if unsure else said

    return sure
