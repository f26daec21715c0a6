"""[search] of build.toml: which engines are asked, how many results, and how politely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from edu_rag.errors import RecordError

Seconds = Annotated[float, Meta(ge=0, le=3600)]
Deadline = Annotated[float, Meta(gt=0, le=600)]
Language = Annotated[str, Meta(pattern=r"^[a-z]{2}(-[A-Za-z]{2,4})?\Z")]

KeyVariable = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z")]
MONTH = r"^20\d\d-(0[1-9]|1[0-2])\Z"

NO_ENGINE = "none"
_OFFLINE_ENGINES = frozenset({"folder", "zim", "crag", NO_ENGINE})
"""Engines that need no network at all, neither for searching nor for fetching their hits. `recorded` is not one:
the pages that it lists are fetched from the web of today."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def engines_of(name: str) -> tuple[str, ...]:
    """The engines of a chain's name: `brave,searxng` are two; `none` is not an engine."""
    return tuple(part.strip() for part in name.split(",") if part.strip() not in ("", NO_ENGINE))


def is_offline(name: str) -> bool:
    """Whether every engine of a chain answers and serves from files."""
    return _OFFLINE_ENGINES.issuperset(name.split(","))


def check_base_url(url: str) -> None:
    """Raise RecordError unless the text is an address that may be in a public manifest."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise RecordError("base_url", f"{url[:200]!r} is not an address: {error}") from None
    if parts.scheme not in ("https", "http") or not host:
        raise RecordError("base_url", f"{url[:200]!r} does not start with https:// or http:// and a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        # It is in the manifest, which is public.
        raise RecordError("base_url", "may not hold a user name, a query or a fragment")


def _check_key_travels_safely(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise RecordError("base_url", "the key may travel over https:// only")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebEngineConfig:
    """Settings of every web engine: how long one answer may take, how patiently the engine is asked, and what it costs.

    `pause_s` is the time between the starts of two requests, `at_once` how many may wait for their answers together.
    `retries`: how often a limited engine is waited for (a question); each wait is what it asks for, or 30, 60, 120 …
    seconds. A longer one than `max_wait_s` ends the search. `max_wait_s` also limits the total wait during an outage. The
    figures of the last five lines are for `--dry-run` alone: a typical answer's seconds, the price, the free requests,
    and the month in which somebody looked them up.
    """

    timeout_s: Deadline = 10.0
    pause_s: Seconds = 1.0
    at_once: Annotated[int, Meta(ge=1, le=32)] = 1
    retries: Annotated[int, Meta(ge=0, le=10)] = 3
    max_wait_s: Seconds = 600.0
    answer_s: Seconds = 1.0
    usd_per_1000: Annotated[float, Meta(ge=0, le=1_000)] = 0.0
    free_requests: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    free_period: Literal["once", "month", "day"] = "month"
    figures_from: Annotated[str, Meta(pattern=MONTH)] = "2026-11"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderConfig:
    """[search.folder]: the paths of the web sites and the WARC files, and the host names of folders that are not named
    after one.

    `sites` is `sites` where neither it nor `warcs` is given. `warcs` are WARC files, or folders that hold some.
    """

    sites: str | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    warcs: tuple[str, ...] = ()

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {"hosts": dict(self.hosts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZimConfig:
    """[search.zim]: ZIM files with a full-text index, and the host names (by file name) that they are served under."""

    files: tuple[str, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {"hosts": dict(self.hosts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleConfig(WebEngineConfig):
    """[search.google]: how politely to ask, and when to give up. `base_url` is for proxies and tests."""

    base_url: str = "https://www.google.com"
    language: Language = "en"
    pause_s: Seconds = 5.0
    at_once: Annotated[int, Meta(ge=1, le=1)] = 1
    """googlesearch-python asks one question at a time."""

    def __post_init__(self) -> None:
        check_base_url(self.base_url)

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {"base_url": self.base_url, "language": self.language}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearxngConfig(WebEngineConfig):
    """[search.searxng]: your own instance, with `json` among the formats of its settings.yml.

    `base_url` must be given: there is no public instance for programs. `backends` are the engines that SearXNG itself
    asks (its `engines` parameter); empty: those of its settings.
    """

    base_url: str = ""
    language: Annotated[str, Meta(pattern=r"^(all|auto|[a-z]{2,3}(-[A-Za-z]{2,4})?)\Z")] = "en"
    categories: tuple[Annotated[str, Meta(min_length=1, max_length=60)], ...] = ("general",)
    backends: tuple[Annotated[str, Meta(min_length=1, max_length=60)], ...] = ()

    def __post_init__(self) -> None:
        if self.base_url:
            check_base_url(self.base_url)

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        lists = {"categories": list(self.categories), "backends": list(self.backends)}
        return {"base_url": self.base_url, "language": self.language} | lists


@dataclass(frozen=True, slots=True, kw_only=True)
class BraveConfig(WebEngineConfig):
    """[search.brave]: the Brave Search API. The key itself is read from the environment variable `key_variable`."""

    base_url: str = "https://api.search.brave.com"
    key_variable: KeyVariable = "BRAVE_API_KEY"
    country: Annotated[str, Meta(pattern=r"^([A-Z]{2}|ALL)\Z")] = "US"
    language: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[a-z]{2,4})?\Z")] = "en"
    safesearch: Literal["off", "moderate", "strict"] = "moderate"
    usd_per_1000: Annotated[float, Meta(ge=0, le=1_000)] = 5.0
    figures_from: Annotated[str, Meta(pattern=MONTH)] = "2026-05"

    def __post_init__(self) -> None:
        check_base_url(self.base_url)
        _check_key_travels_safely(self.base_url)

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {
            "base_url": self.base_url,
            "country": self.country,
            "language": self.language,
            "safesearch": self.safesearch,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SerperConfig(WebEngineConfig):
    """[search.serper]: Google's results through Serper's API. The key is read from the variable `key_variable`.

    Its smallest package allows 50 requests a second; the defaults stay well below.
    """

    base_url: str = "https://google.serper.dev"
    key_variable: KeyVariable = "SERPER_API_KEY"
    country: Annotated[str, Meta(pattern=r"^[a-z]{2}\Z")] = "us"
    language: Language = "en"
    pause_s: Seconds = 0.2
    at_once: Annotated[int, Meta(ge=1, le=32)] = 4
    usd_per_1000: Annotated[float, Meta(ge=0, le=1_000)] = 1.0
    free_requests: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 2_500
    free_period: Literal["once", "month", "day"] = "once"
    figures_from: Annotated[str, Meta(pattern=MONTH)] = "2026-08"

    def __post_init__(self) -> None:
        check_base_url(self.base_url)
        _check_key_travels_safely(self.base_url)

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {"base_url": self.base_url, "country": self.country, "language": self.language}


@dataclass(frozen=True, slots=True, kw_only=True)
class DdgsConfig(WebEngineConfig):
    """[search.ddgs]: the library ddgs, which asks the web pages of several search engines, `backends`, in this order.

    `control_query` is asked after an empty answer: if it finds nothing either, the engine is limited.
    """

    backends: tuple[Annotated[str, Meta(min_length=1, max_length=60)], ...] = (
        "duckduckgo",
        "brave",
        "mojeek",
        "startpage",
        "yahoo",
    )
    region: Annotated[str, Meta(pattern=r"^[a-z]{2}-[a-z]{2}\Z")] = "us-en"
    safesearch: Literal["on", "moderate", "off"] = "moderate"
    control_query: Annotated[str, Meta(min_length=2, max_length=100)] = "water"
    pause_s: Seconds = 3.0
    at_once: Annotated[int, Meta(ge=1, le=1)] = 1
    answer_s: Seconds = 2.0

    def __post_init__(self) -> None:
        if not self.backends:
            raise RecordError("backends", "is empty", "name at least one back end of ddgs")

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {"backends": list(self.backends), "region": self.region, "safesearch": self.safesearch}


@dataclass(frozen=True, slots=True, kw_only=True)
class WikipediaConfig(WebEngineConfig):
    """[search.wikipedia]: the search of a MediaWiki, at its api.php. `match` says how many of the words must be there.

    MediaWiki wants every word of a query on the page; with `any` the question's telling words are joined by OR.
    """

    base_url: str = "https://en.wikipedia.org/w/api.php"
    match: Literal["any", "all"] = "any"

    def __post_init__(self) -> None:
        check_base_url(self.base_url)

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results."""
        return {"base_url": self.base_url, "match": self.match}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedConfig:
    """[search.recorded]: stored result pages instead of asking: a crawl store and its engine, or a JSONL file.

    A line of the file is {"query": …, "urls": […]}; an empty list says that the engine had no results.
    """

    store: str | None = None
    engine: str | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None and (self.store is not None or self.engine is not None):
            raise RecordError("file", "cannot be combined with store and engine; give the file, or store and engine")
        if (self.store is None) != (self.engine is None):
            raise RecordError("store", "store and engine belong together; give both")

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results; the recording's content is hashed in the engine's source."""
        return {"engine": self.engine}


@dataclass(frozen=True, slots=True, kw_only=True)
class CragConfig:
    """[search.crag]: CRAG's own files (`.jsonl.bz2`, `.jsonl`); on the command line they are the question files."""

    files: tuple[str, ...] = ()

    def of_results(self) -> dict[str, Any]:
        """The settings that change the results: none; the files are hashed in the engine's source."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """[search]: the engine, or a chain of them, and how many results are asked for.

    Invariants: `engine` names the chain (`brave,searxng`), whether `engine` or `engines` was given; no engine is in it
    twice; `none` stands alone. Chains are combined by `fallback` or `fuse`: see builder.search.combine.
    """

    engine: str = "folder"
    engines: tuple[str, ...] = ()
    combine: Literal["fallback", "fuse"] = "fallback"
    top: Annotated[int, Meta(ge=1, le=100)] = 10
    folder: FolderConfig = field(default_factory=FolderConfig)
    zim: ZimConfig = field(default_factory=ZimConfig)
    google: GoogleConfig = field(default_factory=GoogleConfig)
    searxng: SearxngConfig = field(default_factory=SearxngConfig)
    brave: BraveConfig = field(default_factory=BraveConfig)
    wikipedia: WikipediaConfig = field(default_factory=WikipediaConfig)
    serper: SerperConfig = field(default_factory=SerperConfig)
    ddgs: DdgsConfig = field(default_factory=DdgsConfig)
    recorded: RecordedConfig = field(default_factory=RecordedConfig)
    crag: CragConfig = field(default_factory=CragConfig)
    adapters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """[search.adapters.NAME]: the settings of engines that other packages bring; see builder.search.adapters."""

    def __post_init__(self) -> None:
        given = self.engines or tuple(part.strip() for part in self.engine.split(","))
        name = ",".join(given)
        if self.engines and self.engine not in ("folder", name):
            raise RecordError("engines", f"cannot be combined with engine = {self.engine!r}; give one of the two")
        if any("," in part or not part for part in given):
            raise RecordError("engines" if self.engines else "engine", f"{name[:200]!r} is not a list of engines")
        if len(set(given)) < len(given):
            raise RecordError("engines" if self.engines else "engine", f"{name[:200]!r} names an engine twice")
        if NO_ENGINE in given and len(given) > 1:
            raise RecordError("engine", f"{NO_ENGINE!r} cannot be combined with others: it asks no engine")
        object.__setattr__(self, "engine", name)  # one name of the chain, however it was given

    @property
    def chain(self) -> tuple[str, ...]:
        """The engines in their order; empty for `none`."""
        return engines_of(self.engine)

    def of_results(self) -> dict[str, Any]:
        """The engines' settings that change the results: flat for one engine, by engine for a chain."""
        chosen = {name: getattr(self, name).of_results() for name in self.chain if name in SECTIONS}
        chosen |= {name: _of_added_results(self.adapters[name]) for name in self.chain if name in self.adapters}
        if len(self.chain) == 1:
            return dict(chosen.get(self.chain[0], {}))
        return chosen | {"combine": self.combine} if self.chain else {}

    def web_settings(self, engine: str) -> WebEngineConfig | None:
        """An engine's manners; None for one that answers from files."""
        if engine in self.adapters:
            given = self.adapters[engine]
            return WebEngineConfig(**{name: given[name] for name in MANNERS if name in given})
        section = getattr(self, engine) if engine in SECTIONS else None
        return section if isinstance(section, WebEngineConfig) else None


