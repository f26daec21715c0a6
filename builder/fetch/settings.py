"""[fetch] of build.toml: the limits and the manners of downloads; the defaults are the paper's profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from edu_rag import __version__
from edu_rag.errors import RecordError

USER_AGENT = f"edu-rag-bench/{__version__} (builds a question-answering benchmark; obeys robots.txt)"

Seconds = Annotated[float, Meta(ge=0, le=3600)]
Deadline = Annotated[float, Meta(gt=0, le=600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchConfig:
    """[fetch]: limits of one download; the defaults are the paper's profile (EDU-RAG section 3: 5 s)."""

    timeout_s: Deadline = 5.0
    max_bytes: Annotated[int, Meta(ge=1_000, le=100_000_000)] = 5_000_000
    max_redirects: Annotated[int, Meta(ge=0, le=20)] = 5
    user_agent: Annotated[str, Meta(min_length=3, max_length=300)] = USER_AGENT
    workers: Annotated[int, Meta(ge=1, le=512)] = 32
    per_host: Annotated[int, Meta(ge=1, le=16)] = 2
    delay_s: Seconds = 0.0

    def __post_init__(self) -> None:
        if not (self.user_agent.isascii() and self.user_agent.isprintable()):
            raise RecordError("user_agent", "must be printable ASCII: it is sent as a header")
