"""Trafilatura's searches by path, answered from memory where an element looks like one that was seen before.

Its long paths compare the class, id and role of every element with patterns: that is half of its time. They ask for
nothing but an element's tag and its own attributes, and a web site has few kinds of elements. So each kind is asked for
once, by the same path, on an element made for that. The results are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

LISTS = (
    "BODY_XPATH",
    "DISCARD_IMAGE_ELEMENTS",
    "OVERALL_DISCARD_XPATH",
    "RAW_TREE_PRUNE_XPATH",
    "REMOVE_COMMENTS_AND_LISTS_XPATH",
    "TEASER_DISCARD_XPATH",
)
"""The lists of `trafilatura.xpaths` whose paths are answered so, if they are of the form that `remembered` knows."""
MAX_KINDS = 2_000
"""Kinds of elements that each path remembers."""
MAX_NEW = 1_000
"""With more new kinds on a page, none of them is remembered: such a page has no kinds."""
MAX_CHARS = 200
"""A kind with longer attributes is not remembered."""
_NAMESPACES = {"re": "http://exslt.org/regular-expressions"}
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_TESTS = r"(?:self::\w+|@[\w-]+|re:test|contains|starts-with|translate|not|and|or|'x*'|[\s(),|=])+"
_OWN = re.compile(rf"\.//\*(?:\[{_TESTS}\]\s*)+")
_FIRST = re.compile(rf"(?P<every>{_OWN.pattern})\[1\]|\(\s*(?P<all>{_OWN.pattern})\)\s*\[1\]")
_TAGS = re.compile(r"\.//\*\[\s*(self::\w+(?:\s+or\s+self::\w+)*)\s*\]\[")
_Kind = tuple[Any, ...]


class RememberedPath:
    """A path that finds elements by their tags and own attributes; called with a tree, it gives the path's result.

    Of a path that gives the first element, or the first of each parent, it gives the first one alone.
    """

    def __init__(self, path: Any, own: str, tags: Sequence[str], *, is_first: bool, is_whole: bool) -> None:
        """`own` is the part of the path that asks for tags and attributes, `tags` the only ones it finds, if not all.

        Where that part is not the whole, and finds anything, the path itself is asked.
        """
        import lxml.etree

        self._path, self._own = path, lxml.etree.XPath(own, namespaces=_NAMESPACES)
        self._tags, self._is_first, self._is_whole = tags, is_first, is_whole
        self._names = frozenset(re.findall(r"@([\w-]+)", own))
        self._known: dict[_Kind, bool] = {}

    def __call__(self, tree: Any) -> list[Any]:
        """The elements below a tree's root that the path finds, in their order."""
        elements, names = list(tree.iterdescendants(*(self._tags or ("*",)))), self._names
        kinds: list[_Kind] = [tuple(item for item in one.items() if item[0] in names) for one in elements]
        if self._tags:
            kinds = [(one.tag, *kind) for one, kind in zip(elements, kinds, strict=True)]
        try:
            holding = self._holding(set(kinds))
        except ValueError:  # a page may hold characters that no element can be made with
            return list(self._path(tree))
        if holding and not self._is_whole:
            return list(self._path(tree))
        found = [one for one, kind in zip(elements, kinds, strict=True) if kind in holding] if holding else []
        return found[:1] if self._is_first else found

    def _holding(self, kinds: set[_Kind]) -> set[_Kind]:
        """Those of the kinds whose elements the path's own part finds."""
        known = self._known
        new = [kind for kind in kinds if kind not in known]
        asked = self._asked(new) if new else set()
        holding = {kind for kind in kinds if known.get(kind)} | asked
        if len(new) <= MAX_NEW:
            if len(known) > MAX_KINDS:
                known.clear()
            known.update((kind, kind in asked) for kind in new if _n_chars(kind) <= MAX_CHARS)
        return holding

    def _asked(self, kinds: list[_Kind]) -> set[_Kind]:
        """The same, by the path."""
        import lxml.etree

        parent, kind_of = lxml.etree.Element("x"), {}
        for kind in kinds:
            tag, items = (kind[0], kind[1:]) if self._tags else ("x", kind)
            kind_of[lxml.etree.SubElement(parent, tag, dict(items))] = kind
        return {kind_of[one] for one in self._own(parent)}


def _n_chars(kind: _Kind) -> int:
    return sum(map(len, chain.from_iterable(kind)))


def _are_conditions(words: str) -> bool:
    """Whether words without quoted ones are conditions in square brackets, and nothing else."""
    depth = 0
    for char in words:
        depth += (char == "[") - (char == "]")
        if depth == 0 and char != "]" and not char.isspace():
            return False
    return depth == 0


def remembered(path: Any) -> RememberedPath | None:
    """A path's remembered form; None if it asks for more than tags and own attributes from its first condition on."""
    words = path.path.strip()
    plain = _TEXT.sub(lambda text: f"'{'x' * (len(text[0]) - 2)}'", words)
    first = _FIRST.fullmatch(plain)
    span = first.span("every" if first["every"] else "all") if first is not None else (0, len(words))
    form = _OWN.match(plain, *span)
    if form is None or not _are_conditions(plain[form.end() : span[1]]):
        return None
    own = words[slice(*form.span())]
    tags = _TAGS.match(own)
    if tags is None and "self::" in own:
        return None
    names = re.findall(r"self::(\w+)", tags[1]) if tags is not None else ()
    return RememberedPath(path, own, names, is_first=first is not None, is_whole=form.end() == span[1])


class _Swapped(NamedTuple):
    """A list of the library, with its own paths and the remembered ones."""

    paths: list[Any]
    own: list[Any]
    remembered: list[Any]


@cache
def swapped_lists() -> tuple[_Swapped, ...]:
    """The library's lists with what they hold meanwhile. A list that another version lacks is left out."""
    from trafilatura import xpaths

    lists = [getattr(xpaths, name, None) for name in LISTS]
    return tuple(
        _Swapped(paths, list(paths), [remembered(path) or path for path in paths])
        for paths in lists
        if isinstance(paths, list)
    )


@contextmanager
def remembered_paths() -> Iterator[None]:
    """While entered, trafilatura finds elements by the remembered paths."""
    for one in swapped_lists():
        one.paths[:] = one.remembered
    try:
        yield
    finally:
        for one in swapped_lists():
            one.paths[:] = one.own
