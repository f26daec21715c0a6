"""Text that a page's markup hides from readers, so that only machines see it. Found in the tree, flagged in the text.

Looked at: inline styles, the `hidden` attribute, and plain `.class`, `#id` and `tag` rules of the page's own <style>
elements. Not looked at: linked style sheets and scripts. Text for screen readers (sr-only, MathJax's assistive
MathML) is meant to be heard, and `aria-hidden` is meant to be seen: neither is hidden.

The style sheets are read by a few expressions, not by tinycss2: on 431 news pages that took 28 ms a page, these 2.6 ms,
and the extraction of a page takes about 60.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

MAX_HIDDEN_CHARS = 20_000
MAX_VISIBLE_CHARS = 2_000_000
MAX_CSS_CHARS = 200_000
MAX_RULES = 2_000
MAX_SELECTORS = 500
MAX_DECLARED = 2_000
MAX_ELEMENTS = 20_000
MAX_TAGS = 20
MAX_NAMES = 8
"""With more class names or identities, all elements that have any are looked at."""
CHUNK_WORDS = 10
MIN_REACHED_WORDS = 20
"""Words of hidden text in the extracted text from which the page is flagged: a sentence, not a label."""
_ZERO = r"0*(?:\.0+)?(?:px|pt|em|rem|ex|%|vh|vw)?\s*(?:;|!|$)"
_HIDING = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    rf"|font-size\s*:\s*(?:{_ZERO}|0*(?:1|0?\.\d+)(?:px|pt)\s*(?:;|!|$)|0?\.0\d*r?em)"
    r"|opacity\s*:\s*0*(?:\.0\d*)?\s*(?:;|!|$)"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?|clip-path\s*:\s*inset\(\s*(?:50|100)%"
    rf"|color\s*:\s*transparent|transform\s*:\s*scale\(\s*{_ZERO.replace('(?:;|!|$)', '')}\))",
    re.IGNORECASE,
)
_NO_SIZE = re.compile(rf"(?:^|[;\s])(?:max-)?(?:height|width)\s*:\s*(?:0*1px\s*(?:;|!|$)|{_ZERO})", re.IGNORECASE)
_OVERFLOW = re.compile(r"overflow(?:-[xy])?\s*:\s*(?:hidden|clip)", re.IGNORECASE)
_COLOR = re.compile(r"(?:^|[;\s])(color|background(?:-color)?)\s*:\s*([^;!]{1,60})", re.IGNORECASE)
_NAMED = {"white": "ffffff", "black": "000000", "red": "ff0000", "yellow": "ffff00", "gray": "808080", "grey": "808080"}
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})")
_FOR_EARS = re.compile(
    r"(?:^|[\s_-])(?:sr-?only|visually-?hidden|screen-?reader|a11y|assistive|mjx|mathjax|katex|skip-?(?:link|to|nav))",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SHOWING = re.compile(r"display\s*:|visibility\s*:\s*visible")
# Every declaration that hides contains one of these.
_MAY_HIDE = re.compile(
    r"none|hidden|collapse|font-size|opacity|:\s*-\d|rect|inset|transparent|scale|clip", re.IGNORECASE
)
_SELECTOR = re.compile(r"([a-z][a-z0-9]{0,15})?(?:([.#])([A-Za-z_][\w-]{0,80}))?\Z", re.IGNORECASE)
_UNREAD_TEXT = "script style noscript template head iframe svg math select option textarea button"
_UNREAD = frozenset(_UNREAD_TEXT.split())
_NEVER = _UNREAD | {"html", "body"}
_WORD = re.compile(r"\w+")


def hides(style: str) -> bool:
    """Whether a CSS declaration block hides its elements."""
    if _HIDING.search(style):
        return True
    return _OVERFLOW.search(style) is not None and _NO_SIZE.search(style) is not None


def _colour(value: str) -> str | None:
    """Six hexadecimal digits, or None if it is not a plain colour."""
    value = value.strip().lower()
    if match := _RGB.match(value):
        return "".join(f"{min(255, int(part)):02x}" for part in match.groups())
    if re.fullmatch(r"#[0-9a-f]{6}", value):
        return value[1:]
    if re.fullmatch(r"#[0-9a-f]{3}", value):
        return "".join(char * 2 for char in value[1:])
    return _NAMED.get(value.split(" ")[0])


def _without_at_rules(css: str) -> str:
    """Style rules that hold always: blocks of @media, @supports and the like are cut out."""
    kept, depth, at = [], 0, 0
    for match in re.finditer(r"@[a-z-]+[^{};]{0,300}\{|\{|\}", css):
        if depth == 0 and match[0].startswith("@"):
            kept.append(css[at : match.start()])
            depth = 1
        elif depth and match[0] != "}":
            depth += 1
        elif depth:
            depth -= 1
            at = match.end()
    return "".join([*kept, css[at:] if depth == 0 else ""])


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """The (selectors, declarations) of plain style rules, at most MAX_RULES."""
    pieces = (piece.rpartition("{") for piece in _without_at_rules(css).split("}")[:-1])
    rules = (
        (before[max(map(before.rfind, "{@;")) + 1 :], declared)
        for before, _, declared in pieces
        if before and len(declared) <= MAX_DECLARED
    )
    return islice(((selectors[-MAX_SELECTORS:], declared) for selectors, declared in rules if selectors), MAX_RULES)


def _hidden_selectors(tree: Any) -> frozenset[str]:
    """The plain selectors (`.class`, `#id`, `tag`, `tag.class`) that the page's own style sheets hide."""
    return _hidden_by("\n".join(str(element.text or "") for element in tree.iter("style"))[:MAX_CSS_CHARS])


