"""The result of reading an answer: a choice with its label, an abstention, or neither; and why, in words."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Reading(NamedTuple):
    """The reading of an answer: a `choice` with its label, `abstained`, or `unparseable`; and why, in words."""

    kind: Literal["choice", "abstained", "unparseable"]
    label: str | None
    reason: str


def unparseable(reason: str) -> Reading:
    """A reading that names no single choice."""
    return Reading("unparseable", None, reason)


def abstained(reason: str) -> Reading:
    """A reading that says "I don't know"."""
    return Reading("abstained", None, reason)


def named(label: str, reason: str) -> Reading:
    """A reading that names the choice with this label."""
    return Reading("choice", label, reason)


def agree(readings: list[Reading]) -> Reading:
    """The first of several readings, of which there is at least one, if all say the same."""
    same = len({(reading.kind, reading.label) for reading in readings}) == 1
    return readings[0] if same else unparseable("names more than one choice, or takes its choice back")
