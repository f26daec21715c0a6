"""A take-down from the command line: the crawl store's list first, then the dataset, then results to score again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from builder.dataset.changes import printable
from builder.dataset.takedown import Plan, plan_takedown, results_to_score_again, take_down, to_takedown
from builder.store.takedowns import TAKEDOWNS_FILE, add_takedown
from edu_rag.dataset import Dataset
from edu_rag.errors import DataError
from edu_rag.jsonl import read_json, write_json
from edu_rag.progress import say

EXAMPLES = 10
STORE_MARK = "config.json"
"""What every crawl store holds from its first moment on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of `edu-rag dataset takedown`: what is to go, why, when, and where things lie."""

    folder: Path
    target: str
    reason: str
    at: datetime
    results: Path | None = None
    store: Path | None = None
    out: Path | None = None
    dry_run: bool = False


def _store_of(request: Request) -> Path | None:
    """The crawl store to note the take-down in, or None where there is none. Raises DataError for a wrong --store."""
    folder = request.folder if request.folder.name not in ("", "..") else request.folder.resolve()
    store = request.store or folder.with_name(f"{folder.name}.crawl")
    if (store / STORE_MARK).is_file():
        return store
    if request.store is not None:
        raise DataError(store, "is no crawl store", "give the folder DATASET.crawl that `edu-rag build` wrote")
    return None


def _raise_version(store: Path, version: str) -> None:
    """Let a replay of the store make the new version, not other content under the old one's number."""
    values = read_json(store / STORE_MARK)
    if isinstance(values, dict) and isinstance(values.get("config"), dict):
        config = values["config"] | {"version": version}
        write_json(store / STORE_MARK, values | {"config": config})
        say(f"{store / STORE_MARK} says version {version} now: later builds and replays do not go below it")


def _told(plan: Plan, old_id: str) -> dict[str, Any]:
    return {
        "dataset": old_id, "kind": plan.entry.kind, "value": plan.entry.value, "pages": len(plan.pages),
        "urls": plan.urls, "hits": plan.n_hits, "evidence": plan.n_evidence, "leaks": plan.n_leaks,
        "questions": len(plan.questions),
    }  # fmt: skip


def run_takedown(request: Request) -> dict[str, Any]:
    """Do what the request asks and say what was done, as JSON-ready values. Raises DataError where nothing matches.

    The tombstone goes into the store before the dataset is rewritten: a build that is cut off in between cannot bring
    the page back.
    """
    dataset, store = Dataset(request.folder), _store_of(request)
    entry = to_takedown(request.target, request.reason, request.at)
    plan = plan_takedown(dataset, entry)
    told = _told(plan, dataset.id)
    before = dataset.manifest
    if not request.dry_run:
        if store is not None:
            add_takedown(store, entry)
            say(f"noted in {store / TAKEDOWNS_FILE}")
        manifest = take_down(dataset, plan, request.out or request.folder)
        told["new"] = manifest.id
        if store is None:
            say("no crawl store here: give --store, or the next build brings the page back")
        else:
            _raise_version(store, manifest.version)
        if plan.n_repeats:
            say(
                f"{plan.n_repeats:,} other hits of these questions are out as repeats, some perhaps of what went now:"
                " the same `edu-rag build` again settles that, with `version` raised"
            )
    if request.results is not None:
        found = results_to_score_again(request.results, before)
        told["score_again"] = [{"system": s, "dataset": d, "scorecard": path} for s, d, path in found]
    return told


def told_lines(told: Mapping[str, Any]) -> list[str]:
    """What was done, for a terminal."""
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
