"""The colours of the plots: those of the pages, and hues that the colour-blind tell apart (after Okabe & Ito)."""

from __future__ import annotations

from collections.abc import Mapping

from edu_rag.look.matplotlib_svg import Tone

TONES: Mapping[str, Tone] = {
    # As in look.css, so that a picture has no edge on its page.
    "paper": Tone("#fbfaf7", "#10161d"),
    "ink": Tone("#16202b", "#e9edf1"),
    "quiet": Tone("#56626d", "#9aa7b3"),
    "axis": Tone("#cbcdc9", "#384450"),
    "zero": Tone("#7b858e", "#7d8a97"),
    "grid": Tone("#eceae4", "#222b34"),
    "band": Tone("#f3f2ed", "#19222b"),
    "range": Tone("#92bbe0", "#33608f"),
    # Marks: a system, one on the front, one that never looks at the pages, one of many.
    "system": Tone("#0b5fa5", "#7dbdf6"),
    "front": Tone("#c24e00", "#f09a4e"),
    "blind": Tone("#6d7883", "#8d99a5"),
    "crowd": Tone("#b9c1c9", "#46515c"),
    "bar": Tone("#2f74b5", "#4a8fd0"),
    # Curves, in the order in which they are given out.
    "curve0": Tone("#0b5ea9", "#6db1f3"),
    "curve1": Tone("#c24f00", "#f09a4f"),
    "curve2": Tone("#00795a", "#35bd95"),
    "curve3": Tone("#a8447f", "#e08cbd"),
    "curve4": Tone("#8a6a00", "#dcb93f"),
    "curve5": Tone("#2b2f86", "#a9adf5"),
    "curve6": Tone("#1887a8", "#62cdeb"),
    "curve7": Tone("#5b4453", "#c0a9b8"),
    # Cells from the worst to the best; ink is legible on every one of them.
    "cell-4": Tone("#e08f4f", "#8a4f14"),
    "cell-3": Tone("#efb07e", "#6f431a"),
    "cell-2": Tone("#f6cfae", "#54371d"),
    "cell-1": Tone("#fbe8d8", "#38291d"),
    "cell0": Tone("#f4f4f2", "#20262c"),
    "cell1": Tone("#deeaf6", "#1d2d3e"),
    "cell2": Tone("#b9d4ee", "#204160"),
    "cell3": Tone("#8fb9e2", "#245380"),
    "cell4": Tone("#68a0d4", "#28639a"),
}
"""Every colour has one name, and no two have the same light one: the dark is found by it."""
CURVES = tuple(name for name in TONES if name.startswith("curve"))


def light(name: str) -> str:
    """A colour as it is drawn."""
    return TONES[name].light
