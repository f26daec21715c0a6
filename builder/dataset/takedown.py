"""Take pages out of a dataset: the crawl store's list first, then a new version, then the results to score again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from builder.dataset.changes_file import FILE_NAME as CHANGES
from builder.dataset.changes_file import TAKEN_DOWN, changes_file, printable
from builder.documents.dataset_documents import dataset_documents
from builder.lost_hits import cause_of, counts_in_sources
from builder.store.reader import INDEX_FILE, StoreReader
from builder.store.store_folder import store_folder
from builder.store.takedowns import TAKEDOWNS_FILE, TakeDown, TakeDowns, add_takedown, read_takedowns
from builder.urls import canonical_or_none, host_of
from edu_rag.errors import ConfigError, DataError, FaultsError, RecordError
from edu_rag.files.card_markdown import outside
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.files.manifest import FileEntry, Manifest, vector_names
from edu_rag.files.table_rows import CONFIGS
from edu_rag.gold import Gold
from edu_rag.progress import say
from edu_rag.records import HOME_PAGE, Evidence, Leak, Question, SearchHit, WebPage
from edu_rag.scorecard.results_folder import ResultsFolder

OUTCOME = "taken_down"
REPEATS = ("duplicate", "near_duplicate")


def to_takedown(text: str, reason: str, at: datetime) -> TakeDown:
    """The entry that a URL, a host name or 64 hexadecimal digits name. Raises ConfigError."""
    text = text.strip()
    kind: Literal["url", "host", "sha256"]
    if "://" in text:
        kind, value = "url", canonical_or_none(text) or text
    elif re.fullmatch(r"[0-9a-fA-F]{64}", text):
        kind, value = "sha256", text.lower()
    else:
        kind, value = "host", text.lower().rstrip(".")
    try:
        return TakeDown(kind=kind, value=value, reason=reason, at=at)
    except RecordError as error:
        remedy = "give https://…, www.example.org or 64 hexadecimal digits"
        raise ConfigError(f"{error.where} {text[:80]!r}", error.what, remedy) from None


@dataclass(slots=True)
class TakedownPlan:
    """The effect of a take-down on a dataset, counted before anything is written."""

    entry: TakeDown
    asked: TakeDowns
    pages: set[str] = field(default_factory=set)
    urls: list[str] = field(default_factory=list)
    n_hits: int = 0
    n_evidence: int = 0
    n_leaks: int = 0
    n_out: int = 0
    """Hits at the named address or host that an earlier take-down took out."""
    n_repeats: int = 0
    """Hits of the same questions that were dropped as repeats: one may have repeated a page that is removed now."""
    questions: set[str] = field(default_factory=set)
    sources: dict[str, Any] = field(default_factory=dict)

    def takes(self, hit: SearchHit) -> bool:
        """Whether a hit is taken down: its own address is meant, or the page that it led to."""
        if hit.page_id in self.pages:
            return True
        return hit.outcome != OUTCOME and self._names(hit)

    def took(self, hit: SearchHit) -> bool:
        """Whether a hit at the named address or host was taken out before."""
        return hit.outcome == OUTCOME and self._names(hit)

    def _names(self, hit: SearchHit) -> bool:
        url = canonical_or_none(hit.url)
        return url is not None and self.asked.matches(url, host_of(url), None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the dataset would go."""
        return not self.n_hits and not self.pages


