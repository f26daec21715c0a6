"""[extract], [filter] and [label] of build.toml: how a stored response becomes a page, or is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

DEFAULT_EXTRACTOR = "cascade-v1"
Host = Annotated[str, Meta(pattern=r"^[a-z0-9.-]{1,253}\Z")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractConfig:
    """[extract]: which extractor turns HTML into clean text."""

    extractor: str = DEFAULT_EXTRACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterConfig:
    """[filter]: which pages are dropped, each with its reason. Every rule can be turned off.

    `min_bytes` of clean text: the paper's 0.5 KB (EDU-RAG section 3.2). `languages` empty keeps every language.
    `near_duplicate` is the Jaccard similarity of word 5-grams from which a page repeats a better-ranked one of the
    same question; 0 keeps them all.
    """

    min_bytes: Annotated[int, Meta(ge=0, le=1_000_000)] = 512
    languages: tuple[Annotated[str, Meta(pattern=r"^[a-z]{2,3}\Z")], ...] = ("en",)
    error_pages: bool = True
    walls: bool = True
    duplicates: bool = True
    near_duplicate: Annotated[float, Meta(ge=0, le=1)] = 0.8
    blocked_hosts: tuple[Host, ...] = ()
    leaks: Literal["keep", "mask", "drop"] = "keep"
    """A page that holds a question of the dataset is kept, kept with blanks in place of the question, or dropped."""
    reserved_rights: bool = False
    """Drop pages whose owner reserves text and data mining (TDMRep, noai, Content-Usage)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelConfig:
    """[label]: which labels are put on pages, and the evidence methods."""

    mask_pii: bool = True
    leaks: bool = True
    evidence: tuple[str, ...] = ("answer-string-v1",)
    evidence_model: str = "all-MiniLM-L6-v2"
    """The sentence-transformers model of `embedding-v1`: a name, or a local folder."""
    marks: str | None = None
    """A file with evidence that was marked by hand (`marked-v1`)."""
