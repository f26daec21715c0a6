"""Turn a page's bytes into its clean text and the facts that its markup states; a killable worker runs it per page."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import msgspec

from builder.extract import extraction_tools as extract_tools
from builder.extract.cascade import FAST, FULL, MAIN, PLAIN, cascade_v1, cascade_v2, cascade_v3, cascade_v4, raw_text
from builder.extract.extraction_tools import PageShape, ToolOutput, page_shape, refused, without_long_scripts
from builder.extract.page_text import clean_text, page_title, parse_html
from builder.labels.hidden_text import hidden_text_of
from edu_rag.errors import ConfigError, MissingExtraError


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The clean text of a page, and its stated facts: title, language of its text (ISO 639), licence, author.

    `tool` is which tool of the extractor answered, `raised` those that raised before it; `hidden` the text that the
    markup hides from readers.
    """

    title: str
    text: str
    language: str | None
    license: str | None
    author: str | None = None
    tool: str = ""
    hidden: str = ""
    raised: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionFailure:
    """Why a page gave no text.

    too_large, too_many_tags, too_many_attributes, empty, timeout, memory, crash, or `error NAME` (the exception's).
    """

    reason: str


Outcome = Extracted | ExtractionFailure


def packed(outcome: Outcome) -> bytes:
    """An extraction's outcome as bytes."""
    kinds = (outcome, None) if isinstance(outcome, Extracted) else (None, outcome)
    return zlib.compress(msgspec.msgpack.encode(kinds), 1)


MAX_PACKED_BYTES = 64 << 20
"""Bytes that a stored result may have when it is inflated: far more than any page has."""


def unpacked(value: bytes) -> Outcome:
    """The inverse of `packed`. Raises zlib.error, msgspec.MsgspecError or ValueError on other bytes."""
    found, failure = msgspec.msgpack.decode(
        zlib.decompressobj().decompress(value, MAX_PACKED_BYTES), type=tuple[Extracted | None, ExtractionFailure | None]
    )
    outcome = found or failure
    if outcome is None:
        raise ValueError("holds no outcome")
    return outcome


class Extractor(Protocol):
    """Extracts a page's clean text and names the tool used; `tree` is None for a page that must not be parsed."""

    def __call__(self, html: str, tree: Any, shape: PageShape, skip: tuple[str, ...]) -> ToolOutput:
        """Extract. The tree may be changed; `skip` are tools that have failed on this page."""


def _single(tool: str, text_of: Callable[[str, Any], str]) -> Extractor:
    """An extractor of one tool, which needs a tree."""

    def extract(html: str, tree: Any, shape: PageShape, skip: tuple[str, ...]) -> ToolOutput:
        return ToolOutput("" if tree is None else clean_text(text_of(html, tree)), tool)

    return extract


def _trafilatura_v1(html: str, tree: Any) -> str:
    from builder.extract.prepass import apply_prepass

    apply_prepass(tree)
    return extract_tools.trafilatura_full(tree)


def _resiliparse_v1(html: str, tree: Any) -> str:
    from builder.extract.prepass import apply_prepass

    apply_prepass(tree)
    return extract_tools.resiliparse_main(extract_tools.html_of(tree))


EXTRACTORS: Mapping[str, Extractor] = {
    "cascade-v1": cascade_v1,
    "cascade-v2": cascade_v2,
    "cascade-v3": cascade_v3,
    "cascade-v4": cascade_v4,
    "trafilatura-v1": _single("trafilatura", _trafilatura_v1),
    "resiliparse-v1": _single("resiliparse", _resiliparse_v1),
    "newspaper3k-v1": _single("newspaper3k", lambda html, tree: extract_tools.newspaper3k_text(html)),
    "bs4-v1": _single("bs4", lambda html, tree: extract_tools.bs4_text(html)),
}
"""The named, versioned extractors of build.toml."""
CASCADES = frozenset({"cascade-v1", "cascade-v2", "cascade-v3", "cascade-v4"})
SHRINKING = frozenset({"cascade-v3", "cascade-v4"})
"""These read a page that only its scripts make too large; the older names keep their fate for it."""


def extract_page(body: bytes, charset: str | None, extractor: str, skip: tuple[str, ...] = ()) -> Outcome:
    """Extract one page in this process, as a worker does. Raises the parsers' own errors.

    `skip` names tools that have failed on this page before; see `skip_after`.
    """
    from builder.extract.decode import decode
    from builder.extract.page_facts import page_facts
    from builder.labels.language import language_of

    body = without_long_scripts(body) if extractor in SHRINKING else body
    reason = refused(body)
    if reason is not None:
        return ExtractionFailure(reason=reason)
    html = decode(body, charset)
    shape = page_shape(html)
    tree = parse_html(html) if shape.may_parse and "tree" not in skip else None
    # The facts first: extractors change the tree.
    title, licence, author, hidden = "", None, None, ""
    if tree is not None:
        title, hidden = page_title(tree), hidden_text_of(tree)
        licence, author = page_facts(tree)
    found = EXTRACTORS[extractor](html, tree, shape, skip)
    if not found.text:
        return ExtractionFailure(reason="empty" if shape.may_parse else "too_many_attributes")
    return Extracted(
        title=title,
        text=found.text,
        language=language_of(found.text),
        license=licence,
        author=author,
        tool=found.tool,
        hidden=hidden,
        raised=found.raised,
    )


def skip_after(extractor: str, skip: tuple[str, ...], reason: str) -> tuple[str, ...] | None:
    """The tools to leave out when a page is tried again after a worker's failure, or None if that cannot help.

    `reason` is a WorkFailure's. Only a cascade has other tools to try.
    """
    if extractor not in CASCADES or reason.startswith("error"):
        return None
    if not skip:
        return (FAST, FULL)
    return (*skip, MAIN, "tree") if MAIN not in skip else None


def check_extractor(extractor: str) -> None:
    """Raise ConfigError for an extractor that does not exist, before anything is fetched for it."""
    if extractor not in EXTRACTORS:
        raise ConfigError("extractor", f"unknown extractor {extractor!r}", f"known are {', '.join(EXTRACTORS)}")


_SAID = "Green plants make sugar from light, water and carbon dioxide"
_MORE = "".join(f"<p>Fact {n}: {_SAID}. The gas that they give off is oxygen, as fact {n} says.</p>" for n in range(8))
SAMPLE = f"<html><head><title>Plants</title></head><body><article>{_MORE}</article></body></html>"
"""An honest page, in which every tool finds the text."""


def check_tools(extractor: str) -> None:
    """See on an honest page that each tool of an extractor works: on a page of the web its error would pass unseen.

    Raises MissingExtraError that names the tool.
    """
    if extractor in CASCADES:
        for tool in (FAST, FULL, MAIN, PLAIN):
            _check_tool(extractor, tool, partial(raw_text, tool))
    else:
        _check_tool(extractor, extractor.removesuffix("-v1"), partial(_single_text, extractor))


def _single_text(extractor: str, html: str) -> str:
    return EXTRACTORS[extractor](html, parse_html(html), page_shape(html), ()).text


def _check_tool(extractor: str, tool: str, text_of: Callable[[str], str]) -> None:
    try:
        fault = "" if _SAID in text_of(SAMPLE) else "finds no text on a page that has some"
    except ImportError as error:
        fault = f"cannot start ({error})"
    except Exception as error:  # a broken library may raise anything
        fault = f"does not work ({type(error).__name__}: {error})"
    if fault:
        remedy = "pip install --force-reinstall 'edu-rag-bench[build]'"
        raise MissingExtraError(f"extractor {extractor}", f"its tool {tool} {fault}", remedy)
