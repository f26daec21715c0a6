"""The paths that are answered from memory find what trafilatura's own paths find."""

from __future__ import annotations

from itertools import product

import lxml.etree
import lxml.html
import pytest
from trafilatura import xpaths

from builder.extract.extraction_tools import trafilatura_fast
from builder.extract.page_text import parse_html
from builder.extract.remembered_paths import LISTS, remembered, remembered_paths, swapped_lists

_NAMES_TEXT = (
    "post nav-1 comments comment-list reply-3 share- social Footer sidebar article-body entry main-content teaser"
    " hidden mvp-post-add-box infinite-scroll elementor-share-buttons caption section-7 x"
)
NAMES = _NAMES_TEXT.split()
TAGS = ("div", "p", "section", "article", "ul", "span", "aside", "h1", "x:odd", "li")
OWN_PATHS = [path for name in LISTS for path in getattr(xpaths, name) if remembered(path) is not None]


def page_of(names: list[str]) -> lxml.html.HtmlElement:
    """A page with elements of all tags, with two of the names as class and id, in both orders."""
    body = "".join(
        f'<{tag} class="{one}" id="{other}" style="display:none">a<b>b</b></{tag}>'
        f'<{tag} id="{one}" class="{other}" role="navigation">a</{tag}>'
        f'<{tag} class="{one} {other}" data-x="{one}">c</{tag}>'
        for tag, (one, other) in product(TAGS, zip(names, reversed(names), strict=True))
    )
    return parse_html(f"<body><div>{body}</div></body>")


@pytest.mark.parametrize("path", OWN_PATHS, ids=lambda path: " ".join(path.path.split())[-40:])
def test_a_remembered_path_finds_the_same_elements_for_known_and_for_new_kinds(path: lxml.etree.XPath) -> None:
    quick = remembered(path)
    assert quick is not None
    for names in (NAMES[:9], NAMES[4:], NAMES[:9], ["\x01", "x"]):
        page = page_of(names)
        for tree in (page, page[-1][0]):
            assert quick(tree)[:1] == path(tree)[:1]
            assert quick._is_first or quick(tree) == path(tree)


def test_most_of_the_installed_trafilaturas_paths_are_remembered() -> None:
    assert len(OWN_PATHS) >= 9


@pytest.mark.parametrize(
    "path",
    [
        "(.//article)[1]",
        ".//*[self::div][.//h1]|.//main",
        ".//*[contains(@class, 'x')]/p",
        ".//*[@class and self::p]",
        ".//*[position() = 1]",
        ".//p[@class]",
    ],
)
def test_a_path_that_asks_for_more_than_an_elements_own_marks_is_not_remembered(path: str) -> None:
    assert remembered(lxml.etree.XPath(path)) is None


def test_the_librarys_paths_are_its_own_again_afterwards_even_if_it_raises() -> None:
    before = [list(one.paths) for one in swapped_lists()]
    with remembered_paths():
        assert [list(one.paths) for one in swapped_lists()] != before
    with pytest.raises(KeyError), remembered_paths():
        raise KeyError
    trafilatura_fast(page_of(NAMES[:3]))
    assert [list(one.paths) for one in swapped_lists()] == before
