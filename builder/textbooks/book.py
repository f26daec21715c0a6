"""The records of a textbook: chapters, modules, exercises, and how the files of a book are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from builder.extract.page_text import clean_text, parse_html
from builder.extract.prepass import apply_prepass

REFERENCE = "figure"
"""The text of a reference to a figure, a table or an equation, which has no words in the source."""


class Chapter(NamedTuple):
    """A chapter: its title, empty outside of chapters, and the ids of its modules, in the order of the book."""

    title: str
    module_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """An exercise as its module holds it, in plain text.

    `number` counts the exercises of the module from 1; `choices` are the texts of its lettered list, empty if it has
    none; `solution` is the text of the first paragraph of its solution, empty if it has none; `has_figure` says that
    the problem contains a figure or refers to one by a link.
    """

    number: int
    problem: str
    choices: tuple[str, ...]
    solution: str
    has_figure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of a book: its id, its title, the HTML of its text without exercises, and its exercises."""

    module_id: str
    title: str
    html: str
    exercises: tuple[Exercise, ...]


class BookFormat(NamedTuple):
    """How the files of a book are read: its chapters from its contents file, a module from its own file.

    `place_of` is the path of a module's file below the folder of the book.
    """

    chapters_of: Callable[[Path], list[Chapter]]
    read_module: Callable[[Path, str], Module]
    place_of: Callable[[str], str]


def plain_text(html: str) -> str:
    """The text of a piece of HTML on one line: formulas, powers and indices written as page extraction writes them."""
    tree = parse_html(f"<p>{html}</p>")
    if tree is None:
        return ""
    apply_prepass(tree)
    return " ".join(clean_text(str(tree.text_content())).split())
