"""Formulas as pages carry them, made one readable text: MathJax, KaTeX, MathML, Wikipedia's and other pictures."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from builder.extract.mathml import linear_math
from builder.extract.page_text import PageSigns, xml_safe, xpath

MAX_TEX = 2_000
MAX_ALTERNATIVE = 120
_RELATION = re.compile(r"[\w)\]²³⁺⁻] ?(?:=|→|⇌|≈|≤|≥|->|<=>) ?[-−√(\[\w]")
_HOLDERS = frozenset({"katex", "mwe-math-element", "mathjax", "mathjax_display", "mathjax_svg", "mathjax_chtml"})
_DISPLAYSTYLE = re.compile(r"^\{\s*\\(?:display|text|script)style\s*(.*)\}$", re.DOTALL)
_MATH_IMAGE = re.compile(r"(?:^|[\s_-])(?:tex|latex|math|equation|formula|mwe-math\S*)(?:$|[\s_-])", re.IGNORECASE)
_MATH_SOURCE = re.compile(r"latex|mathtex|mimetex|codecogs|/math/|mathjax|/tex/|wikipedia.*/render/svg", re.IGNORECASE)
_TEX_QUERY = re.compile(r"(?:codecogs\.com/\w+\.latex\?|cgi-bin/(?:math|mime)tex\.cgi\?|chart\?cht=tx&chl=)(.+)")
_TEX_SIGN = re.compile(r"[\\^_{}]")
_MATHS = frozenset({"math", "m:math", "mml:math"})
_MATH_SCRIPTS = '//script[starts-with(@type, "math/")]'
_SIGN_IMAGES = {
    "yields": "→",
    "right arrow": "→",
    "rightarrow": "→",
    "arrow right": "→",
    "reaction arrow": "→",
    "produces": "→",
    "gives": "→",
    "equilibrium": "⇌",
    "equilibrium arrow": "⇌",
    "equilibrium arrows": "⇌",
    "reversible": "⇌",
    "reversible arrow": "⇌",
    "double arrow": "⇌",
    "left arrow": "←",
}


def become(element: Any, text: str) -> None:
    """Replace an element by inline text. It stays as a span: merging text into its neighbours would be quadratic."""
    element.clear(keep_tail=True)
    element.tag = "span"
    element.text = text


def tex(source: str) -> str:
    r"""TeX between \( and \), without the frame that Wikipedia puts round it; a blank where there is none."""
    plain = " ".join(source[:MAX_TEX].split())
    framed = _DISPLAYSTYLE.match(plain)
    plain = framed[1].strip() if framed else plain
    return f" \\( {plain} \\) " if plain else " "


def _attached(element: Any) -> bool:
    return element.getparent() is not None


def _classes(element: Any) -> list[str]:
    return (element.get("class") or "").casefold().split()


def _holder(element: Any) -> Any:
    """The outermost element that shows this formula and nothing else."""
    found = element
    for up in element.iterancestors("span", "div", "nobr", "mjx-container", "mjx-assistive-mml"):
        if up.tag == "mjx-container" or _HOLDERS.intersection(_classes(up)):
            found = up
    return found


def _tex_of(math: Any) -> str:
    """The TeX that a `<math>` element has in addition to its MathML, or nothing."""
    for note in math.iter("annotation"):
        if "tex" in (note.get("encoding") or "").casefold():
            return str(note.text_content())
    alternative = math.get("alttext") or ""
    return alternative if _TEX_SIGN.search(alternative) else ""


def _formula(math: Any) -> str:
    source = _tex_of(math)
    if source.strip():
        return tex(source)
    # The words next to a formula in a sentence are kept apart from it.
    return f" {linear_math(math)} "


def _drop_rendered(tree: Any) -> None:
    """MathJax 2 leaves its picture of a formula next to the script with the source: only one of them is kept."""
    shown = '//*[contains(concat(" ", @class), " MathJax")][not(self::body)][not(.//script)]'
    for element in xpath(shown)(tree):
        if _attached(element):
            element.drop_tree()


def _show(element: Any, text: str, *, is_block: bool) -> None:
    """Put a formula in an element's place: a displayed one as a paragraph, which extractors keep."""
    parent = element.getparent()
    is_block = is_block or (parent is not None and parent.tag == "center")
    displayed = is_block or element.tag == "div" or any("display" in name for name in _classes(element))
    become(element, text)
    if displayed and next(element.iterancestors("p"), None) is None:
        element.tag = "p"


