"""The records that every part shares: questions, hits, pages, evidence. A record that exists is valid."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from edu_rag.errors import RecordError
from edu_rag.names import is_split

Kind = Literal["multiple_choice", "true_false", "matching", "free_text"]
KINDS: tuple[Kind, ...] = ("multiple_choice", "true_false", "matching", "free_text")
LABELS = "abcdefghijklmnopqrstuvwxyz"
_FIRST_LABELS = {n: tuple(LABELS[:n]) for n in range(len(LABELS) + 1)}
QUESTION_FLAGS = ("meta_choice", "duplicate_choices", "truncated", "context_bound", "duplicate_question")
PAGE_FLAGS = (
    "leak_question",
    "leak_key",
    "hidden_text",
    "injection",
    "pii_masked",
    "short",
    "not_english",
    "unfit",
)
HIT_OUTCOMES = (
    "kept",
    "robots",
    "refused_address",
    "timeout",
    "http_error",
    "redirect_loop",
    "too_large",
    "not_html",
    "connection",
    "dns",
    "robots_unreachable",
    "blocked_host",
    "taken_down",
    "reserved_rights",
    "extraction_failed",
    "error_page",
    "login_wall",
    "consent_wall",
    "short",
    "language",
    "unfit",
    "duplicate",
    "near_duplicate",
    "leak",
)
"""The fate of a hit: `kept`, or the reason why its page is not in the dataset."""
HTTP_DETAILS = (
    *("400", "401", "403", "404", "406", "408", "410", "425", "429", "451", "500", "502", "503", "504"),
    *("3xx", "4xx", "5xx"),
)
HIT_DETAILS = (
    "",
    *HTTP_DETAILS,
    "host_given_up",
    "no_such_name",
    "name_server_failed",
    "name_server_silent",
    "no_network",
    "refused",
    "tls",
    "proxy",
    "closed",
    "cut",
    "no_answer",
    "too_slow",
    "inside",
    "port",
    "scheme",
    "too_long",
    "user_name",
    "comes_back",
    "too_many",
    "other",
)
"""The cause of a hit's outcome, where the outcome leaves it open."""

LEAK_KINDS = ("leak_question", "leak_key")
HOME_PAGE = "home-page-v1"
"""The evidence method for the page that a question was taken from. Its span is the whole page, so it says nothing about
sentences: it counts for retrieval of pages only."""

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_PAGE_ID = re.compile(r"p[0-9a-f]{16}\Z")


class Span(NamedTuple):
    """A half-open range of characters: `text[start:end]`."""

    start: int
    end: int


