"""What extractors would falsify, made plain before they see it: powers, indices, formulas, captions.

Left alone, 3 x 10<sup>8</sup> becomes "108", CO<sub>2</sub> "CO 2" or "CO", formulas and figure captions vanish.
"""

from __future__ import annotations

import re
from typing import Any

_UP = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_RAISED = frozenset("0123456789+-−=()ni")
_ORDINALS = frozenset({"st", "nd", "rd", "th", "o", "a", "er", "re", "e", "tm", "sm", "®", "™", "c", "r"})
_NOTE = re.compile(r"\[?(?:\d{1,3}|[a-z*†‡§¶]|note \d+|citation needed)\]?")
_WORD = re.compile(r"[\w.]+\Z")


def superscript(text: str, after: str) -> str:
    """A raised text in plain characters, by what stands before it: ⁸, ^(n+1), or "th" of an ordinal."""
    raised = "".join(text.split())
    if not raised:
        return ""
    if raised.casefold() in _ORDINALS and not (len(raised) == 1 and raised.isascii() and not after[-1:].isdigit()):
        # 4th, 2nd, Spanish 1o: no power. A single raised letter after a letter (x^a) is one.
        return raised if len(raised) > 1 or raised in "oe" else f"^{raised}"
    if all(char in _RAISED for char in raised):
        return raised.translate(_UP)
    return f"^{raised}" if _WORD.match(raised) else f"^({' '.join(text.split())})"


def _before(element: Any) -> str:
    """The text that stands directly before an element inside its parent."""
    previous = element.getprevious()
    if previous is not None:
        return str(previous.tail or "")
    parent = element.getparent()
    return str(parent.text or "") if parent is not None else ""


def _become(element: Any, text: str) -> None:
    """Replace an element by plain text that joins what stands before and after it."""
    for child in list(element):
        element.remove(child)
    element.text = text
    element.drop_tag()


def _raise_powers(tree: Any) -> None:
    for element in list(tree.iter("sup")):
        if element.getparent() is None or any(up.tag == "sup" for up in element.iterancestors()):
            continue
        text = str(element.text_content())
        # A raised link is a footnote's mark: as a power it would turn "water" into "water²".
        if element.find(".//a") is not None and _NOTE.fullmatch(text.strip().casefold()):
            _become(element, f"[{text.strip().strip('[]')}]")
        else:
            _become(element, superscript(text, _before(element)))


def _unwrap_indices(tree: Any) -> None:
    for element in list(tree.iter("sub")):
        if element.getparent() is not None:
            _become(element, "".join(str(element.text_content()).split()))


def _tex(source: str) -> str:
    return f" \\( {' '.join(source.split())} \\) " if source.strip() else " "


def _has_tex_script(tree: Any) -> bool:
    return bool(tree.xpath('//script[starts-with(@type, "math/tex")]'))


def _write_formulas(tree: Any) -> None:
    """TeX from MathJax scripts, KaTeX and MathML annotations to \\( … \\); MathML without TeX to its characters."""
    if _has_tex_script(tree):
        # MathJax leaves its picture of the formula beside the source: once is enough.
        rendered = '//*[contains(concat(" ", @class), " MathJax")][not(self::body)][not(.//script)]'
        for element in tree.xpath(rendered):
            if element.getparent() is not None:
                element.drop_tree()
    for script in tree.xpath('//script[starts-with(@type, "math/tex")]'):
        text = _tex(script.text or "")
        script.tag = "span"
        script.attrib.clear()
        _become(script, text)
    for math in list(tree.iter("math")):
        notes = [n for n in math.iter("annotation") if "tex" in (n.get("encoding") or "").casefold()]
        text = _tex(str(notes[0].text_content())) if notes else "".join(str(math.text_content()).split())
        holder = next((up for up in math.iterancestors() if "katex" in (up.get("class") or "").split()), math)
        if holder.getparent() is not None:
            _become(holder, text)


def _open_captions(tree: Any) -> None:
    """Extractors leave figures out, captions and all: as a paragraph a caption stays."""
    for caption in list(tree.iter("figcaption")):
        caption.tag = "p"
        figure = next(caption.iterancestors("figure"), None)
        if figure is not None:
            figure.tag = "div"


def apply_prepass(tree: Any) -> None:
    """Change an lxml HTML tree in place so that science survives text extraction."""
    _write_formulas(tree)
    _raise_powers(tree)
    _unwrap_indices(tree)
    _open_captions(tree)
