"""Building: the crawl and the derivation in one go, and the crawl store that remembers what it was made from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.clock import LOCAL_INSTANT, build_clock, parse_instant
from builder.config import BuildConfig, crawl_settings, to_config
from builder.crawl import crawl
from builder.crawl_search import Sleep
from builder.crawl_store import CrawlStore, forget_store
from builder.derive import Inputs, derive, with_extractor
from builder.extract import EXTRACTORS
from builder.questions import read_questions
from builder.search import SearchEngine, open_engine
from edu_rag.dataset_writer import refuse_foreign
from edu_rag.errors import ConfigError, DataError
from edu_rag.gold import Gold, match_gold
from edu_rag.jsonl import read_json, read_records, write_json, write_records
from edu_rag.manifest import Manifest
from edu_rag.progress import Stage, say
from edu_rag.records import Question
from edu_rag.typed import to_plain

QUESTIONS_FILE, GOLD_FILE, CONFIG_FILE = "questions.jsonl", "gold.jsonl", "config.json"


def store_folder(out: Path) -> Path:
    """Where the crawl store of a dataset lies: beside it, never inside. Raises ConfigError where there is no beside."""
    place = out if out.name not in ("", "..") else out.resolve()
    if not place.name:
        raise ConfigError(out, "cannot be a dataset folder", "name another --out")
    return place.with_name(f"{place.name}.crawl")


def check_extractor(extractor: str) -> None:
    """Raise ConfigError for an extractor that does not exist, before anything is fetched for it."""
    if extractor not in EXTRACTORS:
        raise ConfigError("extractor", f"unknown extractor {extractor!r}", f"known are {', '.join(EXTRACTORS)}")


def write_inputs(folder: Path, inputs: Inputs) -> None:
    """Keep in the store what it was made from, so that a replay needs nothing else."""
    write_records(folder / QUESTIONS_FILE, inputs.questions)
    write_records(folder / GOLD_FILE, inputs.golds)
    config = to_plain(inputs.config)
    config["search"]["folder"]["sites"] = ""  # a path of this machine says nothing to a replay
    made_with = {"crawl": crawl_settings(inputs.config), "source": dict(inputs.source)}
    write_json(folder / CONFIG_FILE, made_with | {"config": config, "started_at": inputs.started_at.isoformat()})


def _read_made_with(folder: Path) -> dict[str, Any]:
    values = read_json(folder / CONFIG_FILE)
    parts = ("config", "crawl", "source")
    if not isinstance(values, dict) or not all(isinstance(values.get(part), dict) for part in parts):
        raise DataError(folder / CONFIG_FILE, "is not what `edu-rag build` writes", "build again with --fresh")
    return values


def read_inputs(folder: Path) -> Inputs:
    """What a store was made from. Raises DataError where a file is missing or does not fit."""
    values = _read_made_with(folder)
    questions = [question for _, question in read_records(folder / QUESTIONS_FILE, Question)]
    golds = [gold for _, gold in read_records(folder / GOLD_FILE, Gold)]
    match_gold(questions, golds, folder / GOLD_FILE)
    config = to_config(values["config"], folder / CONFIG_FILE)
    try:
        started_at = parse_instant(str(values.get("started_at", LOCAL_INSTANT.isoformat())))
    except ValueError as error:
        raise DataError(folder / CONFIG_FILE, f"started_at: {error}", "build again with --fresh") from None
    return Inputs(questions=questions, golds=golds, config=config, source=values["source"], started_at=started_at)


def _refuse_other_settings(folder: Path, inputs: Inputs) -> None:
    """A store holds what one set of crawl settings brought home; another set would mix two datasets."""
    if not (folder / CONFIG_FILE).is_file():
        return
    before = _read_made_with(folder)
    now = {"crawl": crawl_settings(inputs.config), "source": dict(inputs.source)}
    for part, values in now.items():
        stored: Mapping[str, Any] = before[part]
        for name in sorted({*values, *stored}):
            if values.get(name) != stored.get(name):
                raise DataError(
                    folder, f"was crawled with another {name!r}", "add --fresh to crawl anew, or name another --out"
                )


def _crawl_and_derive(
    store: CrawlStore, engine: SearchEngine | None, inputs: Inputs, out: Path, workers: int, allow_partial: bool,
    sleep: Sleep,
) -> Manifest:  # fmt: skip
    _refuse_other_settings(store.folder, inputs)
    write_inputs(store.folder, inputs)
    if engine is not None:
        now = build_clock(inputs.config.clock, engine.name)
        crawl(inputs.questions, store, engine, inputs.config, now, allow_partial=allow_partial, sleep=sleep)
    return derive(store, inputs, out, workers)


def build(
    questions: Sequence[Path], out: Path, config: BuildConfig, *, split: str | None = None, workers: int = 1,
    allow_partial: bool = False, fresh: bool = False, sleep: Sleep = time.sleep,
) -> Manifest:  # fmt: skip
    """Build the dataset folder `out` and its crawl store from question files; resume where the store has answers.

    Raises our errors for what a user can mend: unreadable questions, unknown engines, an engine that stops answering.
    """
    check_extractor(config.extract.extractor)
    refuse_foreign(out)
    read, golds = read_questions(questions, split)
    match_gold(read, golds, questions[0])
    with Stage("index", total=1) as stage:
        engine = open_engine(config.search)
        source = engine.source() if engine is not None else {}
        stage.add("done")
    started_at = build_clock(config.clock, config.search.engine)() if engine is None else LOCAL_INSTANT
    inputs = Inputs(questions=read, golds=golds, config=config, source=source, started_at=started_at)
    folder = store_folder(out)
    if fresh:
        forget_store(folder)
    with CrawlStore(folder, create=True) as store:
        manifest = _crawl_and_derive(store, engine, inputs, out, workers, allow_partial, sleep)
    say(f"dataset: {out}: {manifest.id}")
    return manifest


def replay(folder: Path, out: Path, *, workers: int = 1, extractor: str | None = None) -> Manifest:
    """The dataset again from its crawl store alone, with the network off: the same bytes."""
    refuse_foreign(out)
    with CrawlStore(folder) as store:
        inputs = with_extractor(read_inputs(folder), extractor)
        check_extractor(inputs.config.extract.extractor)
        manifest = derive(store, inputs, out, workers)
    say(f"dataset: {out}: {manifest.id}")
    return manifest