def _write_scripts(tree: Any) -> None:
    for script in xpath(_MATH_SCRIPTS)(tree):
        kind, source = (script.get("type") or "").casefold(), script.text or ""
        if kind.startswith("math/tex"):
            _show(script, tex(source), is_block="display" in kind)
        elif kind.startswith("math/mml"):
            become(script, _parsed_formula(source))
        elif source.strip():
            become(script, f" {' '.join(source[:MAX_TEX].split())} ")


def _parsed_formula(source: str) -> str:
    import lxml.etree
    import lxml.html

    try:
        holder = lxml.html.fragment_fromstring(xml_safe(source[: 20 * MAX_TEX]).decode(), create_parent="div")
    except (lxml.etree.LxmlError, ValueError):
        return " "
    return "".join(_formula(math) for math in holder.iter("math")) or " "


def _write_mathml(tree: Any, signs: PageSigns) -> None:
    found = list(tree.iter(*_MATHS)) if signs.tags & _MATHS else []
    for math in [element for element in found if _attached(element)]:
        holder = _holder(math)
        if _attached(holder):
            _show(holder, _formula(math), is_block=math.get("display") == "block")
    # Most pages have none: looking for that first takes half the time.
    for element in xpath("//*[@data-mathml]")(tree) if xpath("boolean(//@data-mathml)")(tree) else ():
        if _attached(element):
            become(element, _parsed_formula(element.get("data-mathml")))


def _write_drawn(tree: Any) -> None:
    """MathJax 3 without its assistive MathML: characters are in class names, structure is in element names."""
    for container in list(tree.iter("mjx-container")):
        spoken = container.get("aria-label")
        drawn = next(container.iter("mjx-math"), None)
        if not _attached(container) or container.text_content().strip():
            continue
        if drawn is not None:
            _undraw(drawn)
            become(container, f" {linear_math(drawn)} ")
        elif spoken:
            become(container, f" {spoken[:MAX_TEX]} ")


def _undraw(drawn: Any) -> None:
    from unicodedata import normalize

    for element in drawn.iter():
        if not isinstance(element.tag, str) or not element.tag.startswith("mjx-"):
            continue
        if element.tag == "mjx-c":
            code = re.search(r"mjx-c([0-9A-Fa-f]{2,5})\b", element.get("class") or "")
            element.text = normalize("NFKC", chr(int(code[1], 16))) if code and int(code[1], 16) < 0x110000 else ""
        element.tag = {"mjx-c": "span", "mjx-script": "mrow", "mjx-texatom": "mrow"}.get(element.tag, element.tag[4:])
    for element in drawn.iter("mi", "mo", "mn", "mtext"):
        become(element, "".join(element.itertext()))
        element.tag = "mi"


def _write_images(tree: Any) -> None:
    for image in list(tree.iter("img")):
        text = _image_formula(image)
        if text and _attached(image):
            become(image, text)


def _image_formula(image: Any) -> str:
    """The text for an image of a formula or of a reaction arrow; empty for other images."""
    alternative = " ".join((image.get("alt") or "")[:MAX_TEX].split())
    sign = _SIGN_IMAGES.get(alternative.casefold().strip(" ."), alternative)
    if 0 < len(sign) <= 3 and not any(char.isalnum() for char in sign) and not sign.isascii():
        return f" {sign} "
    source = image.get("src") or ""
    by_name = _MATH_IMAGE.search(image.get("class") or "") or _MATH_SOURCE.search(source[:500])
    if not by_name:
        return f" {alternative} " if _is_equation(alternative) else ""
    query = _TEX_QUERY.search(source[: 2 * MAX_TEX])
    if not alternative and query:
        return tex(unquote(query[1]))
    return tex(alternative) if _TEX_SIGN.search(alternative) else f" {alternative} " if alternative else ""


def _is_equation(alternative: str) -> bool:
    """Whether a picture's alternative text is a formula: a relation between signs, not a sentence."""
    words = re.findall(r"[^\W\d_]{4,}", alternative)
    return len(alternative) <= MAX_ALTERNATIVE and _RELATION.search(alternative) is not None and len(words) <= 2


def write_formulas(tree: Any, signs: PageSigns) -> None:
    r"""TeX wherever a page has it as \( … \); else MathML and drawn formulas as one readable line."""
    if "script" in signs and xpath(_MATH_SCRIPTS)(tree):
        _drop_rendered(tree)
        _write_scripts(tree)
    _write_mathml(tree, signs)
    if "mjx-container" in signs:
        _write_drawn(tree)
    if "img" in signs:
        _write_images(tree)
