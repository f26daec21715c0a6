"""MathML to one readable line: x², (a + b)/(2c), √(x² + y²), ¹⁴₆C. Its bare characters would say "x2" and "a+b2c"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_DEPTH = 60
"""Deeper formulas give their characters only: no honest one is nested so deep, and recursion has an end."""
_UP = str.maketrans("0123456789+-−–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱ")
_DOWN = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
_RAISED = frozenset("0123456789+-−–=()ni")
_SPACED = frozenset("=<>≤≥≈≠≡∝→←↔⇌⇒⇔⟶⟵+−-±∓×÷·⋅∗*∈∼~")
_SIGNS = frozenset("+−-±∓")
_ACCENTS = {
    "→": "\u20d7",
    "⃗": "\u20d7",
    "¯": "\u0304",
    "‾": "\u0304",
    "ˉ": "\u0304",
    "―": "\u0304",
    "^": "\u0302",
    "ˆ": "\u0302",
    "~": "\u0303",
    "˜": "\u0303",
    "˙": "\u0307",
    ".": "\u0307",
    "¨": "\u0308",
    "_": "\u0304",
    "⟶": "\u20d7",
    "⇀": "\u20d7",
    "̂": "\u0302",
    "̄": "\u0304",
    "̇": "\u0307",
}
_ARROWS = frozenset("→←↔⇌⇄⟶⟵⇒⇔⟷⇋")
_SILENT = frozenset({"annotation", "annotation-xml", "mphantom", "maligngroup", "malignmark", "none", "mprescripts"})
_BRACKETED = re.compile(r"\([^()]*\)\Z|\|[^|]*\|\Z|\[[^\[\]]*\]\Z")
_ONE = re.compile(r"(?:\d+(?:[.,]\d+)?|[^\W\d_]|[^\W\d_]{3,})[′″²³]?\Z")
_PRIMES = re.compile(r"[′″‴'’]+\Z")
_UNSEEN = str.maketrans({"\u2061": " ", "\u2062": "", "\u2063": "", "\u2064": "", "\u200b": "", "\u00a0": " "})


def raised(text: str) -> str:
    """A raised text in plain characters: ⁸, ^n, ^(n+1); a degree sign or primes as they are."""
    plain = "".join(text.split())
    if not plain or _PRIMES.match(plain):
        return plain
    if plain in {"°", "∘", "º", "˚"}:
        return "°"
    if all(char in _RAISED for char in plain):
        return plain.translate(_UP)
    return f"^{plain}" if plain.isascii() and plain.isalnum() else f"^({' '.join(text.split())})"


def lowered(text: str) -> str:
    """A lowered text in plain characters: digits as they are (H2O), words after a bar (F_net)."""
    plain = "".join(text.split())
    if not plain or plain.isdigit():
        return plain
    return f"_{plain}" if plain.isalnum() else f"_({' '.join(text.split())})"


def small(text: str) -> str:
    """Digits as lowered characters, where plain ones would run into a number: the 6 of ¹⁴₆C."""
    plain = "".join(text.split())
    return plain.translate(_DOWN) if plain and all(char in "0123456789+-−" for char in plain) else lowered(text)


def _name(element: Any) -> str:
    tag = element.tag
    return tag.rsplit(":", 1)[-1].rsplit("}", 1)[-1].casefold() if isinstance(tag, str) else ""


def _children(element: Any) -> list[Any]:
    return [child for child in element if _name(child)]


def _group(text: str) -> str:
    """Brackets round a text that holds an operator."""
    text = text.strip()
    return f"({text})" if re.search(r"[\s/−-]", text) and not _BRACKETED.match(text) else text


def _group_terms(text: str) -> str:
    """Brackets round a text that is more than a plain product, as over a fraction's bar."""
    text = text.strip()
    return text if re.fullmatch(r"[\w.^⁺⁻√°′]*", text) or _BRACKETED.match(text) else f"({text})"


def _group_product(text: str) -> str:
    """Brackets round a text that is more than one name or number, as under a fraction's bar."""
    text = text.strip()
    return text if not text or _ONE.match(text) or _BRACKETED.match(text) else f"({text})"


def _token(element: Any) -> str:
    text = "".join(element.itertext()).translate(_UNSEEN)
    if _name(element) == "mtext":
        return " ".join(f"|{text}|".split())[1:-1]  # its spaces at both ends are meant
    return " ".join(text.split()) or (" " if text else "")


def _is_open(line: str) -> bool:
    """Whether what follows this line is not a second operand: a sign there belongs to its number."""
    return not line.rstrip() or line.rstrip()[-1] in "([{|,;" or line.rstrip()[-1] in _SPACED


def _joined(line: str, piece: str, *, operator: bool) -> str:
    if operator and piece in _SPACED:
        return f"{line}{piece}" if piece in _SIGNS and _is_open(line) else f"{line.rstrip()} {piece} "
    if operator and piece in {",", ";"}:
        return f"{line.rstrip()}{piece} "
    if line[-1:].isalnum() and piece[:1].isalnum() and _needs_space(line, piece):
        return f"{line} {piece}"
    return line + piece


def _needs_space(line: str, piece: str) -> bool:
    last = re.search(r"(?:[^\W\d_]+|[\d.]+)\Z", line)
    first = re.match(r"[^\W\d_]+|[\d.]+", piece)
    if re.search(r"_\w+\Z", line) or last is None or first is None:
        return True
    words = [word for word in (last[0], first[0]) if word.isalpha() and len(word) > 1]
    return bool(words) or piece[:1].isdigit()


