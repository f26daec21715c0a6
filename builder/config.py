"""The settings of a build: build.toml as dataclasses; see builder.profiles for the EDU-RAG paper's settings."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from builder.clock import parse_instant
from builder.documents.question_terms import QuestionTerms
from builder.fetch.settings import MANNERS, FetchConfig
from builder.lost_hits import MAX_LOST
from builder.profiles import profile_settings
from builder.search.settings import SECTIONS, SearchConfig, engines_of, resolve_paths
from edu_rag.errors import ConfigError, FaultsError, RecordError
from edu_rag.files.toml import read_toml
from edu_rag.files.typed import faults_and_record, to_plain
from edu_rag.names import DATASET_NAME, VERSION

DEFAULT_EXTRACTOR = "cascade-v3"
Host = Annotated[str, Meta(pattern=r"^[a-z0-9.-]{1,253}\Z")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractConfig:
    """[extract]: which extractor turns HTML into clean text."""

    extractor: str = DEFAULT_EXTRACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterConfig:
    """[filter]: which pages are dropped, each with its reason. Every rule can be turned off.

    `min_bytes` of clean text: 0.5 KB, as in the EDU-RAG paper (section 3). `languages` empty keeps every language.
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
    unfit: Literal["keep", "drop"] = "drop"
    """A page with content that is not for minors is kept, with its flag, or dropped."""
    reserved_rights: bool = False
    """Drop pages whose owner reserves text and data mining (TDMRep, noai, Content-Usage)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelConfig:
    """[label]: which labels are put on pages, and the evidence methods."""

    mask_pii: bool = True
    leaks: bool = True
    evidence: tuple[str, ...] = ("answer-string-v1",)
    evidence_model: str = "all-MiniLM-L6-v2"
    """The sentence-transformers model of `evidence-v5` and `embedding-v1`: a name, or a local folder."""
    marks: str | None = None
    """A file with evidence that was marked by hand (`marked-v1`) or by a language model (`evidence-lm-v1`)."""
    vectors: Annotated[str, Meta(min_length=1, max_length=1_000)] | None = None
    """The encoder whose vectors of all sentences and questions the dataset's folder gets; none if it is not given."""


