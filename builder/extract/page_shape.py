"""A page's shape by counting alone, before any parser sees it: which tools may be tried on it at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_BYTES = 5_000_000
MAX_TAGS = 100_000
"""Above these a page is refused: no honest page of text is so large."""
MAX_ATTRIBUTES = 2_000
MAX_DEPTH = 250
HEAVY_TAGS = 25_000
HEAVY_CHARS = 2_500_000
HEAVY_ATTRIBUTES = 100_000
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{2000,}")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_NESTED_TEXT = (
    "div span ul ol dl li table tbody tr td font a b i em strong details figure form svg math mrow section article"
    " blockquote select option optgroup"
)
# Both cases of each letter are spelt out: with IGNORECASE every alternative is tried at every tag, 3 times as slowly.
_ANY_CASE = ("".join(f"[{char}{char.upper()}]" for char in name) for name in _NESTED_TEXT.split())
_NESTING = re.compile(rf"<(/?)(?:{'|'.join(_ANY_CASE)})(?=[\s>/])")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageShape:
    """Counts of a page: characters, tags, attributes (all, and on the fullest tag), the deepest nesting it may mean."""

    n_chars: int
    n_tags: int
    depth: int
    n_attributes: int
    n_all_attributes: int

    @property
    def may_parse(self) -> bool:
        """Whether libxml2 may build a tree: each attribute is compared with all others of its tag."""
        return self.n_attributes <= MAX_ATTRIBUTES

    @property
    def may_judge(self) -> bool:
        """Whether tools may weigh every element against its neighbours, as trafilatura does."""
        is_light = self.n_tags <= HEAVY_TAGS and self.n_chars <= HEAVY_CHARS
        return self.may_parse and is_light and self.n_all_attributes <= HEAVY_ATTRIBUTES

    @property
    def may_nest(self) -> bool:
        """Whether tools may follow the nesting: resiliparse's time grows with depth, libxml2 drops deeper elements."""
        return self.may_parse and self.depth <= MAX_DEPTH


def refused(body: bytes) -> str | None:
    """Why a page is not even decoded, or None."""
    if len(body) > MAX_BYTES:
        return "too_large"
    return "too_many_tags" if body.count(b"<") > MAX_TAGS else None


def page_shape(html: str) -> PageShape:
    """Count a page's tags, nesting and attributes. Never raises; linear in the page's length.

    Elements whose end a page may leave out count as open until an end of any: the depth is an upper bound.
    """
    depth = deepest = 0
    for end in _NESTING.findall(html):
        depth = max(0, depth - 1) if end else depth + 1
        deepest = max(deepest, depth)
    longest = (len(_QUOTED.sub("", tag).split()) for tag in _LONG_TAG.findall(html))
    return PageShape(
        n_chars=len(html),
        n_tags=html.count("<"),
        depth=deepest,
        n_attributes=max(longest, default=0),
        n_all_attributes=html.count("="),
    )