class _Counts:
    """The counts of the remaining rows: the parts of the manifest's `sources` that a take-down changes."""

    def __init__(self) -> None:
        self.causes: Counter[str] = Counter()
        self.pairs: set[tuple[str, str]] = set()
        self.characters: dict[str, int] = {}
        self.flags: dict[str, tuple[str, ...]] = {}
        self.extractors: dict[str, str] = {}
        self.leaks: Counter[str] = Counter()
        self.leaked: set[str] = set()
        self.evidenced: set[str] = set()
        self.at_home: set[str] = set()

    def sources(self, before: Mapping[str, Any], n_questions: int, n_gone: int) -> dict[str, Any]:
        """`sources` with the same keys, counted again as far as the tables tell."""
        kept = {page_id for _, page_id in self.pairs}
        total = sum(self.characters[page_id] for _, page_id in self.pairs)
        counted = {
            "hits_lost_by_status": {},
            **counts_in_sources(self.causes),
            "pages": len(kept),
            "questions_with_pages": len({question_id for question_id, _ in self.pairs}),
            "pages_per_question": _mean(len(self.pairs), n_questions),
            "characters_per_page": _mean(total, len(self.pairs)),
            "characters_per_distinct_page": _mean(sum(self.characters[page_id] for page_id in kept), len(kept)),
            "extracted_by": dict(sorted(Counter(self.extractors[page_id] for page_id in kept).items())),
            "page_flags": dict(sorted(Counter(f for page_id in kept for f in self.flags[page_id]).items())),
            "leaks": dict(sorted(self.leaks.items())),
            "leaks_masked": self.leaks.total(),
            "questions_leaked": len(self.leaked),
            "questions_with_evidence": len(self.evidenced),
            "questions_with_home_page": len(self.at_home),
        }
        same = {key: counted.get(key, value) for key, value in before.items()}
        gone = int(before.get("pages_taken_down", 0)) + n_gone
        return same | {"hits_taken_down": self.causes[OUTCOME], "pages_taken_down": gone}


def _mean(total: int, n: int) -> float:
    return round(total / n, 2) if n else 0.0


def _read_pages(dataset: Dataset, plan: TakedownPlan, counts: _Counts) -> None:
    for split in dataset.splits():
        for page in dataset.records("pages", split, WebPage):
            counts.characters[page.page_id] = len(page.text)
            counts.flags[page.page_id] = page.flags
            counts.extractors[page.page_id] = page.extractor
            if plan.asked.matches(page.url, host_of(page.url), page.html_sha256):
                plan.pages.add(page.page_id)
                plan.urls.append(page.url)
    plan.urls = sorted(set(plan.urls))


def _read_hits(dataset: Dataset, plan: TakedownPlan, counts: _Counts) -> None:
    before: set[str] = set()
    for split in dataset.splits():
        for hit in dataset.records("hits", split, SearchHit):
            taken = plan.takes(hit)
            plan.n_out += plan.took(hit)
            counts.causes[OUTCOME if taken else cause_of(hit.outcome, hit.detail)] += 1
            if taken:
                plan.n_hits += 1
                plan.questions.add(hit.question_id)
            if hit.page_id is not None:
                before.add(hit.page_id)
                if not taken:
                    counts.pairs.add((hit.question_id, hit.page_id))
    # A page that only the taken hits led to goes with them.
    plan.pages |= before - {page_id for _, page_id in counts.pairs}


def _count_repeats(dataset: Dataset, plan: TakedownPlan) -> None:
    for split in dataset.splits():
        for hit in dataset.records("hits", split, SearchHit):
            plan.n_repeats += hit.question_id in plan.questions and hit.outcome in REPEATS


def _read_labels(dataset: Dataset, plan: TakedownPlan, counts: _Counts) -> None:
    for split in dataset.splits():
        for item in dataset.records("evidence", split, Evidence):
            if _is_gone(plan, counts, item):
                plan.n_evidence += 1
            else:
                (counts.at_home if item.method == HOME_PAGE else counts.evidenced).add(item.question_id)
        for leak in dataset.records("leaks", split, Leak):
            if leak.page_id in plan.pages:
                plan.n_leaks += 1
            else:
                counts.leaks[leak.kind] += 1
                counts.leaked.add(leak.question_id)


def _is_gone(plan: TakedownPlan, counts: _Counts, item: Evidence) -> bool:
    """Whether evidence lost its page, or the hit that gave the page to its question."""
    return item.page_id in plan.pages or (item.question_id, item.page_id) not in counts.pairs