def _row(elements: list[Any], depth: int) -> str:
    line = ""
    for element in elements:
        # A second formula in one row, say a state "(s)" after a name, follows unchanged.
        line = _joined(line, _line(element, depth), operator=_name(element) == "mo")
    return line


def _parts(element: Any, depth: int, n: int) -> list[str]:
    found = [_line(child, depth).strip() for child in _children(element)]
    return (found + [""] * n)[:n]


def _fraction(element: Any, depth: int) -> str:
    above, below = _parts(element, depth, 2)
    if (element.get("linethickness") or "").strip("pxemt. ") == "0":
        return f"({above} choose {below})"
    return f"{_group_terms(above)}/{_group_product(below)}"


def _square_root(element: Any, depth: int) -> str:
    return f"√{_group_product(_row(_children(element), depth))}"


def _root(element: Any, depth: int) -> str:
    body, index = _parts(element, depth, 2)
    sign = {"2": "√", "3": "∛", "4": "∜"}.get(index, f"{raised(index)}√")
    return f"{sign}{_group_product(body)}"


def _super(element: Any, depth: int) -> str:
    body, above = _parts(element, depth, 2)
    return f"{_group(body)}{raised(above)}"


def _sub(element: Any, depth: int) -> str:
    body, below = _parts(element, depth, 2)
    return f"{_group(body)}{small(below) if not body else lowered(below)}"


def _sub_super(element: Any, depth: int) -> str:
    body, below, above = _parts(element, depth, 3)
    if not body:
        return f"{raised(above)}{small(below)}"
    return f"{_group(body)}{lowered(below)}{raised(above)}"


def _over(element: Any, depth: int) -> str:
    body, above = _parts(element, depth, 2)
    if body in _ARROWS:
        return f" {body}[{above}] " if above else f" {body} "
    accent = _ACCENTS.get(above)
    if accent:
        return f"{body}{accent}" if len(body) == 1 else f"{_group(body)}{accent}"
    return f"{body}^({above})" if above else body


def _under(element: Any, depth: int) -> str:
    body, below = _parts(element, depth, 2)
    if body in _ARROWS:
        return f" {body}[{below}] " if below else f" {body} "
    return f"{body}_({below}) " if below and below not in _ACCENTS else body


def _under_over(element: Any, depth: int) -> str:
    body, below, above = _parts(element, depth, 3)
    if body in _ARROWS:
        notes = ", ".join(note for note in (above, below) if note)
        return f" {body}[{notes}] " if notes else f" {body} "
    return f"{body}{f'_({below})' if below else ''}{raised(above)} "


def _multiscripts(element: Any, depth: int) -> str:
    """Scripts after and before their base, in pairs of lowered and raised: nuclides, tensors."""
    before: list[str] = []
    after: list[str] = []
    side = after
    children = _children(element)
    for child in children[1:]:
        if _name(child) == "mprescripts":
            side = before
        else:
            side.append("" if _name(child) == "none" else _line(child, depth).strip())
    left = "".join(raised(above) + small(below) for below, above in _pairs(before))
    right = "".join(lowered(below) + raised(above) for below, above in _pairs(after))
    return f"{left}{_line(children[0], depth).strip() if children else ''}{right}"


def _pairs(scripts: list[str]) -> list[tuple[str, str]]:
    scripts = [*scripts, ""] if len(scripts) % 2 else scripts
    return list(zip(scripts[::2], scripts[1::2], strict=True))


def _table(element: Any, depth: int) -> str:
    """Rows of equations one after the other; in brackets, rows of a matrix."""
    rows = [[_line(cell, depth).strip() for cell in _children(row)] for row in _children(element)]
    before = element.getprevious()
    fenced = before is not None and "".join(before.itertext()).strip() in {"(", "[", "|", "‖"}
    return "; ".join((", " if fenced else " ").join(cell for cell in row if cell) for row in rows)


def _fenced(element: Any, depth: int) -> str:
    marks = element.get("separators", ",").strip() or ""
    inner = [_line(child, depth).strip() for child in _children(element)]
    between = f"{marks[:1]} " if marks else ""
    return f"{element.get('open', '(')}{between.join(inner)}{element.get('close', ')')}"


def _first(element: Any, depth: int) -> str:
    return _row(_children(element)[:1], depth)


_FORMS: Mapping[str, Callable[[Any, int], str]] = {
    "mfrac": _fraction,
    "msqrt": _square_root,
    "mroot": _root,
    "msup": _super,
    "msub": _sub,
    "msubsup": _sub_super,
    "mover": _over,
    "munder": _under,
    "munderover": _under_over,
    "mmultiscripts": _multiscripts,
    "mtable": _table,
    "mfenced": _fenced,
    "semantics": _first,
    "maction": _first,
    "mspace": lambda element, depth: " ",
}


def _line(element: Any, depth: int) -> str:
    name = _name(element)
    if name in _SILENT:
        return ""
    if depth <= 0:
        return "".join("".join(element.itertext()).split())
    if name in _FORMS:
        return _FORMS[name](element, depth - 1)
    children = _children(element)
    return _row(children, depth - 1) if children else _token(element)


def linear_math(math: Any) -> str:
    """The formula of a `<math>` element of an lxml tree as one readable line."""
    text = _row(_children(math), MAX_DEPTH) or "".join(math.itertext())
    return _isotopes(" ".join(text.split()))


def _isotopes(text: str) -> str:
    """A raised number at the start of a formula precedes its element without a space."""
    return re.sub(r"(?<![\w)])([⁰¹²³⁴-⁹]+[₀-₉]*) (?=[A-Z])", r"\1", text)
