"""What a system does with the pages, as far as its declaration and its scorecard say: it reads, it does not, or it is
blind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from edu_rag.scorecard.card import ScoreCard
from leaderboard.board.short_names import largest_model

RoleName = Literal["reads", "alone", "blind"]


class Role(NamedTuple):
    """A role in the words of the pages, and the rule by which a system has it."""

    words: str
    rule: str


ROLES: Mapping[RoleName, Role] = {
    "reads": Role("reads the pages", "its answers cite passages of the question’s pages"),
    "alone": Role("without pages", "it is not blind, and none of its answers cites a passage"),
    "blind": Role("blind", "its team declares that it never looks at the pages and uses no model"),
}


def role_of(card: ScoreCard) -> RoleName:
    """The role of a system on one set of questions."""
    if card.system.blind:
        return "blind"
    n_citing = card.retrieval.get("n_citing", 0)
    return "reads" if isinstance(n_citing, int) and n_citing > 0 else "alone"


def has_models_of(card: ScoreCard, other: ScoreCard) -> bool:
    """Whether a system uses every model that another one names, at least one, and no larger one."""
    ours, theirs = card.system.models, other.system.models
    return bool(theirs) and set(theirs) <= set(ours) and largest_model(ours) == largest_model(theirs)
