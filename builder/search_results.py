"""A search engine's answer to one query: its state, its URLs, and its responses as they arrived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

State = Literal["hits", "none", "rate_limited", "blocked", "failed"]
ANSWERED: tuple[State, ...] = ("hits", "none")
"""States after which a question needs no asking again; an engine that refused has not said "no results"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """One response of an engine as it came: kept, so that a reading can be checked and redone."""

    url: str
    status: int
    body: bytes
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """An engine's answer to one query. `urls` are in rank order and empty unless the state is `hits`.

    `searched_at` is set if the engine answered at an earlier time: in a recording.
    """

    state: State
    urls: tuple[str, ...] = ()
    reason: str = ""
    retry_after_s: float | None = None
    raw: tuple[RawResponse, ...] = ()
    searched_at: datetime | None = None
