"""The settings of a build: build.toml as dataclasses, the paper's profile as defaults."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from builder.clock import parse_instant
from edu_rag import __version__
from edu_rag.errors import ConfigError, FaultsError, RecordError
from edu_rag.toml import read_toml
from edu_rag.typed import faults_and_record, to_plain

DEFAULT_EXTRACTOR = "trafilatura-v1"
USER_AGENT = f"edu-rag-bench/{__version__} (builds a question-answering benchmark; obeys robots.txt)"
_NAME = r"^[a-z0-9][a-z0-9-]{1,39}\Z"
_VERSION = r"^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\Z"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchConfig:
    """[fetch]: limits of one download; the defaults are the paper's profile (EDU-RAG section 3: 5 s, 0.5 KB)."""

    timeout_s: Deadline = 5.0
    max_bytes: Annotated[int, Meta(ge=1_000, le=100_000_000)] = 5_000_000
    max_redirects: Annotated[int, Meta(ge=0, le=20)] = 5
    min_bytes: Annotated[int, Meta(ge=0, le=1_000_000)] = 512
    user_agent: Annotated[str, Meta(min_length=3, max_length=300)] = USER_AGENT
    workers: Annotated[int, Meta(ge=1, le=512)] = 32
    per_host: Annotated[int, Meta(ge=1, le=16)] = 2
    delay_s: Seconds = 0.0

    def __post_init__(self) -> None:
        if not (self.user_agent.isascii() and self.user_agent.isprintable()):
            raise RecordError("user_agent", "must be printable ASCII: it is sent as a header")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractConfig:
    """[extract]: which extractor turns HTML into clean text."""

    extractor: str = DEFAULT_EXTRACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildConfig:
    """All of build.toml. Invariants: every value is in its range; name and version suit a manifest."""

    name: Annotated[str, Meta(pattern=_NAME)] = "edu-rag"
    version: Annotated[str, Meta(pattern=_VERSION)] = "1.0.0"
    clock: str | None = None
    search: SearchConfig = field(default_factory=SearchConfig)
    fetch: FetchConfig = field(default_factory=FetchConfig)
    extract: ExtractConfig = field(default_factory=ExtractConfig)

    def __post_init__(self) -> None:
        if self.clock is not None:
            try:
                parse_instant(self.clock)
            except ValueError as error:
                raise RecordError("clock", str(error)) from None


def to_config(values: Any, where: object) -> BuildConfig:
    """Settings from plain values. Raises FaultsError with every fault, each named `where: field`."""
    faults, config = faults_and_record(values, BuildConfig)
    if config is None:
        raise FaultsError([ConfigError(f"{where}: {fault.where}", fault.what, fault.remedy) for fault in faults])
    return config


def _merge(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for key, change in changes.items():
        merged[key] = _merge(merged.get(key, {}), change) if isinstance(change, Mapping) else change
    return merged


def read_config(path: Path | None, changes: Mapping[str, Any]) -> BuildConfig:
    """build.toml (or the defaults), with the command line's changes laid over it, validated as one.

    A relative `sites` folder in the file is taken from the file's own folder.
    """
    config = read_toml(path, BuildConfig) if path is not None else BuildConfig()
    values = to_plain(config)
    if path is not None:
        values["search"]["folder"]["sites"] = str(path.parent / config.search.folder.sites)
    # The file is sound by itself: whatever is wrong now came from the options.
    return to_config(_merge(values, changes), "command line")


def _digest(values: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def crawl_settings(config: BuildConfig) -> dict[str, Any]:
    """The settings that decide what searching and fetching bring home; a store is made with one set of them.

    The user agent carries our version: it is left out, so that an upgrade does not end a half-done crawl.
    """
    engine = config.search.engine
    chosen: dict[str, Any] = {}
    if engine == "folder":
        chosen = {"hosts": dict(config.search.folder.hosts)}
    elif engine == "google":
        chosen = {"base_url": config.search.google.base_url, "language": config.search.google.language}
    fetch = to_plain(config.fetch)
    for name in ("workers", "per_host", "delay_s", "min_bytes", "user_agent"):
        del fetch[name]
    return {"engine": engine, "top": config.search.top, "settings": chosen, "fetch": fetch}


def config_sha256(config: BuildConfig) -> str:
    """SHA-256 over all effective settings that can change the dataset: no worker counts, pauses or paths."""
    return _digest(
        crawl_settings(config)
        | {"clock": config.clock, "min_bytes": config.fetch.min_bytes, "extractor": config.extract.extractor}
        | {"user_agent": config.fetch.user_agent}
    )
