"""One spelling for the many right ways to write the same science: what the checks of the set compare.

10⁸, 10^8, 10^{8} and \\(10^{8}\\) become the same string; 108 does not become it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ",
    "varphi": "φ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Omega": "Ω",
    "Psi": "Ψ",
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "approx": "≈", "propto": "∝", "infty": "∞", "sum": "Σ",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "circ": "°", "degree": "°",
    "rightarrow": "→", "to": "→", "longrightarrow": "→", "rightleftharpoons": "⇌", "leftrightarrow": "⇌",
    "quad": " ", "qquad": " ", "left": "", "right": "", "displaystyle": "", "sin": "sin", "cos": "cos", "log": "log",
}  # fmt: skip
_FOLDED = str.maketrans({
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "⁃": "-", "⁄": "/", "∕": "/", "µ": "μ", "ϵ": "ε", "ϕ": "φ",
    "⋅": "·", "∙": "·", "•": "·", "⟶": "→", "⇒": "→", "⇄": "⇌", "⇋": "⇌", "⟷": "⇌", "’": "'", "‘": "'", "“": '"',
    "”": '"', "º": "°", "˚": "°", "∑": "Σ", "∆": "Δ", "\xad": None, "\u200b": None, "\u2060": None, "\u2061": None,
    "\u2062": None, "\ufeff": None,
})  # fmt: skip
_WRAPPERS = re.compile(r"\\(?:mathrm|mathbf|mathit|text|textrm|textbf|operatorname|ce|mbox)\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_BRACED = re.compile(r"([\^_])\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_TEX_MARKS = re.compile(r"\\[\[\]()]|\\[,;:!]|\\ |\${1,2}")
_DEGREE = re.compile(r"\^\s*(?:\(°\)|°|o(?=\s?[CF]\b))")
_ION = re.compile(r"\^(\d*[+-])(?![\w(])")
# A single raised letter before a capital ends there: X^RY is X with a raised R, then Y.
_POWER = re.compile(r"\^([A-Za-z](?=[A-Z])|-?\w+(?:\.\d+)?|[+*'])")
_INDEX = re.compile(r"_(?:\(([^()]*)\)|(\w))")
_TOKEN = re.compile(r"(?<![\^√])\(((?:[\w.°√\[\]]|\^\([^()]*\))+)\)")
_ROOT_OF_ONE = re.compile(r"√\((\w)\)")
_FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}


@cache
def _kind(char: str) -> str:
    """`super` or `sub` for a raised or lowered character, else nothing."""
    decomposition = unicodedata.decomposition(char)
    found = re.match(r"<(super|sub)> [0-9A-F]+\Z", decomposition)
    return found[1] if found and char not in "ªº" else ""


def _plain_levels(text: str) -> str:
    """Runs of raised characters as ^(…), lowered characters as plain ones."""
    out: list[str] = []
    raised: list[str] = []
    for char in f"{text}\0":
        kind = _kind(char)
        if kind == "super":
            raised.append(unicodedata.normalize("NFKC", char).translate(_FOLDED))
            continue
        if raised:
            out.append(f"^({''.join(raised)})")
            raised.clear()
        out.append(unicodedata.normalize("NFKC", char).translate(_FOLDED) if kind == "sub" else char)
    return "".join(out)[:-1]


def _plain_tex(text: str) -> str:
    """TeX commands as the characters they stand for; groups become round brackets. Innermost groups first."""
    for _ in range(6):
        before = text
        text = _WRAPPERS.sub(r" \1 ", text)
        text = _BRACED.sub(r"\1(\2)", text)
        text = _ROOT.sub(r"√(\1)", text)
        text = _FRACTION.sub(r"(\1)/(\2)", text)
        if text == before:
            break
    text = _COMMAND.sub(lambda found: _SIGNS.get(found[1], found[0]), _TEX_MARKS.sub(" ", text))
    return text.replace("\\%", "%").replace("{", "(").replace("}", ")")


def plain_spaces(text: str) -> str:
    """Text in NFC with one kind of space, hyphen and quote, and no unseen characters."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_FOLDED).split())


@lru_cache(maxsize=1_024)
def canonical(text: str) -> str:
    """The spelling in which notations are equal: powers ^(…), plain indices, TeX as characters, one space.

    >>> canonical("3 × 10⁸ m/s") == canonical("3 \\\\times 10^{8} m/s") != canonical("3 × 108 m/s")
    True
    """
    # Spaces last: a TeX space becomes one.
    text = unicodedata.normalize("NFC", text).translate(_FOLDED)
    text = _plain_levels(_plain_tex(text))
    for char, plain in _FRACTIONS.items():
        text = text.replace(char, plain)
    text = _DEGREE.sub("°", text)
    text = _POWER.sub(r"^(\1)", _ION.sub(r"^(\1)", text))
    text = _INDEX.sub(lambda found: found[1] or found[2] or "", text)
    text = re.sub(r"<-+>|<=>", "⇌", text)
    text = re.sub(r"-+>|=+>", "→", text)
    return " ".join(text.split())


def compact(text: str) -> str:
    """The canonical spelling without spaces and without brackets that hold a single name or number: for formulas."""
    squeezed = re.sub(r"\s+", "", canonical(text))
    for _ in range(4):
        before = squeezed
        squeezed = _ROOT_OF_ONE.sub(r"√\1", _TOKEN.sub(r"\1", squeezed))
        if squeezed == before:
            break
    return squeezed