@lru_cache(maxsize=16)
def _hidden_by(css: str) -> frozenset[str]:
    """The same of style sheets, which a site's pages have in common."""
    css = _COMMENT.sub(" ", css)
    found: dict[str, bool] = {}
    for selectors, declared in _rules(css) if _MAY_HIDE.search(css) else ():
        is_hidden = hides(declared)
        if not is_hidden and not _SHOWING.search(declared):
            continue
        # A later rule may show it again: the last one that sets display counts.
        for part in selectors.split(","):
            if (name := part.strip()) and _SELECTOR.match(name):
                found[name] = is_hidden
    return frozenset(selector for selector, hidden in found.items() if hidden)


def _selectors_of(tag: str, classes: str | None, identity: str | None) -> Iterator[str]:
    yield tag
    marks = [f".{name}" for name in (classes or "").split()[:30]]
    if identity:
        marks.append(f"#{identity}")
    for mark in marks:
        yield mark
        yield tag + mark


def _is_selected(tag: str, classes: str | None, identity: str | None, selectors: frozenset[str]) -> bool:
    """Whether one of the selectors selects such an element."""
    return not selectors.isdisjoint(_selectors_of(tag, classes, identity))


MAX_BRIEF = 200
"""Characters of attributes whose result is remembered, since a page has few kinds of elements."""
_is_selected_briefly = lru_cache(maxsize=2_000)(_is_selected)
_hides_briefly = lru_cache(maxsize=2_000)(hides)


def _is_hidden(element: Any, selectors: frozenset[str]) -> bool:
    if element.tag in _NEVER or not _hides(element, selectors):
        return False
    return _FOR_EARS.search(str(element.get("class") or "")) is None


def _hides(element: Any, selectors: frozenset[str]) -> bool:
    if element.get("hidden") is not None and element.get("hidden") != "until-found":
        return True
    if selectors:
        classes, identity = element.get("class"), element.get("id")
        is_brief = len(classes or "") + len(identity or "") <= MAX_BRIEF
        if (_is_selected_briefly if is_brief else _is_selected)(str(element.tag), classes, identity, selectors):
            return True
    style = str(element.get("style") or "")
    if style and (_hides_briefly(style) if len(style) <= MAX_BRIEF else hides(style)):
        return True
    colour = _colours(element).get("color") if "color" in style or element.get("color") else None
    return colour is not None and colour == _background(element)


def _background(element: Any) -> str | None:
    """The nearest plain background colour that the markup gives, from the element upwards."""
    for one in (element, *element.iterancestors()):
        found = _colours(one).get("background")
        if found is not None:
            return found
    return None


def _colours(element: Any) -> Mapping[str, str]:
    """The element's own `color` and `background`, where they are plain colours."""
    found = {}
    if element.get("bgcolor"):
        found["background"] = _colour(str(element.get("bgcolor")))
    if element.get("color"):
        found["color"] = _colour(str(element.get("color")))
    for name, value in _COLOR.findall(str(element.get("style") or "")):
        found[name.lower().partition("-")[0]] = _colour(value)
    return {name: value for name, value in found.items() if value is not None}


