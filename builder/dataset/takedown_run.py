"""A take-down from the command line: the crawl store's list first, then the dataset, then results to score again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from builder.dataset.changes_file import printable
from builder.dataset.takedown import (
    TakedownPlan,
    nothing_matches,
    plan_takedown,
    results_to_score_again,
    take_down,
    to_takedown,
)
from builder.store.reader import INDEX_FILE, StoreReader
from builder.store.takedowns import TAKEDOWNS_FILE, TakeDown, TakeDowns, add_takedown, read_takedowns
from builder.urls import canonical_or_none, host_of
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_json, write_json
from edu_rag.progress import say

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
    folder = request.folder if request.folder.name not in ("", "..") else request.folder.resolve()
    store = request.store or folder.with_name(f"{folder.name}.crawl")
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


def _told(plan: TakedownPlan, old_id: str) -> dict[str, Any]:
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
    told = _told(plan, dataset.id)
    before = dataset.manifest
    if plan.is_empty:
        return told | _nothing_to_take(request, store, plan, before.version)
    if not request.dry_run:
        if store is not None:
            _note(store, entry)
        manifest = take_down(dataset, plan, request.out or request.folder)
        told["new"] = manifest.id
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
        told["score_again"] = [{"system": s, "dataset": d, "scorecard": path} for s, d, path in found]
    return told


def told_lines(told: Mapping[str, Any]) -> list[str]:
    """The summary of a take-down, for a terminal."""
    if "already" in told:
        said = "already taken down" if told["already"] else "not in this dataset, but in its crawl store"
        return [f"{told['kind']} {printable(told['value'])}: {said}", f"{told['dataset']} stays as it is"]
    lines = [
        f"{told['kind']} {printable(told['value'])}: {told['pages']:,} pages, {told['hits']:,} hits of"
        f" {told['questions']:,} questions, {told['evidence']:,} evidence spans, {told['leaks']:,} leaks"
    ]
    lines += [f"    {printable(url)}" for url in told["urls"][:EXAMPLES]]
    if len(told["urls"]) > EXAMPLES:
        lines.append(f"    … {len(told['urls']) - EXAMPLES:,} more")
    lines.append(f"{told['dataset']} -> {told['new']}" if "new" in told else "dry run: nothing was written")
    if "score_again" in told:
        lines.append(f"to score again: {len(told['score_again']):,}")
        lines += [f"    {r['system']:<32} {printable(r['dataset'])}  {r['scorecard']}" for r in told["score_again"]]
    return lines
