"""Plots as SVG by matplotlib: the same numbers give the same bytes (under one version of it), in the dark as well."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

SETTINGS: Mapping[str, Any] = {
    "svg.hashsalt": "edu-rag",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e3e7eb",
    "figure.facecolor": "white",
}
"""Letters stay letters, which a reader may search and a browser may shape; a `$` is a dollar, never mathematics."""
_STYLE = '<style type="text/css">'


class Tone(NamedTuple):
    """One colour: on light paper, and in the dark."""

    light: str
    dark: str


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def svg_of(
    paint: Callable[[Any], None],
    inches: tuple[float, float],
    *,
    settings: Mapping[str, Any] = SETTINGS,
    layout: Literal["constrained"] | None = None,
    title: str | None = None,
) -> bytes:
    """One figure: `paint` gets it empty. The bytes depend on the painting alone, never on a user's settings."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # A user's matplotlibrc must not change a byte. Its screen settings do not matter here.
    own: dict[Any, Any] = {key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith("backend")}
    with mpl.rc_context(own | dict(settings)), warnings.catch_warnings():
        # The browser has the letters of a name that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure = Figure(figsize=inches, layout=layout)
        paint(figure)
        FigureCanvasSVG(figure)
        out = io.BytesIO()
        # No date and no version of the drawing library: the bytes are a function of the numbers.
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None} | ({"Title": title} if title else {})
        )
    return out.getvalue()


def in_the_dark(svg: bytes, tones: Iterable[Tone], always: str = "", dark: str = "") -> bytes:
    """The same picture with a dark style for readers who prefer it: each tone changes its light colour.

    CSS rules select the colours as matplotlib writes them; a viewer without CSS shows the light picture.
    `always` and `dark` are further rules of the caller's.
    """
    text = svg.decode()
    rules = [
        f'[style*="{what}: {tone.light}"]{{{what}:{tone.dark} !important}}'
        for tone in sorted(set(tones))
        for what in ("fill", "stroke")
        if f"{what}: {tone.light}" in text
    ]
    own = f"{always}@media (prefers-color-scheme:dark){{{''.join(rules)}{dark}}}"
    return text.replace(_STYLE, _STYLE + own, 1).encode()
