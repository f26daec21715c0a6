"""The cascades, one of which is the default extractor: the science pre-pass, then the best of several tools' texts.

The thresholds were fitted on one half of the test pages by host (`bench/extraction.py`); docs/pages.md describes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from builder.extract.extraction_tools import (
    PageShape,
    ToolOutput,
    drop_unread,
    html_of,
    page_shape,
    plain_text,
    resiliparse_all,
    resiliparse_main,
    resiliparse_tree,
    trafilatura_fast,
    trafilatura_full,
    without_table_rules,
)
from builder.extract.page_text import clean_text, parse_html

if TYPE_CHECKING:
    from builder.extract.text_estimate import PageEstimate

MIN_BYTES = 512
"""The paper drops pages under 0.5 KB (EDU-RAG section 3.2)."""
SHARE = 0.5
"""Of the main content as resiliparse sees it: a tool that found less has probably missed the page's main part."""
LONG_CHARS = 6_000
NEARLY_ALL = 0.85
"""Main content of so many characters that is such a share of all text of its page: there is little left to decide, and
resiliparse, which takes a tenth of the time, keeps lists and boxes that trafilatura drops.
"""
SURE = 0.95
"""Expected F1 from which resiliparse's text is used and trafilatura is not run at all."""
LEAD = 0.02
"""What trafilatura's text is preferred by: on most pages both are good, and its text has less of the page's frame."""
ARTICLE_LEAD = 0.2
"""The same on articles, most of which trafilatura reads well, while resiliparse adds captions and lists of links."""
FAIR = 0.5
"""Expected F1 from which trafilatura's text has this lead."""
POOR = 0.3
"""Expected F1 under which trafilatura's full mode, which compares its text with two other tools', is tried too."""
MAX_DELETING = 500_000_000
"""Elements that trafilatura deletes times characters of the page: it moves the text behind each of them, so that a page
of 12,000 menus took it 16 s.
"""
FAST, FULL, MAIN, PLAIN = "trafilatura-fast", "trafilatura", "resiliparse", "plain"
_ALL = "resiliparse-all"


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class _Page:
    """One page with the views of it that tools need, each made once; `raised` are the tools that raised on it."""

    def __init__(self, html: str, tree: Any, shape: PageShape) -> None:
        self.html = html
        self.tree = tree
        self.shape = shape
        self.raised: set[str] = set()
        self._raw: dict[str, str] = {}

    def raw_of(self, tool: str) -> str:
        """One tool's text as it comes; empty if it raises: then the next tool is used."""
        if tool not in self._raw:
            try:
                self._raw[tool] = _TOOLS[tool](self)
            except MemoryError:
                raise
            except Exception:  # a parser may raise anything on a hostile page
                self.raised.add(tool)
                self._raw[tool] = ""
        return self._raw[tool]

    def answer(self, text: str, tool: str) -> ToolOutput:
        """One tool's text, and which tools raised on the way to it."""
        return ToolOutput(text, tool, tuple(sorted(self.raised)))

    @cached_property
    def prepared(self) -> Any:
        """The tree after the science pre-pass."""
        from builder.extract.prepass import apply_prepass

        if self.tree is not None:
            apply_prepass(self.tree)
            drop_unread(self.tree)
        return self.tree

    @cached_property
    def prepared_html(self) -> str:
        """The prepared tree as HTML; the page's own if there is no tree, or if the tree lacks deeply nested parts."""
        if self.prepared is None or not self.shape.may_nest:
            return self.html
        return html_of(self.prepared)

    @cached_property
    def reparsed(self) -> Any:
        """The same as resiliparse parses it: it reads many pages twice, and a reading does not change its tree."""
        return resiliparse_tree(self.prepared_html)


_TOOLS: dict[str, Callable[[_Page], str]] = {
    FAST: lambda page: without_table_rules(trafilatura_fast(page.prepared)),
    FULL: lambda page: without_table_rules(trafilatura_full(page.prepared)),
    MAIN: lambda page: resiliparse_main(page.reparsed),
    PLAIN: lambda page: plain_text(page.prepared_html),
    _ALL: lambda page: resiliparse_all(page.reparsed),
}


