"""Dataset versions: which step a change demands, and whether a version makes it."""

from __future__ import annotations

from edu_rag.names import Step, Version

STEPS: tuple[Step, ...] = ("none", "patch", "minor", "major")
WHY = {
    "major": "questions or gold changed",
    "minor": "pages, evidence or labels changed",
    "patch": "only metadata changed",
    "none": "nothing changed",
}


def larger(first: Step, second: Step) -> Step:
    """The larger of two steps."""
    return max(first, second, key=STEPS.index)


def fits(old: Version, new: Version, demanded: Step) -> bool:
    """Whether `new` comes after `old` by at least the step demanded; without a change both may be the same."""
    if demanded == "none":
        return new >= old
    return new >= old.raised(demanded)