def plan_takedown(dataset: Dataset, entry: TakeDown) -> TakedownPlan:
    """Count the rows that this take-down would remove and those that remain. Writes nothing."""
    plan, counts = TakedownPlan(entry=entry, asked=TakeDowns([entry])), _Counts()
    _read_pages(dataset, plan, counts)
    _read_hits(dataset, plan, counts)
    _read_labels(dataset, plan, counts)
    _count_repeats(dataset, plan)
    n = sum(entry.rows or 0 for name, entry in dataset.manifest.files.items() if name.startswith("questions/"))
    plan.sources = counts.sources(dataset.manifest.sources, n, len(plan.pages))
    return plan


def _pages_of(dataset: Dataset, split: str, plan: TakedownPlan) -> set[str]:
    """The pages that a kept hit of the split still leads to."""
    hits = dataset.records("hits", split, SearchHit)
    return {hit.page_id for hit in hits if hit.page_id is not None and not plan.takes(hit)}


def _hits(dataset: Dataset, split: str, plan: TakedownPlan) -> Iterator[SearchHit]:
    for hit in dataset.records("hits", split, SearchHit):
        yield replace(hit, page_id=None, outcome=OUTCOME) if plan.takes(hit) else hit


def _pages(dataset: Dataset, split: str, kept: set[str]) -> Iterator[WebPage]:
    return (page for page in dataset.records("pages", split, WebPage) if page.page_id in kept)


def _evidence(dataset: Dataset, split: str, plan: TakedownPlan) -> Iterator[Evidence]:
    pairs = {(hit.question_id, hit.page_id) for hit in dataset.records("hits", split, SearchHit) if not plan.takes(hit)}
    items = dataset.records("evidence", split, Evidence)
    return (item for item in items if (item.question_id, item.page_id) in pairs)


def _leaks(dataset: Dataset, split: str, kept: set[str]) -> Iterator[Leak]:
    return (leak for leak in dataset.records("leaks", split, Leak) if leak.page_id in kept)


def _tables(dataset: Dataset, plan: TakedownPlan) -> dict[str, dict[str, Any]]:
    """The tables that the dataset has, without what is taken down; those of a hidden split may be missing."""
    tables: dict[str, dict[str, Any]] = {config: {} for config in CONFIGS}
    for split in dataset.splits():
        kept = _pages_of(dataset, split, plan)
        made = {
            "questions": dataset.records("questions", split, Question),
            "gold": dataset.records("gold", split, Gold),
            "hits": _hits(dataset, split, plan),
            "pages": _pages(dataset, split, kept),
            "evidence": _evidence(dataset, split, plan),
            "leaks": _leaks(dataset, split, kept),
        }
        for config, rows in made.items():
            if dataset.files(config, split):
                tables[config][split] = rows
    return tables


def change_note(plan: TakedownPlan) -> list[str]:
    """The lines of CHANGES.md for a take-down."""
    entry = plan.entry
    line = f"{TAKEN_DOWN}: {entry.kind} {outside(entry.value)} ({outside(entry.reason)}): "
    return [
        line
        + f"{len(plan.pages):,} pages, {plan.n_hits:,} hits, {plan.n_evidence:,} evidence spans, {plan.n_leaks:,} leaks"
    ]


def nothing_matches(folder: Path, entry: TakeDown) -> DataError:
    """The refusal of a target that is nowhere."""
    return DataError(folder, f"nothing here matches {entry.kind} {entry.value}", "check it; nothing was written")


