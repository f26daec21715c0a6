"""A passage: a span of a page that a system reads, ranks and cites."""

from __future__ import annotations

from typing import NamedTuple


class PagePassage(NamedTuple):
    """`text` is read by the model; `start` and `end` are offsets into the page's text, whose span the passage cites.

    For most chunkers `text` is exactly that span; a triplet's text is shorter than the sentence it cites.
    """

    page_id: str
    start: int
    end: int
    text: str

    @property
    def span(self) -> tuple[str, int, int]:
        """The span, as an answer cites it."""
        return self.page_id, self.start, self.end