def tools_for(shape: PageShape, skip: tuple[str, ...]) -> tuple[str, ...]:
    """The tools that may be tried on a page of this shape, in their order; plain text always may."""
    allowed = {FAST: shape.may_judge, FULL: shape.may_judge, MAIN: shape.may_nest, PLAIN: True}
    return tuple(tool for tool, may in allowed.items() if tool == PLAIN or (may and tool not in skip))


def raw_text(tool: str, html: str) -> str:
    """The text that one tool extracts from an honest page. Raises the tool's own errors."""
    return _TOOLS[tool](_Page(html, parse_html(html), page_shape(html)))


class _Main:
    """How much main content a page has, by a tool that takes a tenth of the others' time."""

    def __init__(self, page: _Page, tools: tuple[str, ...]) -> None:
        self._raw = ""
        if MAIN not in tools:
            return
        try:
            self._raw = resiliparse_main(page.html)
        except MemoryError:
            raise
        except Exception:  # as above
            page.raised.add(MAIN)

    @cached_property
    def n_chars(self) -> int:
        """Its characters."""
        return len(clean_text(self._raw))

    def is_met(self, text: str) -> bool:
        """Whether a tool's text is as long as a share of it. Cleaning only shortens text, so most pages are decided
        without it.
        """
        return len(text) >= SHARE * len(self._raw) or len(text) >= SHARE * self.n_chars


def cascade_v1(html: str, tree: Any, shape: PageShape, skip: tuple[str, ...] = ()) -> ToolOutput:
    """The clean text of a page and the tool that extracted it; no text and "plain" for a page without text.

    `tree` is None for a page that must not be parsed. `skip` are tools that have failed on this page.
    """
    return _first_good(_Page(html, tree, shape), tools_for(shape, skip))


def cascade_v2(html: str, tree: Any, shape: PageShape, skip: tuple[str, ...] = ()) -> ToolOutput:
    """The same, but a long page that is nearly all main content is left to resiliparse alone."""
    tools, page = tools_for(shape, skip), _Page(html, tree, shape)
    if MAIN in tools and _is_nearly_all(page):
        text = clean_text(page.raw_of(MAIN))
        if _n_bytes(text) >= MIN_BYTES:
            return page.answer(text, MAIN)
    return _first_good(page, tools)


def _is_nearly_all(page: _Page) -> bool:
    """Whether a page's main content is long, and most of its text. Compares texts as they come: cleaning is slow."""
    n_main = len(page.raw_of(MAIN))
    return n_main >= LONG_CHARS and 0 < NEARLY_ALL * len(page.raw_of(_ALL)) <= n_main


class _Rated(NamedTuple):
    """One tool's clean text with the F1 that is expected of it; that of trafilatura's with its lead."""

    expected: float
    tool: str
    text: str

    @property
    def is_long(self) -> bool:
        return _n_bytes(self.text) >= MIN_BYTES


_Choice = Callable[["_Page", "PageEstimate"], "_Rated | None"]
"""How the best of the tools' texts is chosen."""


def cascade_v3(html: str, tree: Any, shape: PageShape, skip: tuple[str, ...] = ()) -> ToolOutput:
    """The text that the estimate of the page's blocks expects most of; `cascade_v1` where no text is long."""
    return _by_estimate(_Page(html, tree, shape), skip, _best_rated)


def cascade_v4(html: str, tree: Any, shape: PageShape, skip: tuple[str, ...] = ()) -> ToolOutput:
    """The same, but of an article mostly trafilatura's text, without its title and its calls to the reader."""
    from builder.extract.article import article_text, is_article, titles_of

    if not shape.may_judge or tree is None or not is_article(html, tree):
        return cascade_v3(html, tree, shape, skip)
    titles = titles_of(tree)
    found = _by_estimate(_Page(html, tree, shape), skip, _best_of_article)
    text = article_text(found.text, titles)
    return found if _n_bytes(text) < MIN_BYTES else ToolOutput(text, found.tool, found.raised)


