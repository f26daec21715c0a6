"""Triplets (subject, predicate, object), the units of a knowledge graph (HyPA-RAG, section 8.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

MAX_CHARS = 80
"""An entity or a predicate that is longer is not a name of a thing: the parse went wrong, or the text is not a
sentence.
"""
MAX_PER_SENTENCE = 12
"""Lists of names joined by "and" give triplets in every combination: a page must not be able to flood the graph."""


class Entity(NamedTuple):
    """`text` is how the page says it, in lower case and without articles; `lemmas` (joined by spaces) is its node."""

    text: str
    lemmas: str


class Triplet(NamedTuple):
    """One statement; the predicate is lemmatised ("orbit", "be found in", "not contain")."""

    subject: Entity
    predicate: str
    object: Entity

    @property
    def text(self) -> str:
        """The triplet as it goes into a prompt."""
        return f"{self.subject.text} {self.predicate} {self.object.text}"


class CitedTriplet(NamedTuple):
    """A triplet and the sentence that says it: offsets into the page's text."""

    triplet: Triplet
    page_id: str
    start: int
    end: int


Extract = Callable[[Sequence[str]], list[list[Triplet]]]
"""Reads sentences, one list of triplets a sentence; the triplets of one may not depend on earlier sentences."""


_NO_NAME = frozenset("[]{}<>|=\\")
"""Marks of tables, formulas, markup and code."""


def sound(triplet: Triplet) -> bool:
    """Whether all three parts say something, in words, and the object something else than the subject."""
    subject, predicate, object_ = triplet
    parts = (subject.text, predicate, object_.text)
    return (
        all(0 < len(part) <= MAX_CHARS and _NO_NAME.isdisjoint(part) for part in parts)
        and bool(subject.lemmas and object_.lemmas)
        and subject.lemmas != object_.lemmas
    )
