"""Books in CNXML, the format of OpenStax' sources: chapters from a collection file, text and exercises from modules.

Elements are renamed in place to those of HTML. Exercises, their solutions, and sections and notes that hold nothing
else are taken out of the text: a page must not contain the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.textbooks.book import REFERENCE, BookFormat, Chapter, Exercise, Module, plain_text
from edu_rag.errors import DataError

_TAGS: Mapping[str, str] = {
    "para": "p",
    "note": "div",
    "example": "div",
    "equation": "div",
    "subfigure": "figure",
    "caption": "figcaption",
    "item": "li",
    "newline": "br",
    "term": "b",
    "foreign": "i",
    "footnote": "small",
    "quote": "blockquote",
    "row": "tr",
    "entry": "td",
    "glossary": "section",
    "meaning": "dd",
    "definition": "dl",
}
_KEPT = frozenset(["section", "figure", "table", "thead", "tbody", "sub", "sup", "span", "code", "preformat"])
_UNWRAPPED = frozenset({"tgroup", "media", "space", "link", "content", "abstract", "problem", "solution"})
_DROPPED = frozenset(
    {"metadata", "image", "iframe", "colspec", "label", "object", "video", "audio", "flash", "download"}
)
_QUIZ_NOTES = ("check-your-understanding",)
_EMPHASIS: Mapping[str, str] = {"italics": "i", "bold": "b", "underline": "u", "smallcaps": "span"}
_LETTERED = ("lower-alpha", "upper-alpha")


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _root_of(path: Path) -> Any:
    """The root of an XML file, without comments. Raises DataError if it cannot be read or is not XML."""
    import lxml.etree

    parser = lxml.etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        return lxml.etree.fromstring(path.read_bytes(), parser)
    except OSError as error:
        raise DataError(path, error.strerror or "cannot be read", "get the sources again") from None
    except lxml.etree.XMLSyntaxError as error:
        raise DataError(path, f"is not XML: {error.msg}", "get the sources again") from None


def _named(root: Any, name: str) -> Iterator[Any]:
    """All elements below with this local name, in document order."""
    return (element for element in root.iter("{*}" + name))


def chapters_of(path: Path) -> list[Chapter]:
    """The chapters of a collection file. Modules outside of them, such as appendices, are one without a title."""
    chapters = []
    root = _root_of(path)
    for part in (root, *_named(root, "subcollection")):
        content = part.find("{*}content")
        modules = [] if content is None else content.findall("{*}module")
        if modules:
            title = part.findtext("{*}title") or ""
            chapters.append(Chapter(" ".join(title.split()), [str(module.get("document")) for module in modules]))
    if not chapters:
        raise DataError(path, "names no chapter with modules", "give the collection file of a book")
    return chapters


def read_module(path: Path, module_id: str) -> Module:
    """The module in a file. Raises DataError if it is not CNXML."""
    root = _root_of(path)
    content = root.find("{*}content")
    if _local(root) != "document" or content is None:
        raise DataError(path, "is not CNXML: it has no <document> with <content>", "get the sources again")
    title = plain_text(_html_of(root.find("{*}title")))
    exercises = tuple(
        exercise
        for number, element in enumerate(_named(content, "exercise"), 1)
        if (exercise := _exercise(element, number)) is not None
    )
    _take_out_exercises(content)
    glossary = root.find("{*}glossary")
    parts = [_html_of(part) for part in (content, glossary) if part is not None]
    return Module(module_id=module_id, title=title, html="\n".join(parts), exercises=exercises)


def _exercise(element: Any, number: int) -> Exercise | None:
    problem = element.find("{*}problem")
    if problem is None:
        return None
    has_figure = any(next(_named(problem, name), None) is not None for name in ("media", "figure")) or any(
        _is_reference(link) for link in _named(problem, "link")
    )
    lists = [one for one in _named(problem, "list") if one.get("number-style") in _LETTERED]
    choices: tuple[str, ...] = ()
    if len(lists) == 1:
        choices = tuple(plain_text(_html_of(item)) for item in lists[0].findall("{*}item"))
        _drop(lists[0])
    solution = element.find("{*}solution")
    first = None if solution is None else next(_named(solution, "para"), None)
    return Exercise(
        number=number,
        problem=plain_text(_html_of(problem)),
        choices=choices,
        solution="" if first is None else plain_text(_html_of(first)),
        has_figure=has_figure,
    )


def _is_reference(link: Any) -> bool:
    """Whether a link is a reference to a figure, a table or an equation: the book prints its number in its place."""
    return link.get("target-id") is not None and not "".join(link.itertext()).strip()


def _take_out_exercises(content: Any) -> None:
    for note in list(_named(content, "note")):
        if (note.get("class") or "").endswith(_QUIZ_NOTES):
            _drop(note)
    holders = []
    for exercise in list(_named(content, "exercise")):
        holders.append(exercise.getparent())
        _drop(exercise)
    for section in reversed(list(_named(content, "section"))):
        is_quiz = section in holders and section.get("class") is not None
        if is_quiz or (section in holders and not _has_text(section)):
            _drop(section)


def _has_text(section: Any) -> bool:
    """Whether there is more than a title."""
    return any("".join(part.itertext()).strip() for part in section if _local(part) != "title")


def _drop(element: Any) -> None:
    """Remove an element, and keep the text that follows it."""
    parent, before = element.getparent(), element.getprevious()
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _html_of(element: Any) -> str:
    """The HTML of an element's content. The tree is changed."""
    import lxml.etree

    if element is None:
        return ""
    for part in list(element.iter()):
        if part is not element:
            _to_html(part)
    element.tag = "div"
    element.attrib.clear()
    element.tail = None
    lxml.etree.strip_tags(element, "unwrapped")
    lxml.etree.cleanup_namespaces(element)
    return str(lxml.etree.tostring(element, encoding="unicode", method="html"))


def _to_html(part: Any) -> None:
    name = _local(part)
    if name in _DROPPED or not isinstance(part.tag, str):  # an entity is not resolved, and has no name
        if part.getparent() is not None:
            _drop(part)
        return
    if name == "link" and _is_reference(part):
        part.text = REFERENCE
    tag = _tag_of(part, name)
    alternative = part.get("alt") if name == "media" else None
    part.attrib.clear()
    part.tag = tag
    if alternative:
        part.tag, part.text = "p", alternative


def _tag_of(part: Any, name: str) -> str:
    if "MathML" in str(part.tag):
        return name
    if name == "title":
        return _title_tag(part)
    if name == "list":
        return "ol" if part.get("list-type") == "enumerated" else "ul"
    if name == "emphasis":
        return _EMPHASIS.get(part.get("effect") or "bold", "span")
    if name == "term" and part.getparent() is not None and part.getparent().tag == "dl":
        return "dt"
    if name == "entry" and any(above.tag == "thead" for above in part.iterancestors()):
        return "th"
    if name in _TAGS:
        return _TAGS[name]
    return name if name in _KEPT else "unwrapped" if name in _UNWRAPPED else "span"


def _title_tag(title: Any) -> str:
    """A heading in a section, by its depth; elsewhere a paragraph in bold type."""
    if title.getparent().tag not in ("section", "content", "{http://cnx.rice.edu/cnxml}content"):
        return "b"
    depth = sum(above.tag == "section" for above in title.iterancestors())
    return f"h{min(depth + 1, 6)}"


CNXML = BookFormat(chapters_of, read_module, lambda module_id: f"modules/{module_id}/index.cnxml")
