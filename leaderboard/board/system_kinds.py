"""The kinds of a system: as its team declares them (blind, runnable, open, its models), and its role with the pages.

The board's filters use the former; the front page and the comparison use the role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from edu_rag.look.lookalikes import is_seen
from edu_rag.look.texts import clip
from edu_rag.scorecard.card import ScoreCard, SystemFacts
from leaderboard.board.short_names import largest_model

KINDS: Mapping[str, str] = {
    "blind": "blind",
    "runnable": "runnable",
    "handed-in": "handed in",
    "withdrawn": "withdrawn",
}
"""Kinds of systems as filters and addresses name them, and in words; a system may be of several."""
OPENNESS: Mapping[str, str] = {"open": "open", "closed": "closed"}
OPEN_RULE = "A system is open where its team declares a licence and hands it in as a program; any other is closed."
"""The result of `is_open` in the words of the page."""
MAX_MODELS = 200
"""Models that the page offers as filters, those of most systems first; a system's page names them all."""
MODELS_OF_ONE = 20
MODEL = 60
RoleName = Literal["reads", "alone", "blind"]


def kinds_of(system: SystemFacts) -> list[str]:
    """The kinds of a system, in the order of KINDS."""
    holds = {
        "blind": system.blind,
        "runnable": system.runnable,
        "handed-in": not system.runnable,
        "withdrawn": bool(system.withdrawn.strip()),
    }
    return [kind for kind in KINDS if holds[kind]]


def is_open(system: SystemFacts) -> bool:
    """Whether a system is open, by OPEN_RULE. A licence text without visible characters counts as none."""
    return system.runnable and is_seen(system.licence)


def models_of(system: SystemFacts) -> list[str]:
    """The models that a team names, as the page shows them: clipped, each once."""
    return list(dict.fromkeys(clip(model, MODEL) for model in system.models[:MODELS_OF_ONE] if is_seen(model)))


def model_filters(systems: Iterable[SystemFacts]) -> list[str]:
    """The models that can be filtered by, in the order of the alphabet."""
    # A system may be in several tables; it is counted once.
    named = {system.slug: models_of(system) for system in systems}
    counted = Counter(model for models in named.values() for model in models)
    most = sorted(counted, key=lambda model: (-counted[model], model))[:MAX_MODELS]
    return sorted(most, key=lambda model: (model.casefold(), model))


class Role(NamedTuple):
    """A role in the words of the pages, and the rule by which a system has it."""

    words: str
    rule: str


ROLES: Mapping[RoleName, Role] = {
    "reads": Role("reads the pages", "its answers cite passages of the question’s pages"),
    "alone": Role("a model without pages", "it is not blind, and none of its answers cites a passage"),
    "blind": Role("blind: neither model nor pages", "its team declares so"),
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