def take_down(dataset: Dataset, plan: TakedownPlan, out: Path) -> Manifest:
    """Write the next minor version without what the plan takes, to `out` (which may be the dataset's own folder).

    Rows are streamed; card, plots and metadata are made again, CHANGES.md is carried on. Sentence vectors are left out:
    some are of what is taken down. Raises DataError if the plan takes nothing.
    """
    if plan.is_empty:
        raise nothing_matches(dataset.folder, plan.entry)
    before, created_at = dataset.manifest, plan.entry.at.isoformat()
    version = str(before.release.version.raised("minor"))
    history = changes_file(version, created_at, dataset.folder, change_note(plan))
    documents = dataset_documents(before.name, version, created_at, plan.sources)

    def with_history(folder: Path, files: Mapping[str, FileEntry]) -> Mapping[str, bytes]:
        return {**documents(folder, files), CHANGES: history}

    return write_dataset(
        out,
        _tables(dataset, plan),
        name=before.name,
        version=version,
        created_at=created_at,
        builder=before.builder,
        config_sha256=before.config_sha256,
        sources=plan.sources,
        documents=with_history,
    )


def results_to_score_again(results: Path, manifest: Manifest) -> list[tuple[str, str, str]]:
    """(system, dataset id, path) of every scorecard of this dataset's name, major and minor version; path relative.

    A scorecard that cannot be read is listed too, as `unreadable`: it may be one of them.
    """
    found = []
    name, version = manifest.release
    stored = ResultsFolder(results)
    for path, faults in stored.faults.items():
        found.append(("unreadable", str(FaultsError(faults)), path.relative_to(results).as_posix()))
    for path, card in stored.cards.items():
        scored = card.dataset_id
        if (scored.name, scored.version[:2]) == (name, version[:2]):
            found.append((card.system.slug, card.dataset, path.relative_to(results).as_posix()))
    return sorted(found, key=lambda result: result[2])


EXAMPLES = 10
STORE_MARK = "config.json"
"""A file that every crawl store has from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownRequest:
    """One call of `edu-rag dataset takedown`: the target, the reason, the time, and the paths."""

    folder: Path
    target: str
    reason: str
    at: datetime
    results: Path | None = None
    store: Path | None = None
    out: Path | None = None
    dry_run: bool = False


def _store_of(request: TakedownRequest) -> Path | None:
    """The crawl store to note the take-down in, or None if there is none. Raises DataError for a wrong --store."""
    store = request.store or store_folder(request.folder)
    if (store / STORE_MARK).is_file():
        return store
    if request.store is not None:
        raise DataError(store, "is not a crawl store", "give the folder DATASET.crawl that `edu-rag build` wrote")
    return None


def _raise_version(store: Path, version: str) -> None:
    """Let a replay of the store make the new version, not other content under the old one's number."""
    values = read_json(store / STORE_MARK)
    if isinstance(values, dict) and isinstance(values.get("config"), dict):
        config = values["config"] | {"version": version}
        write_json(store / STORE_MARK, values | {"config": config})
        say(f"{store / STORE_MARK} says version {version} now: later builds and replays do not go below it")


def _summary(plan: TakedownPlan, old_id: str) -> dict[str, Any]:
    return {
        "dataset": old_id,
        "kind": plan.entry.kind,
        "value": plan.entry.value,
        "pages": len(plan.pages),
        "urls": plan.urls,
        "hits": plan.n_hits,
        "evidence": plan.n_evidence,
        "leaks": plan.n_leaks,
        "questions": len(plan.questions),
    }


def _urls_match(asked: TakeDowns, urls: Iterable[str]) -> bool:
    canonical = (canonical_or_none(url) for url in urls)
    return any(url is not None and asked.matches(url, host_of(url), None) for url in canonical)


def _store_holds(store: Path, entry: TakeDown) -> bool:
    """Whether a hit or a fetch of the crawl store is meant: a later build could bring its page in."""
    if not (store / INDEX_FILE).is_file():
        return False
    reader, asked = StoreReader(store), TakeDowns([entry])
    try:
        for fetch in reader.iter_fetches():
            if asked.matches(fetch.url, host_of(fetch.url), fetch.digest) or _urls_match(asked, [fetch.final_url]):
                return True
        return any(_urls_match(asked, row.urls) for engine in reader.engines() for row in reader.iter_searches(engine))
    finally:
        reader.close()


