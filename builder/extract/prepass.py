"""Rewrite as plain text what extractors falsify or drop: powers, formulas, captions, definitions, boxes, steps.

Otherwise 3 x 10<sup>8</sup> becomes "108", CO<sub>2</sub> "CO 2" or "CO", and formulas and figure captions vanish.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from builder.extract.formulas import become, write_formulas
from builder.extract.mathml import raised, small
from builder.extract.page_text import PageSigns, signs_of

MAX_TERM = 200
MIN_POINT = 20
MIN_SPACES = 4
MAX_CREDIT = 70
MAX_NEWS = 400
_NAVIGATION = frozenset({"references", "reference", "breadcrumb", "breadcrumbs", "nav", "menu", "pagination", "tags"})
_FORMULAS = frozenset({"equation", "formula", "math", "display-math", "math-display", "reaction"})
_CAPTIONS = frozenset({"wp-caption-text", "thumbcaption", "figure-caption", "fig-caption", "caption", "caption-text"})
_PROMOTIONS = frozenset({"promo", "newsletter", "newsletter-signup", "signup", "subscribe", "cta", "upsell"})
_MARKS = frozenset({"mw-editsection", "editsection", "headerlink", "header-anchor", "anchor-link", "permalink"})
MAX_PROMOTION = 600
_CREDIT = re.compile(
    r"^\W*(?:photos?|images?|pictures?|foto|credits?|source|courtesy|illustration)\b\s*(?:by|of|from|:|/|credit|courtesy)"
    r"|^\W*(?:©|\(c\)|copyright)",
    re.IGNORECASE,
)
_AGENCY = re.compile(
    r"(?:getty|shutterstock|reuters|istock|alamy|afp|\bap photo|\bap\W*$|\bepa\b|photo(?:graph)?:|photo by|image:|©)"
    r".{0,50}$",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"^\W*(?:fig(?:ure|\.)?|table|diagram|plate|graph|chart)\s*\w", re.IGNORECASE)
_LESSON = re.compile(
    r"(?:^|[\s_-])(?:worked|example|exercise|activity|solution|definition|theorem|proof|law|keyterms?|key|glossary|note"
    r"|question|problem|investigation|experiment|equation|formula|practice|objectives?|didyouknow|summary|concept|fact)"
    r"(?:$|[\s_-]|s\b)",
    re.IGNORECASE,
)


def _attached(element: Any) -> bool:
    return element.getparent() is not None


def _plain(element: Any, tag: str) -> None:
    """Another element without the names that extractors judge by."""
    element.tag = tag
    attributes = element.attrib
    for name in ("class", "id", "role", "style") if attributes else ():
        attributes.pop(name, None)


def is_credit(caption: str) -> bool:
    """Whether a caption says only whose picture it is, or is a news agency's."""
    if _FIGURE.match(caption):
        return False
    is_short = len(caption) < MAX_CREDIT and _CREDIT.search(caption) is not None
    return is_short or (len(caption) < MAX_NEWS and _AGENCY.search(caption) is not None)


def _names(element: Any) -> set[str]:
    return set((element.get("class") or "").casefold().split()[:20])


def _named(tree: Any, signs: PageSigns, names: frozenset[str], *tags: str) -> list[Any]:
    """The elements of these tags that have one of the class names."""
    return [] if names.isdisjoint(signs.classes) else [found for found in tree.iter(*tags) if names & _names(found)]


def _is_sentence(caption: Any) -> bool:
    text = " ".join(caption.text_content().split())
    return bool(_FIGURE.match(text)) or (text.count(" ") >= MIN_SPACES and not is_credit(text))


def _open_captions(tree: Any, signs: PageSigns) -> None:
    """Extractors leave figures out, captions and all: as a paragraph a caption stays."""
    for caption in list(tree.iter("figcaption")) if "figcaption" in signs else ():
        text = " ".join(caption.text_content().split())
        if not text or is_credit(text):
            continue
        _plain(caption, "div" if next(caption.iterchildren("p", "div", "ul", "ol", "table"), None) is not None else "p")
        figure = next(caption.iterancestors("figure"), None)
        if figure is not None:
            _plain(figure, "div")
    for caption in _named(tree, signs, _CAPTIONS, "p", "div"):
        if _is_sentence(caption):
            _plain(caption, "p")


def _drop_promotions(tree: Any, signs: PageSigns) -> None:
    """Short blocks that call themselves advertising for the site, and the marks next to headings."""
    for mark in _named(tree, signs, _MARKS, "a", "span"):
        if _attached(mark) and len(mark.text_content()) < MAX_TERM:
            mark.drop_tree()
    for block in _named(tree, signs, _PROMOTIONS, "section", "div", "aside", "form"):
        if _attached(block) and len(block.text_content()) < MAX_PROMOTION:
            block.drop_tree()


def _open_table_captions(tree: Any) -> None:
    for caption in list(tree.iter("caption")):
        table = next(caption.iterancestors("table"), None)
        if table is not None and _attached(table) and caption.text_content().strip():
            tail, caption.tail = caption.tail, None
            before = caption.getprevious()
            if before is not None:
                before.tail = (before.tail or "") + (tail or "")
            table.addprevious(caption)
            _plain(caption, "p")