SECTIONS = ("folder", "zim", "google", "searxng", "brave", "wikipedia", "serper", "ddgs", "recorded", "crag")
MANNERS = tuple(one.name for one in fields(WebEngineConfig))
"""Settings of how, not of what: they change no result."""


def _of_added_results(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an added engine that change the results: all but its manners and the names of variables."""
    kept = ((name, value) for name, value in settings.items() if name not in MANNERS)
    return {name: value for name, value in kept if not name.endswith("_variable")}


def resolve_paths(search: dict[str, Any], folder: Path) -> None:
    """Take the relative paths of a [search] tree from the settings file's own folder, in place."""

    def resolved(path: str | None) -> str | None:
        return None if path is None else str(folder / path)

    places = search["folder"]
    if places["sites"] is not None or not places["warcs"]:
        places["sites"] = resolved(places["sites"] or "sites")
    places["warcs"] = [resolved(path) for path in places["warcs"]]
    for name in ("zim", "crag"):
        search[name]["files"] = [resolved(path) for path in search[name]["files"]]
    for name in ("store", "file"):
        search["recorded"][name] = resolved(search["recorded"][name])


def forget_paths(search: dict[str, Any]) -> None:
    """Take the paths out of a [search] tree, in place: a path of this machine says nothing to a replay."""
    search["folder"] |= {"sites": None, "warcs": []}
    search["zim"]["files"] = []
    search["crag"]["files"] = []
    for name in ("store", "file"):
        if search["recorded"][name] is not None:
            search["recorded"][name] = ""
