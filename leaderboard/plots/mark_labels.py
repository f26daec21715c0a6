"""Names next to marks without overlaps: the first free place of a few, in the order of weight; else none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.plots.plot_sentences import width_of

Anchor = str
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Boxes = npt.NDArray[np.float64]
_AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
"""Right, left, above, below, then the corners; y grows downwards."""
_CLEARANCE = 1.15
"""Of the letters' size: a text that runs nearer above or below a mark looks like that mark's name."""


class Text(NamedTuple):
    """The text of a mark; one that may move is put further away if there is no room next to the mark."""

    words: str
    may_stray: bool = True


class Want(NamedTuple):
    """A mark at a place in pixels and its possible texts, the preferred one first; there may be none."""

    x: float
    y: float
    texts: tuple[Text, ...] = ()


class Label(NamedTuple):
    """A text with the place of its anchor (`start`, `middle` or `end`) and the mark it belongs to."""

    text: str
    x: float
    y: float
    anchor: Anchor
    of: Want


class Area(NamedTuple):
    """The area for labels, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def _box(x: float, y: float, width: float, anchor: Anchor, height: float) -> Box:
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - height / 2, left + width, y + height / 2


def _candidates(want: Want, size: float, radius: float, may_stray: bool) -> Iterator[tuple[float, float, Anchor]]:
    """Places for a text's anchor (its middle line), near the mark first, then a line further away."""
    for far in (1.0, 2.6, 4.2) if may_stray else (1.0,):
        for right, down in _AROUND:
            side, height = (radius + 3) * (1 if far == 1 or not down else far / 2), 0.5 * size + radius + 1
            anchor = {1: "start", -1: "end", 0: "middle"}[right]
            shift = height * far * (0.75 if right and far == 1 else 1)
            if far == 1 or down:  # a second line straight to the side would cross the first
                yield want.x + right * side, want.y + down * shift, anchor
        if far == 1:  # above and below, from the mark's left edge on: near the left edge of the area
            yield from ((want.x - radius, want.y + down * height, "start") for down in (-1, 1))


def _is_free(box: Box, taken: Boxes, area: Area) -> bool:
    left, top, right, bottom = box
    if left < area.left or top < area.top or right > area.right or bottom > area.bottom:
        return False
    over = (taken[:, 0] < right) & (taken[:, 2] > left) & (taken[:, 1] < bottom) & (taken[:, 3] > top)
    return not bool(over.any())


def place(wants: Sequence[Want], area: Area, size: float, lines: Sequence[Box] = (), radius: float = 5) -> list[Label]:
    """The labels that find room, for marks in order of weight. Labels do not overlap each other, marks or `lines`."""
    marks = [(want.x - radius, want.y - radius, want.x + radius, want.y + radius) for want in wants]
    taken = np.array([*marks, *lines], dtype=np.float64).reshape(-1, 4)
    centres = np.array([(want.x, want.y) for want in wants], dtype=np.float64).reshape(-1, 2)
    found: list[Label] = []
    for want in wants:
        label, box = _placed(want, taken, centres, area, size, radius)
        if label is not None:
            found.append(label)
            taken = np.vstack([taken, box])
    return found


def _is_at_another(box: Box, centres: Boxes, size: float) -> bool:
    """Whether a text runs close above or below one of these marks."""
    left, top, right, bottom = box
    x, y = centres[:, 0], centres[:, 1]
    return bool(((x > left) & (x < right) & (y > top - _CLEARANCE * size) & (y < bottom + _CLEARANCE * size)).any())


def _placed(
    want: Want, taken: Boxes, centres: Boxes, area: Area, size: float, radius: float
) -> tuple[Label | None, Box]:
    others = centres[(centres != (want.x, want.y)).any(axis=1)]
    for text in want.texts:
        width = width_of(text.words, size)
        for x, y, anchor in _candidates(want, size, radius, text.may_stray):
            box = _box(x, y, width, anchor, 1.15 * size)
            is_level = y == want.y  # a name that begins or ends at its mark is plainly its own
            if _is_free(box, taken, area) and (text.may_stray or is_level or not _is_at_another(box, others, size)):
                return Label(text.words, x, y, anchor, want), box
    return None, (0, 0, 0, 0)
