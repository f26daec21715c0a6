"""Rewrite as plain text the parts that extractors falsify: powers, indices, formulas, captions, definitions.

Otherwise 3 x 10<sup>8</sup> becomes "108", CO<sub>2</sub> "CO 2" or "CO", and formulas and figure captions vanish.
"""

from __future__ import annotations

import re
from typing import Any

from builder.extract.page_text import PageSigns, signs_of, xpath
from builder.extract.prepass_blocks import open_blocks
from builder.extract.prepass_math import become, write_formulas
from builder.extract.prepass_mathml import raised, small

_RAISED = frozenset("0123456789+-−–=()ni")
_ORDINALS = frozenset({"st", "nd", "rd", "th", "o", "a", "er", "re", "e", "tm", "sm", "®", "™", "c", "r", "me"})
_NOTE = re.compile(r"\[?(?:\d{1,3}|[a-z*†‡§¶]|note \d+|citation needed)\]?")
_DEGREES = frozenset({"o", "O", "º", "°", "∘", "˚"})
_SCALE = re.compile(r"\s?[CFKNSEW]?\b|\s|[.,;)]")
_LEVEL = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_STYLED = "//*[self::span or self::font][@style]"
_STYLED_OR_NAMED = "//*[self::span[@style or @class] or self::font[@style]]"
_LEVEL_NAMES = {"sup": "sup", "superscript": "sup", "super": "sup", "sub": "sub", "subscript": "sub"}


def superscript(text: str, after: str, before: str = "") -> str:
    """A raised text in plain characters: ⁸, ^(n+1), °, or "th" of an ordinal.

    `after` is the text before it, `before` the text that follows it.
    """
    plain = "".join(text.split())
    if not plain:
        return ""
    is_number = after.rstrip()[-1:].isdigit()
    if plain in _DEGREES and (is_number or not after.strip()) and (_SCALE.match(before) or not before):
        return "°"
    if plain.casefold() in _ORDINALS and not (len(plain) == 1 and plain.isascii() and not is_number):
        # 4th, 2nd, Spanish 1o: no power. A single raised letter after a letter (x^a) is one.
        return plain if len(plain) > 1 or plain in "oe" else f"^{plain}"
    return raised(text)


def _before(element: Any) -> str:
    """The text directly before an element inside its parent."""
    previous = element.getprevious()
    if previous is not None:
        return str(previous.tail or "") or (str(previous.text or "") if not len(previous) else "")
    parent = element.getparent()
    return str(parent.text or "") if parent is not None else ""


def _name_levels(tree: Any, signs: PageSigns) -> bool:
    """Raised and lowered by style or class alone: the same as <sup> and <sub>. Whether there are any."""
    named_so = not signs.classes.isdisjoint(_LEVEL_NAMES)
    any_level = False
    for element in xpath(_STYLED_OR_NAMED if named_so else _STYLED)(tree):
        style = _LEVEL.search(element.get("style") or "")
        named = _LEVEL_NAMES.get((element.get("class") or "").strip().casefold())
        level = {"super": "sup", "sub": "sub"}[style[1].casefold()] if style else named
        if level and len(element.text_content()) <= 40:
            element.tag = level
            any_level = True
    return any_level


def _raise(element: Any) -> None:
    text = str(element.text_content())
    linked = element.find(".//a") is not None or next(element.iterancestors("a"), None) is not None
    # A raised link is a footnote's mark: as a power it would turn "water" into "water²".
    if linked and _NOTE.fullmatch(text.strip().casefold()):
        become(element, f"[{text.strip().strip('[]')}]")
        return
    become(element, superscript(text, _before(element), str(element.tail or "")[:3]))


def _lower(element: Any) -> None:
    text = str(element.text_content())
    previous = element.getprevious()
    # ¹⁴₆C: a plain 6 would run into the mass number.
    is_nuclide = previous is not None and not previous.tail and str(previous.text or "")[-1:] in tuple("⁰¹²³⁴⁵⁶⁷⁸⁹")
    follows = str(element.tail or "")[:1]
    become(element, small(text) if is_nuclide and follows.isupper() else "".join(text.split()))


def _write_levels(tree: Any, signs: PageSigns) -> None:
    if not _name_levels(tree, signs) and "sup" not in signs and "sub" not in signs:
        return
    # From the innermost: 2^(2^n) is not 2^2n.
    for element in reversed(list(tree.iter("sup", "sub"))):
        nested = next(element.iterancestors("sup"), None) is not None
        if nested and element.getparent() is not None:
            _raise(element) if element.tag == "sup" else _lower(element)
    for element in list(tree.iter("sup", "sub")):
        if element.getparent() is not None:
            _raise(element) if element.tag == "sup" else _lower(element)


def apply_prepass(tree: Any) -> None:
    """Change an lxml HTML tree in place so that science survives text extraction."""
    signs = signs_of(tree)
    write_formulas(tree, signs)
    _write_levels(tree, signs)
    open_blocks(tree, signs)