def _join_definitions(tree: Any) -> None:
    """Each definition as a paragraph "term: definition": apart, neither is a sentence."""
    for entry in list(tree.iter("dt", "dd")):
        if not _attached(entry) or entry.tag == "span":  # a definition that has joined its term
            continue
        if entry.tag == "dt":
            _end_term(entry)
        _plain(entry, "p")
    for group in list(tree.iter("dl")):
        _plain(group, "div")


def _end_term(term: Any) -> None:
    following = term.getnext()
    if following is None or following.tag != "dd" or len(term.text_content()) > MAX_TERM:
        return
    tail = "" if term.text_content().rstrip().endswith((":", "?", ".", "!", "–", "—")) else ":"
    last = term[-1] if len(term) else None
    if last is None:
        term.text = f"{(term.text or '').rstrip()}{tail} "
    else:
        last.tail = f"{(last.tail or '').rstrip()}{tail} "
    # The definition becomes the term's last part.
    following.tag = "span"
    for name in ("class", "id"):
        following.attrib.pop(name, None)
    term.append(following)


def _open_details(tree: Any) -> None:
    for element in list(tree.iter("details")):
        _plain(element, "div")
    for element in list(tree.iter("summary")):
        _plain(element, "p")


def _open_boxes(tree: Any) -> None:
    """Boxes of a lesson (examples, key facts) are content, however they are called; other asides stay asides."""
    for element in list(tree.iter("aside")):
        named = f"{element.get('class') or ''} {element.get('id') or ''} {element.get('data-type') or ''}"
        if _LESSON.search(named):
            _plain(element, "div")


def _is_text(points: Any) -> bool:
    """Whether a list is one of sentences or terms, not of links."""
    n = sum(1 for _ in points.iterchildren("li"))
    long = len(points.text_content()) if n else 0
    if not n or (points.tag != "ol" and long < MIN_POINT * n):
        return False
    links = points.iter("a")
    return 3 * sum(len(link.text_content()) if len(link) else len(link.text or "") for link in links) < long


def _open_lists(tree: Any) -> None:
    """Lists of sentences as paragraphs with their marks: trafilatura drops lists where it is unsure of the page."""
    for points in reversed(list(tree.iter("ol", "ul"))):
        if not _is_text(points) or _NAVIGATION & _names(points):
            continue
        start = points.get("start") or ""
        number = int(start) if start.isdecimal() and len(start) < 6 else 1
        for at, point in enumerate(points.iterchildren("li"), start=number):
            mark = _marker(at, points.get("type") or "1") if points.tag == "ol" else "-"
            block = next(point.iterchildren("p", "div", "ul", "ol", "table", "pre"), None)
            starts = bool((point.text or "").strip())
            # A mark on a separate line would not count as a mark.
            marked = point if block is None or starts else block if block.tag == "p" else None
            if marked is not None:
                marked.text = f"{mark} {(marked.text or '').lstrip()}"
            _plain(point, "p" if block is None else "div")
        _plain(points, "div")


def _open_formula_blocks(tree: Any, signs: PageSigns) -> None:
    for block in _named(tree, signs, _FORMULAS, "div", "center"):
        if next(block.iterchildren("p", "div", "table", "ul"), None) is None:
            _plain(block, "p")


def _marker(number: int, kind: str) -> str:
    if kind in {"a", "A"} and 1 <= number <= 26:
        return f"{chr(ord(kind) + number - 1)}."
    return f"{number}."


_BY_TAG: tuple[tuple[frozenset[str], Callable[[Any], None]], ...] = (
    (frozenset({"caption"}), _open_table_captions),
    (frozenset({"dt", "dd", "dl"}), _join_definitions),
    (frozenset({"details", "summary"}), _open_details),
    (frozenset({"aside"}), _open_boxes),
    (frozenset({"ol", "ul"}), _open_lists),
)


def open_blocks(tree: Any, signs: PageSigns) -> None:
    """Change an lxml HTML tree in place so that captions, definitions, boxes and steps survive extraction."""
    _drop_promotions(tree, signs)
    _open_captions(tree, signs)
    for tags, open_them in _BY_TAG:
        if tags & signs.tags:
            open_them(tree)
    _open_formula_blocks(tree, signs)


_RAISED = frozenset("0123456789+-−–=()ni")
_ORDINALS = frozenset({"st", "nd", "rd", "th", "o", "a", "er", "re", "e", "tm", "sm", "®", "™", "c", "r", "me"})
_NOTE = re.compile(r"\[?(?:\d{1,3}|[a-z*†‡§¶]|note \d+|citation needed)\]?")
_DEGREES = frozenset({"o", "O", "º", "°", "∘", "˚"})
_SCALE = re.compile(r"\s?[CFKNSEW]?\b|\s|[.,;)]")
_LEVEL = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
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
    # A search by path takes three times as long.
    spans = [one for one in tree.iter("span", "font") if "style" in one.attrib or (named_so and one.tag == "span")]
    for element in spans:
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
