"""Dataset versions: which step a change demands, and whether a version makes it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Step = Literal["none", "patch", "minor", "major"]
STEPS: tuple[Step, ...] = ("none", "patch", "minor", "major")
WHY = {
    "major": "questions or gold changed",
    "minor": "pages, evidence or labels changed",
    "patch": "only metadata changed",
    "none": "nothing changed",
}


class Version(NamedTuple):
    """MAJOR.MINOR.PATCH: questions or gold; pages, evidence, extraction; metadata alone."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    def raised(self, step: Step) -> Version:
        """The next version of this step."""
        if step == "major":
            return Version(self.major + 1, 0, 0)
        if step == "minor":
            return Version(self.major, self.minor + 1, 0)
        return Version(self.major, self.minor, self.patch + 1) if step == "patch" else self


def to_version(text: str) -> Version:
    """The version that a manifest gives; its record has checked the form."""
    major, minor, patch = map(int, text.split("."))
    return Version(major, minor, patch)


def larger(first: Step, second: Step) -> Step:
    """The larger of two steps."""
    return max(first, second, key=STEPS.index)


def fits(old: Version, new: Version, demanded: Step) -> bool:
    """Whether `new` comes after `old` by at least the step demanded; without a change both may be the same."""
    if demanded == "none":
        return new >= old
    return new >= old.raised(demanded)