Executor = Literal["none", "local", "ray", "slurm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleConfig:
    """[scale]: `executor` is one of datatrove's, or `none` for the builder's own workers on this machine.

    `tasks` is the number of parts that the pages are cut into; a part that is done is not done again. `partition`,
    `time` and `mem_per_cpu_gb` are Slurm's. `ray_address` is the cluster to join; without one, Ray starts here.
    """

    executor: Executor = "none"
    tasks: Annotated[int, Meta(ge=1, le=100_000)] = 8
    partition: str = "cpu"
    time: Annotated[str, Meta(pattern=r"^(\d{1,3}-)?\d{1,2}:\d{2}:\d{2}\Z")] = "24:00:00"
    mem_per_cpu_gb: Annotated[int, Meta(ge=1, le=512)] = 2
    ray_address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """[build]: `max_lost` is the share of search results that may be lost before the build fails."""

    max_lost: Annotated[float, Meta(ge=0, le=1)] = MAX_LOST


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildConfig:
    """All of build.toml. Invariants: every value is in its range; name and version suit a manifest."""

    name: Annotated[str, Meta(pattern=rf"^{DATASET_NAME}\Z")] = "edu-rag"
    version: Annotated[str, Meta(pattern=rf"^{VERSION}\Z")] = "1.0.0"
    clock: str | None = None
    questions: QuestionTerms = field(default_factory=QuestionTerms)
    build: LimitsConfig = field(default_factory=LimitsConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    fetch: FetchConfig = field(default_factory=FetchConfig)
    extract: ExtractConfig = field(default_factory=ExtractConfig)
    filter: FilterConfig = field(default_factory=FilterConfig)
    label: LabelConfig = field(default_factory=LabelConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)

    def __post_init__(self) -> None:
        if self.filter.leaks != "keep" and not self.label.leaks:
            what = f"{self.filter.leaks!r} needs the labels of leaks"
            raise RecordError("filter.leaks", what, "set [label] leaks = true")
        if self.clock is not None:
            try:
                parse_instant(self.clock)
            except ValueError as error:
                raise RecordError("clock", str(error)) from None


def _with_added_engines(values: Any) -> Any:
    """The values with all settings of engines that other packages bring; only where such an engine is named."""
    search = values.get("search") if isinstance(values, Mapping) else None
    if not isinstance(search, Mapping):
        return values
    named, listed = search.get("engine"), search.get("engines")
    texts = [*(listed if isinstance(listed, list | tuple) else ()), named]
    chain = tuple(name for text in texts if isinstance(text, str) for name in engines_of(text))
    added = search.get("adapters", {})
    if not isinstance(added, Mapping) or not all(isinstance(one, Mapping) for one in added.values()):
        return values  # the fault is reported with the others
    if not added and all(name in SECTIONS for name in chain):
        return values
    from builder.search.adapters import with_all_settings

    return {**values, "search": {**search, "adapters": with_all_settings(added, chain)}}


def to_config(values: Any, where: object) -> BuildConfig:
    """Settings from plain values. Raises FaultsError with every fault, each named `where: field`."""
    faults, config = faults_and_record(_with_added_engines(values), BuildConfig)
    if config is None:
        raise FaultsError([ConfigError(f"{where}: {fault.where}", fault.what, fault.remedy) for fault in faults])
    return config


def _merge(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for key, change in changes.items():
        merged[key] = _merge(merged.get(key, {}), change) if isinstance(change, Mapping) else change
    return merged


def _without_engine(profile: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The profile, less its engine where the file names its own: `engines` and `engine` would contradict each other."""
    if not {"engine", "engines"} & given.get("search", {}).keys():
        return profile
    return {**profile, "search": {name: value for name, value in profile["search"].items() if name != "engine"}}


def read_config(path: Path | None, changes: Mapping[str, Any], profile: str | None = None) -> BuildConfig:
    """build.toml (or the defaults), with the command line's changes laid over it, validated as one.

    A profile comes before the file: the file's own lines win over it. A relative path in the file is taken from the
    file's own folder.
    """
    config = read_toml(path, BuildConfig) if path is not None else BuildConfig()
    values = to_plain(config)
    if profile is not None:
        # The file was just parsed within its bounds; here only what it says itself counts, not the defaults.
        given = tomllib.loads(path.read_text(encoding="utf-8")) if path is not None else {}
        values = _merge(to_plain(BuildConfig()), _without_engine(profile_settings(profile), given))
        values = _merge(values, given)
    if path is not None:
        resolve_paths(values["search"], path.parent)
        if values["label"]["marks"] is not None:
            values["label"]["marks"] = str(path.parent / values["label"]["marks"])
    # The file alone is valid: any fault now comes from the options.
    return to_config(_merge(values, changes), "command line")


def _digest(values: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def crawl_settings(config: BuildConfig) -> dict[str, Any]:
    """The settings that decide what searching and fetching bring home; a store is made with one set of them.

    The user agent carries our version: it is left out, so that an upgrade does not end a half-done crawl.
    """
    fetch = to_plain(config.fetch)
    for name in MANNERS:
        del fetch[name]
    return {
        "engine": config.search.engine,
        "top": config.search.top,
        "settings": config.search.of_results(),
        "fetch": fetch,
    }


def config_sha256(config: BuildConfig) -> str:
    """SHA-256 over all effective settings that can change the dataset: no worker counts, pauses or paths."""
    filters = to_plain(config.filter)
    if config.filter.unfit == "drop":
        del filters["unfit"]  # younger than the first datasets, which have no unfit page: their hashes stay
    return _digest(
        crawl_settings(config)
        | {"clock": config.clock, "extract": to_plain(config.extract), "filter": filters}
        | {"label": {name: value for name, value in to_plain(config.label).items() if name not in ("marks", "vectors")}}
        | {"user_agent": config.fetch.user_agent}
    )