def _path(selectors: frozenset[str]) -> str:
    """An XPath to elements that may be hidden: libxml2 skips the many others faster than Python does.

    It is one step: libxml2 joins the results of `//@style/.. | //@class/..` in time quadratic in their number.
    """
    path = "/descendant::*[@style or @hidden or @color"
    for sign, attribute in ((".", "@class"), ("#", "@id")):
        names = {selector.partition(sign)[2] for selector in selectors if sign in selector}
        if len(names) > MAX_NAMES:
            path += f" or {attribute}"
        else:
            path += "".join(f" or contains({attribute}, '{name}')" for name in sorted(names))
    # Tag names alone are of plain letters and digits: see _SELECTOR.
    tags = sorted(
        selector for selector in selectors if selector.isascii() and selector.isalnum() and selector not in _NEVER
    )
    return path + "".join(f" or self::{tag}" for tag in tags[:MAX_TAGS]) + "]"


def _used(selectors: frozenset[str], tree: Any) -> frozenset[str]:
    """The selectors whose class or identity an element of the page has: of a site's style sheet, few are used.

    All of them where the page has more elements than are looked at: which ones those are must not depend on this.
    """
    if not selectors or tree.xpath("count(//*)") > MAX_ELEMENTS:
        return selectors
    classes = {name for value in set(tree.xpath("//@class", smart_strings=False)) for name in value.split()}
    identities = set(tree.xpath("//@id", smart_strings=False))

    def is_used(selector: str) -> bool:
        _, sign, name = selector.partition("." if "." in selector else "#")
        return not sign or name in (classes if sign == "." else identities)

    return frozenset(filter(is_used, selectors))


def _hidden_elements(tree: Any) -> list[Any]:
    """The outermost hidden elements, in document order."""
    selectors = _used(_hidden_selectors(tree), tree)
    found: dict[Any, None] = {}
    for element in islice(tree.xpath(_path(selectors)), MAX_ELEMENTS):
        if _is_hidden(element, selectors) and not any(above in found for above in element.iterancestors()):
            found[element] = None
    return list(found)


def _visible_text(tree: Any, hidden: list[Any]) -> str:
    """The text of a tree apart from its hidden and unread elements; text after those elements is kept."""
    skipped: set[Any] = set()
    for element in [*hidden, *tree.iter(*_UNREAD)]:
        skipped.update(element.iter())
    parts: list[str] = []
    for element in tree.iter():
        is_skipped = element in skipped
        if element.text and not is_skipped:
            parts.append(element.text)
        if element.tail and not (is_skipped and element.getparent() in skipped):
            parts.append(element.tail)
    return " ".join(parts)[:MAX_VISIBLE_CHARS]


def _texts(element: Any) -> Iterator[str]:
    if element.tag in _UNREAD:
        return
    for part in element.iter():
        if isinstance(part.tag, str) and part.tag not in _UNREAD and part.text:
            yield part.text
        if part is not element and part.tail:
            yield part.tail


def _flat(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def hidden_text_of(tree: Any) -> str:
    """The passages of an lxml tree that its markup hides, one a line, at most MAX_HIDDEN_CHARS characters.

    A passage that is also visible elsewhere on the page is not hidden.
    """
    hidden = _hidden_elements(tree)
    passages = [" ".join(" ".join(_texts(element)).split()) for element in hidden]
    if not any(passages):
        return ""
    shown = _flat(_visible_text(tree, hidden))
    kept = [passage for passage in dict.fromkeys(passages) if passage and _flat(passage) not in shown]
    return "\n".join(kept)[:MAX_HIDDEN_CHARS]


def is_hidden_text(hidden: str, text: str) -> bool:
    """Whether hidden text matters: a sentence or more of it reached the extracted text, or it addresses machines."""
    from builder.labels.injection import holds_injection

    if not hidden:
        return False
    if holds_injection(hidden):
        return True
    page = f" {_flat(text)} "
    reached = 0
    for passage in hidden.split("\n"):
        words = _flat(passage).split()
        for at in range(0, len(words), CHUNK_WORDS):
            chunk = words[at : at + CHUNK_WORDS]
            reached += len(chunk) if len(chunk) >= 5 and f" {' '.join(chunk)} " in page else 0
    return reached >= MIN_REACHED_WORDS
