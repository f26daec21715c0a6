"""[search] of build.toml: which engines are asked, how many results, and how politely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from edu_rag.errors import RecordError

Seconds = Annotated[float, Meta(ge=0, le=3600)]
Deadline = Annotated[float, Meta(gt=0, le=600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderConfig:
    """[search.folder]: where the web sites lie, and the host names of those folders that do not carry them."""

    sites: str = "sites"
    hosts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleConfig:
    """[search.google]: how politely to ask, and when to give up. `base_url` is there for proxies and tests."""

    base_url: str = "https://www.google.com"
    language: Annotated[str, Meta(pattern=r"^[a-z]{2}(-[A-Za-z]{2,4})?\Z")] = "en"
    timeout_s: Deadline = 10.0
    pause_s: Seconds = 5.0
    retries: Annotated[int, Meta(ge=0, le=10)] = 3
    max_wait_s: Seconds = 600.0

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("https://", "http://")):
            raise RecordError("base_url", f"{self.base_url!r} does not start with https:// or http://")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """[search]: the engine and how many results it is asked for (the paper: Google, top 10)."""

    engine: str = "folder"
    top: Annotated[int, Meta(ge=1, le=100)] = 10
    folder: FolderConfig = field(default_factory=FolderConfig)
    google: GoogleConfig = field(default_factory=GoogleConfig)