def _is_listed(store: Path | None, entry: TakeDown) -> bool:
    """Whether the store's list already covers the target, itself or by its host."""
    if store is None:
        return False
    url, host, sha256 = (entry.value if entry.kind == kind else "" for kind in ("url", "host", "sha256"))
    return read_takedowns(store).matches(url, host_of(url) if url else host, sha256)


def _nothing_to_take(request: TakedownRequest, store: Path | None, plan: TakedownPlan, version: str) -> dict[str, Any]:
    """Report whether a target that is not in the dataset was removed before; record one that only the store has.

    Raises DataError, with nothing written, if it is in neither: a tombstone for a mistyped name is of no use.
    """
    listed = _is_listed(store, plan.entry)
    if not listed and not plan.n_out and not (store is not None and _store_holds(store, plan.entry)):
        raise nothing_matches(request.folder, plan.entry)
    if store is not None and not listed and request.dry_run:
        say(f"dry run: would be noted in {store / TAKEDOWNS_FILE}; nothing was written")
    elif store is not None and not listed:
        _note(store, plan.entry)
        if plan.n_out:
            _raise_version(store, version)
    return {"already": listed or plan.n_out > 0}


def _note(store: Path, entry: TakeDown) -> None:
    add_takedown(store, entry)
    say(f"noted in {store / TAKEDOWNS_FILE}")


def run_takedown(request: TakedownRequest) -> dict[str, Any]:
    """Do what the request asks and say what was done, as JSON-ready values. Raises DataError if nothing matches.
    A page that is already removed is not a fault: `already` reports it.

    A page that is already removed is not a fault: `already` is true then. The tombstone goes into the store before the
    dataset is rewritten: a build that is cut off in between cannot bring the page back.
    """
    dataset, store = Dataset(request.folder), _store_of(request)
    entry = to_takedown(request.target, request.reason, request.at)
    plan = plan_takedown(dataset, entry)
    summary = _summary(plan, dataset.id)
    before = dataset.manifest
    if plan.is_empty:
        return summary | _nothing_to_take(request, store, plan, before.version)
    if not request.dry_run:
        if store is not None:
            _note(store, entry)
        manifest = take_down(dataset, plan, request.out or request.folder)
        summary["new"] = manifest.id
        if vector_names(before):
            say("the sentence vectors are left out: the next build, or `edu-rag replay`, writes them again")
        if store is None:
            say("no crawl store here: give --store, or the next build brings the page back")
        else:
            _raise_version(store, manifest.version)
        if plan.n_repeats:
            say(
                f"{plan.n_repeats:,} other hits of these questions were dropped as repeats, perhaps of removed pages:"
                " raise `version` and run the same `edu-rag build` again to restore them"
            )
    if request.results is not None:
        found = results_to_score_again(request.results, before)
        summary["score_again"] = [{"system": s, "dataset": d, "scorecard": path} for s, d, path in found]
    return summary


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary of a take-down, for a terminal."""
    if "already" in summary:
        said = "already taken down" if summary["already"] else "not in this dataset, but in its crawl store"
        return [f"{summary['kind']} {printable(summary['value'])}: {said}", f"{summary['dataset']} stays as it is"]
    lines = [
        f"{summary['kind']} {printable(summary['value'])}: {summary['pages']:,} pages, {summary['hits']:,} hits of"
        f" {summary['questions']:,} questions, {summary['evidence']:,} evidence spans, {summary['leaks']:,} leaks"
    ]
    lines += [f"    {printable(url)}" for url in summary["urls"][:EXAMPLES]]
    if len(summary["urls"]) > EXAMPLES:
        lines.append(f"    … {len(summary['urls']) - EXAMPLES:,} more")
    lines.append(f"{summary['dataset']} -> {summary['new']}" if "new" in summary else "dry run: nothing was written")
    if "score_again" in summary:
        lines.append(f"to score again: {len(summary['score_again']):,}")
        lines += [f"    {r['system']:<32} {printable(r['dataset'])}  {r['scorecard']}" for r in summary["score_again"]]
    return lines