def _by_estimate(page: _Page, skip: tuple[str, ...], best_of: _Choice) -> ToolOutput:
    tools = tools_for(page.shape, skip)
    if page.tree is not None and _deletes_slowly(page.tree, page.shape):
        tools = tuple(tool for tool in tools if tool not in (FAST, FULL))
    if page.tree is None or not {FAST, FULL, MAIN} <= set(tools):
        return _first_good(page, tools)
    found = estimated(page, best_of=best_of)
    # The estimate may have removed parts of the tree: a page without a long text is parsed again.
    return found if found is not None else _first_good(_Page(page.html, parse_html(page.html), page.shape), tools)


def _deletes_slowly(tree: Any, shape: PageShape) -> bool:
    from trafilatura.settings import MANUALLY_CLEANED

    return sum(1 for _ in tree.iter(*MANUALLY_CLEANED)) * shape.n_chars > MAX_DELETING


def _rated(page: _Page, estimate: PageEstimate, tool: str, lead: float = 0.0) -> _Rated:
    text = clean_text(page.raw_of(tool))
    return _Rated(estimate.expected_f1(text) + lead if text else 0.0, tool, text)


def _best_rated(page: _Page, estimate: PageEstimate) -> _Rated | None:
    """Resiliparse's text if it is surely good, else the best of two or three; None if none is long."""
    main = _rated(page, estimate, MAIN)
    if main.is_long and main.expected >= SURE:
        return main
    return _best_of_tools(page, estimate, [_rated(page, estimate, FAST, LEAD), main])


def _best_of_article(page: _Page, estimate: PageEstimate) -> _Rated | None:
    """Trafilatura's text, unless little is expected of it or much more of resiliparse's."""
    fast, main = _rated(page, estimate, FAST, LEAD), None
    if fast.is_long and fast.expected >= FAIR:
        leading = fast._replace(expected=fast.expected - LEAD + ARTICLE_LEAD)
        if leading.expected >= 1.0 or (main := _rated(page, estimate, MAIN)).expected <= leading.expected:
            return fast
    return _best_of_tools(page, estimate, [fast, main or _rated(page, estimate, MAIN)])


def _best_of_tools(page: _Page, estimate: PageEstimate, found: list[_Rated]) -> _Rated | None:
    if not any(one.is_long and one.expected >= POOR for one in found):
        found.append(_rated(page, estimate, FULL))
    return max((one for one in found if one.is_long), key=lambda one: one.expected, default=None)


def estimated(
    page: _Page, chances_of: Callable[[Any], Any] | None = None, best_of: _Choice = _best_rated
) -> ToolOutput | None:
    """The best of the tools' texts by the estimate of the page's blocks; None if none is long."""
    from builder.extract.text_estimate import estimate_of

    estimate = estimate_of(page.prepared, chances_of)
    if estimate is None:
        return None
    estimate.drop_frame()
    best = best_of(page, estimate)
    return page.answer(best.text, best.tool) if best is not None else None


def estimated_page(html: str) -> _Page | None:
    """A page as `cascade_v3` estimates it; None for one whose shape does not allow that."""
    shape = page_shape(html)
    tree = parse_html(html) if shape.may_judge and shape.may_nest else None
    return None if tree is None else _Page(html, tree, shape)


def _first_good(page: _Page, tools: tuple[str, ...]) -> ToolOutput:
    main = _Main(page, tools)
    texts: dict[str, str] = {}
    for tool in tools:
        if tool == PLAIN and any(_n_bytes(text) >= MIN_BYTES for text in texts.values()):
            break
        texts[tool] = clean_text(page.raw_of(tool))
        # A short page may really be short: it counts as longer only if the main content is.
        long_enough = _n_bytes(texts[tool]) >= MIN_BYTES or (tool == FULL and page.shape.may_nest)
        if texts[tool] and tool != MAIN and long_enough and main.is_met(texts[tool]):
            return page.answer(texts[tool], tool)
    best = _best(texts, main)
    return page.answer(texts[best], best)


def _best(texts: dict[str, str], main: _Main) -> str:
    """Main content over a text that has less than half of it; all text only where no tool found the page's length."""
    for tool in (MAIN, FULL, FAST):
        if _n_bytes(texts.get(tool, "")) >= MIN_BYTES:
            return tool
    for tool in (FULL, FAST, MAIN) if main.n_chars else ():
        if texts.get(tool) and main.is_met(texts[tool]):
            return tool
    return max(texts, key=lambda name: len(texts[name]))