def page_id_of(canonical_url: str) -> str:
    """The id of the page at this canonical URL: `p` and 16 hexadecimal digits."""
    return "p" + hashlib.sha256(canonical_url.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_page_id(value: str) -> bool:
    """Whether this is a page id in form."""
    return _PAGE_ID.match(value) is not None


def _require(holds: bool, field: str, fault: str, *parts: object) -> None:
    # `parts` fill the fault's braces: to put words together for each of a million sound records costs more than checks.
    if not holds:
        raise RecordError(field, fault.format(*parts))


def _require_id(value: str) -> None:
    if value and len(value) <= 200 and value.isprintable() and not value.isspace():
        return
    _require(bool(value.strip()), "question_id", "is blank")
    _require(len(value) <= 200, "question_id", "has {} characters, at most 200 are allowed", len(value))
    _require(value.isprintable(), "question_id", "holds characters that cannot be printed")


@lru_cache(maxsize=64)
def _require_split(value: str) -> None:
    _require(is_split(value), "split", "{!r} is not a name like 'val'", value)
    _require(value != "all", "split", "'all' means every split to `datasets`, which could not load it")


def _require_flags(flags: Iterable[str], known: tuple[str, ...]) -> None:
    for flag in flags:
        if flag not in known:
            raise RecordError("flags", f"unknown flag {flag!r}; known are {', '.join(known)}")


def _require_utc(value: datetime, field: str) -> None:
    _require(value.utcoffset() == timedelta(0), field, "is not a UTC time")


def _require_span(start: int, end: int, length: int | None = None) -> None:
    _require(0 <= start < end, "start", "span {}..{} is empty or negative", start, end)
    if length is not None:
        _require(end <= length, "end", "span {}..{} leaves the text of {} characters", start, end, length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question as systems may see it. It holds no answer.

    Invariants: text not blank; labels are a, b, c … in order; two or more choices unless `free_text`, which has none.
    """

    question_id: str
    text: str
    choices: Mapping[str, str]
    kind: Kind
    split: str
    lesson: str | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Conditions of our own, not calls of _require, which took half the time of reading a dataset's questions.
        _require_id(self.question_id)
        if not self.text or self.text.isspace():
            raise RecordError("text", "is blank")
        if self.kind not in KINDS:
            raise RecordError("kind", f"unknown kind {self.kind!r}")
        _require_split(self.split)
        labels = tuple(self.choices)
        if labels != _FIRST_LABELS.get(len(labels)):
            raise RecordError("choices", f"labels are {labels}, not a, b, c … in order")
        if self.kind == "free_text":
            _require(not labels, "choices", "a free_text question has no choices")
        elif len(labels) < 2:
            raise RecordError("choices", f"{len(labels)} choice(s), at least 2 are needed")
        if self.flags:
            _require_flags(self.flags, QUESTION_FLAGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One result that an engine returned for a question, with its fate.

    Invariants: rank >= 1; outcome is one of HIT_OUTCOMES, detail one of HIT_DETAILS; there is a page_id exactly when
    the hit was kept.
    """

    question_id: str
    page_id: str | None
    url: str
    rank: int
    engine: str
    query: str
    searched_at: datetime
    outcome: str
    detail: str = ""

    def __post_init__(self) -> None:
        _require_id(self.question_id)
        _require(self.rank >= 1, "rank", "{} is below 1", self.rank)
        _require(bool(self.url), "url", "is empty")
        _require(self.outcome in HIT_OUTCOMES, "outcome", "unknown outcome {!r}", self.outcome)
        _require(self.detail in HIT_DETAILS, "detail", "unknown detail {!r}", self.detail)
        _require((self.page_id is not None) == (self.outcome == "kept"), "page_id", "belongs to kept hits only")
        _require_utc(self.searched_at, "searched_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """The clean text of one fetched page.

    Invariants: page_id is `page_id_of(url)`; sentences are ordered, do not overlap and are inside the text.
    """

    page_id: str
    url: str
    title: str
    text: str
    sentences: tuple[Span, ...]
    fetched_at: datetime
    html_sha256: str
    extractor: str
    language: str | None = None
    license: str | None = None
    author: str | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require(self.page_id == page_id_of(self.url), "page_id", "is not the one that belongs to the URL")
        _require(_SHA256.match(self.html_sha256) is not None, "html_sha256", "is not 64 hexadecimal digits")
        _require(bool(self.extractor), "extractor", "is empty")
        _require_utc(self.fetched_at, "fetched_at")
        _require_flags(self.flags, PAGE_FLAGS)
        last, length = 0, len(self.text)
        for start, end in self.sentences:
            if not last <= start < end <= length:  # a call for each sentence took most of the time of making a page
                _require_span(start, end, length)
                raise RecordError("sentences", f"sentence {start}..{end} overlaps the one before")
            last = end

    def sentence_texts(self) -> list[str]:
        """The sentences, cut from the text."""
        return [self.text[start:end] for start, end in self.sentences]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A span of a page that supports the gold answer, as found by a named, versioned method."""

    question_id: str
    page_id: str
    start: int
    end: int
    method: str

    def __post_init__(self) -> None:
        _require_id(self.question_id)
        _require(is_page_id(self.page_id), "page_id", "{!r} is not a page id", self.page_id)
        _require_span(self.start, self.end)
        _require(bool(self.method), "method", "is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A span of a page that holds a question of the dataset (`leak_question`), or the question with its answer.

    The page may be a hit of any question: a system that searches all pages would find it.
    """

    question_id: str
    page_id: str
    start: int
    end: int
    kind: str

    def __post_init__(self) -> None:
        _require_id(self.question_id)
        _require(is_page_id(self.page_id), "page_id", "{!r} is not a page id", self.page_id)
        _require_span(self.start, self.end)
        _require(self.kind in LEAK_KINDS, "kind", "unknown kind {!r}; known are {}, {}", self.kind, *LEAK_KINDS)
