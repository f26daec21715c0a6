"""Books in kramdown's Markdown with HTML, as the 2018 mirrors of OpenStax' books hold them: one file a module.

Exercises and the headings above them are taken out of the text: a page must not contain the questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builder.extract.page_text import parse_html
from builder.textbooks.book import REFERENCE, BookFormat, Chapter, Exercise, Module, plain_text
from edu_rag.errors import DataError

_HEAD = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_TITLE = re.compile(r'^title:\s*"?(.*?)"?\s*$', re.MULTILINE)
# Attributes of a whole block, and the mark that ends a definition list: kramdown's, unknown to the parser.
_BLOCK_MARKS = re.compile(r"^[ \t]*(?:\{:[^}\n]*\}|\^)[ \t]*$", re.MULTILINE)
_EXERCISE = '<div data-type="exercise">'
_CHAPTER = re.compile(r"^(\s*)\d+\.\s+\{: \.chapter\}\s*\[(.+?)\]\(contents/(\w+)\.md\)")
_MODULE = re.compile(r"^(\s*)\d+\.\s+(?:\{: \.\w+\}\s*)?\[.+?\]\(contents/(\w+)\.md\)")
_LINKED = "[link]"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read: {error}", "get the sources again") from None


def chapters_of(path: Path) -> list[Chapter]:
    """The chapters of a SUMMARY.md; a chapter's introduction is its first module. Raises DataError if it lists none.

    Modules outside of any chapter, such as the preface, are one without a title.
    """
    outside: list[str] = []
    chapters = [Chapter("", outside)]
    depth = -1
    for line in _read(path).splitlines():
        if match := _CHAPTER.match(line):
            depth = len(match[1])
            chapters.append(Chapter(match[2].strip(), [match[3]]))
        elif match := _MODULE.match(line):
            is_inside = depth >= 0 and len(match[1]) > depth
            ids = chapters[-1].module_ids if is_inside else outside
            ids.append(match[2])
    if len(chapters) == 1:
        raise DataError(path, "names no chapter with modules", "give the book's SUMMARY.md")
    return [chapter for chapter in chapters if chapter.module_ids]


def read_module(path: Path, module_id: str) -> Module:
    """The module in a file. Raises DataError if it does not begin with a title between two lines of dashes."""
    text = _read(path)
    head = _HEAD.match(text)
    title = _TITLE.search(head[1]) if head else None
    if head is None or title is None:
        raise DataError(path, "does not begin with `---` and a title", "get the sources again")
    body = _tree_of(text[head.end() :]).find("body")
    elements = body.xpath('.//div[@data-type="exercise"]')
    exercises = tuple(_exercise(element, number) for number, element in enumerate(elements, 1))
    _take_out(body, elements)
    _write_figures(body)
    return Module(module_id=module_id, title=title[1].strip(), html=_inner_html(body), exercises=exercises)


def _tree_of(text: str) -> Any:
    from markdown import Markdown

    reader = Markdown(extensions=["attr_list", "md_in_html", "def_list", "tables"], output_format="html")
    # The parser reads Markdown inside of an element only if every element around it says so too.
    marked = text.replace(_EXERCISE, f'{_EXERCISE[:-1]} markdown="1">')
    tree = parse_html(f"<html><body>{reader.convert(_BLOCK_MARKS.sub('', marked))}</body></html>")
    for link in list(tree.iter("a")):
        if (link.text or "") == _LINKED:
            link.text = REFERENCE
    return tree


def _exercise(element: Any, number: int) -> Exercise:
    problem = next(iter(element.xpath('./div[@data-type="problem"]')), None)
    solution = next(iter(element.xpath('./div[@data-type="solution"]')), None)
    if problem is None:
        return Exercise(number=number, problem="", choices=(), solution="", has_figure=False)
    links = (str(link.get("href") or "") for link in problem.iter("a"))
    has_figure = next(problem.iter("img"), None) is not None or any(link.startswith("#fig") for link in links)
    lists = list(problem.iter("ol"))
    choices: tuple[str, ...] = ()
    if len(lists) == 1:
        choices = tuple(plain_text(_inner_html(item)) for item in lists[0].findall("li"))
        lists[0].drop_tree()
    first = None if solution is None else next(solution.iter("p"), None)
    return Exercise(
        number=number,
        problem=plain_text(_inner_html(problem)),
        choices=choices,
        solution="" if first is None else plain_text(_inner_html(first)),
        has_figure=has_figure,
    )


def _take_out(body: Any, exercises: list[Any]) -> None:
    headings = {heading for element in exercises if (heading := _heading_above(element)) is not None}
    for element in exercises:
        element.drop_tree()
    for heading in headings:
        following = heading.getnext()
        if following is None or following.tag in _HEADINGS or following.get("data-type") == "glossary":
            heading.drop_tree()


def _heading_above(element: Any) -> Any:
    return next((one for one in element.itersiblings(preceding=True) if one.tag in _HEADINGS), None)


def _write_figures(body: Any) -> None:
    """Images give their descriptions and captions: the text that a reader who cannot see them gets."""
    for image in list(body.iter("img")):
        words = [text for name in ("alt", "title") if (text := (image.get(name) or "").strip())]
        image.tag, tail = "figure", image.tail
        image.clear()
        image.tail = tail
        for words_of, text in zip(("p", "figcaption"), words, strict=False):
            part = image.makeelement(words_of)
            part.text = text
            image.append(part)


def _inner_html(element: Any) -> str:
    import lxml.html

    parts: Iterator[str] = (str(lxml.html.tostring(part, encoding="unicode")) for part in element)
    return (element.text or "") + "".join(parts)


MARKDOWN = BookFormat(chapters_of, read_module, lambda module_id: f"contents/{module_id}.md")
