"""Build a dataset: the crawl and the derivation in one go, with a crawl store that records its own inputs.

A folder with a dataset of another name is refused, and so is a store that was made from other questions.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from builder.clock import LOCAL_INSTANT, build_clock, parse_instant
from builder.config import BuildConfig, crawl_settings, to_config
from builder.crawl import Round, crawl, newer, next_minor, next_round, round_of, why_other_version
from builder.deriving.derive import Inputs, derive, with_changes
from builder.deriving.early_extraction import MIN_PAGES, early_extraction
from builder.deriving.killable_workers import load_libraries
from builder.deriving.scale import check_executor
from builder.deriving.vector_writer import require_encoder
from builder.documents.build_report import REPORT_FILE, write_report
from builder.evidence import check_methods
from builder.evidence.given_evidence import MarkedText, read_marks
from builder.extract.extract import check_extractor
from builder.question_sets.dataset_sources import QuestionSource
from builder.question_sets.question_columns import ColumnMap
from builder.question_sets.question_files import read_question_set
from builder.search.combine import Chain, open_chain
from builder.search.pace import Sleep
from builder.search.searching import answer_to
from builder.search.settings import forget_paths, is_offline
from builder.search_results import ANSWERED
from builder.store.crawl_store import LOG_FILE, CrawlStore, StoreReader, forget_store, is_store
from builder.store.store_folder import store_folder
from edu_rag.draw_sample import choose
from edu_rag.errors import DataError
from edu_rag.files.dataset_writer import refuse_foreign
from edu_rag.files.jsonl import read_json, read_records, write_json, write_records
from edu_rag.files.manifest import FILE_NAME, Manifest, read_manifest
from edu_rag.files.sentence_vectors import Encoders
from edu_rag.files.typed import to_plain
from edu_rag.gold import Gold, match_gold
from edu_rag.names import Sample, Version
from edu_rag.processes.budget import one_budget_a_file
from edu_rag.progress import BuildLog, Stage, logging_to, note, say
from edu_rag.records import Question
from edu_rag.scorecard.card import evidence_sentence


def dataset_at(out: Path) -> Manifest | None:
    """The manifest of the dataset in the folder; None if there is none that can be read."""
    with suppress(DataError, OSError):
        return read_manifest(out) if (out / FILE_NAME).is_file() else None
    return None


def refuse_other_name(where: Path, old: str, new: str) -> None:
    """Raise DataError if the folder has a dataset of another name."""
    if old != new:
        raise DataError(where, f"holds the dataset {old!r}, not {new!r}", "choose another --out, or add --fresh")


def say_replaced(old: Manifest | None, new: Manifest) -> None:
    """One version of a dataset should have one content: say where this build broke that."""
    if old is None or (old.name, old.version) != (new.name, new.version) or old.id == new.id:
        return
    was, now = (f"#{one.content_sha256[:8]} ({one.sources.get('pages', 0):,} pages)" for one in (old, new))
    say(f"{new.name}@{new.version}: was {was}, is now {now} under the same version")


_REMEDY = "raise the major version in build.toml or with --version, add --fresh, or choose another --out"


class QuestionChanges(NamedTuple):
    """How many questions came, went, and stayed with another text, choice, split or gold."""

    added: int
    removed: int
    changed: int

    def __str__(self) -> str:
        return f"{self.added:,} added, {self.removed:,} removed, {self.changed:,} changed"


def _by_id(questions: Sequence[Question], golds: Sequence[Gold]) -> Mapping[str, tuple[Question, Gold | None]]:
    gold_of = {gold.question_id: gold for gold in golds}
    return {question.question_id: (question, gold_of.get(question.question_id)) for question in questions}


def question_changes(
    before: tuple[Sequence[Question], Sequence[Gold]], now: tuple[Sequence[Question], Sequence[Gold]]
) -> QuestionChanges | None:
    """Compare two sets of questions with their gold; None if they are equal. Order is not a difference."""
    old, new = _by_id(*before), _by_id(*now)
    n_changed = sum(old[question_id] != new[question_id] for question_id in old.keys() & new.keys())
    changes = QuestionChanges(len(new.keys() - old.keys()), len(old.keys() - new.keys()), n_changed)
    return changes if any(changes) else None


def stored_questions(questions: Path, gold: Path) -> tuple[Sequence[Question], Sequence[Gold]] | None:
    """The content of a store's two files; None if a kill left one unwritten. Raises DataError."""
    if not (questions.is_file() and gold.is_file()):
        return None
    return [item for _, item in read_records(questions, Question)], [item for _, item in read_records(gold, Gold)]


def refuse_changes(folder: Path, changes: QuestionChanges, old: str, new: str) -> None:
    """Raise DataError unless the major version rises: results of two sets of questions must never share a table."""
    if Version.parse(new).major <= Version.parse(old).major:
        raise DataError(folder, f"was made from other questions ({changes})", _REMEDY)


QUESTIONS_FILE, GOLD_FILE, MARKS_FILE, CONFIG_FILE = "questions.jsonl", "gold.jsonl", "marks.jsonl", "config.json"
_ROOM = "free some disk space and run the same command again to resume"


def replay_file(out: Path, name: str) -> Path:
    """The path of a replay's report or log: next to its dataset, since a replay does not change the store."""
    return out.with_name(f"{out.name}.{name}")


def n_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_names(config: BuildConfig, encoders: Encoders | None) -> None:
    check_extractor(config.extract.extractor)
    check_methods(config.label.evidence)
    check_executor(config.scale)
    require_encoder(config.label.vectors, encoders)


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Name the file in the system's errors on writing (a full or broken disk)."""
    try:
        yield
    except OSError as error:
        where = error.filename or place
        raise DataError(where, f"cannot be written: {error.strerror or error}", _ROOM) from None
    except sqlite3.Error as error:  # of scratch tables
        raise DataError(place, f"cannot be written: {error}", _ROOM) from None


def _made_with(inputs: Inputs) -> dict[str, Any]:
    return {"crawl": crawl_settings(inputs.config), "source": dict(inputs.source)}


def _write_config(folder: Path, inputs: Inputs, turn: Round) -> None:
    config = to_plain(inputs.config)
    forget_paths(config["search"])
    config["label"]["marks"] = None
    state: dict[str, Any] = {"started_at": inputs.started_at.isoformat()}
    state |= {"round": turn.number, "finished": turn.is_finished}
    if inputs.questions_from:
        state["questions_from"] = list(inputs.questions_from)
    with _writing(folder / CONFIG_FILE):
        write_json(folder / CONFIG_FILE, _made_with(inputs) | {"config": config} | state)


def write_inputs(folder: Path, inputs: Inputs, turn: Round) -> None:
    """Keep the store's inputs in it, so that a replay needs nothing else.

    The settings come first: they say that this round is not finished, even if a kill leaves the rest incomplete.
    """
    _write_config(folder, inputs, turn)
    _write_questions(folder, inputs)


def _write_questions(folder: Path, inputs: Inputs) -> None:
    with _writing(folder):
        write_records(folder / QUESTIONS_FILE, inputs.questions)
        write_records(folder / GOLD_FILE, inputs.golds)
        write_records(folder / MARKS_FILE, (mark for marks in inputs.marks.values() for mark in marks))


def _read_made_with(folder: Path) -> dict[str, Any]:
    values = read_json(folder / CONFIG_FILE)
    parts = ("config", "crawl", "source")
    if not isinstance(values, dict) or not all(isinstance(values.get(part), dict) for part in parts):
        raise DataError(folder / CONFIG_FILE, "is not what `edu-rag build` writes", "build again with --fresh")
    return values


def read_round(folder: Path) -> Round | None:
    """Which round of its crawl a store is in; None if it was never begun. Raises DataError."""
    if not (folder / CONFIG_FILE).is_file():
        return None
    try:
        return round_of(_read_made_with(folder))
    except ValueError as error:
        raise DataError(folder / CONFIG_FILE, str(error), "build again with --fresh") from None


def read_inputs(folder: Path) -> Inputs:
    """The inputs of a store. Raises DataError if a file is missing or does not fit."""
    values = _read_made_with(folder)
    questions = [question for _, question in read_records(folder / QUESTIONS_FILE, Question)]
    golds = [gold for _, gold in read_records(folder / GOLD_FILE, Gold)]
    match_gold(questions, golds, folder / GOLD_FILE)
    config = to_config(values["config"], folder / CONFIG_FILE)
    try:
        started_at = parse_instant(str(values.get("started_at", LOCAL_INSTANT.isoformat())))
    except ValueError as error:
        raise DataError(folder / CONFIG_FILE, f"started_at: {error}", "build again with --fresh") from None
    marks = read_marks(folder / MARKS_FILE, questions) if (folder / MARKS_FILE).is_file() else {}
    return Inputs(
        questions=questions,
        golds=golds,
        config=config,
        source=values["source"],
        started_at=started_at,
        marks=marks,
        questions_from=[str(name) for name in values.get("questions_from") or ()],
    )


def _first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The dotted name of the first value in which two trees differ; empty if they are the same."""
    for name in sorted({*one, *other}):
        mine, theirs = one.get(name), other.get(name)
        if mine != theirs:
            inner = _first_difference(mine, theirs) if isinstance(mine, Mapping) and isinstance(theirs, Mapping) else ""
            return f"{name}.{inner}" if inner else name
    return ""


def _refuse_other_settings(folder: Path, inputs: Inputs, *, is_new_round: bool) -> None:
    """Refuse other crawl settings than the store was made with: the dataset would mix two crawls.

    The searched sites or archives may change in a new round: a refresh is meant for that.
    """
    before = _read_made_with(folder)
    for part, values in _made_with(inputs).items():
        name = _first_difference(values, before[part])
        if name and not (part == "source" and is_new_round):
            again = "--refresh to crawl the next version, " if part == "source" else ""
            remedy = f"add {again}--fresh to start a new crawl, or choose another --out"
            raise DataError(folder, f"was crawled with another {name!r}", remedy)


def _take_other_questions(folder: Path, inputs: Inputs, turn: Round, stored: Round) -> None:
    """Other questions are another dataset: they need a higher major version, and another name another folder."""
    name = inputs.config.name
    refuse_other_name(folder, _read_made_with(folder)["config"].get("name", name), name)
    before = stored_questions(folder / QUESTIONS_FILE, folder / GOLD_FILE)
    changes = question_changes(before, (inputs.questions, inputs.golds)) if before is not None else None
    if changes is None:
        return
    refuse_changes(folder, changes, stored.version, turn.version)
    say(f"questions changed: {changes}")
    # The lower version stays until they are all written: a kill in between must not make the next run a refusal.
    _write_config(folder, replace(inputs, config=replace(inputs.config, version=stored.version)), turn)
    _write_questions(folder, inputs)


def _begin(store: CrawlStore, inputs: Inputs, turn: Round, stored: Round | None) -> Inputs:
    """Put the store into this round of its crawl, durably, before anything is asked."""
    if stored is not None:
        _refuse_other_settings(store.folder, inputs, is_new_round=turn.number != stored.number)
        _take_other_questions(store.folder, inputs, turn, stored)
    if turn.version != inputs.config.version:
        say(why_other_version(turn, stored, inputs.config.version))
    inputs = replace(inputs, config=replace(inputs.config, version=turn.version))
    store.round = turn.number
    write_inputs(store.folder, inputs, turn)
    note("build", round=turn.number, version=turn.version, questions=len(inputs.questions))
    return inputs


def _crawl(
    store: CrawlStore, chain: Chain | None, inputs: Inputs, turn: Round, workers: int, allow_partial: bool, sleep: Sleep
) -> Round:
    """Crawl, and return the round as it is after that."""
    n_unsearched = 0
    if chain is not None:
        now = build_clock(inputs.config.clock, is_offline=is_offline(chain.name))
        with _writing(store.folder), early_extraction(store, inputs, workers) as on_kept:
            n_unsearched = crawl(
                inputs.questions,
                store,
                chain,
                inputs.config,
                now,
                allow_partial=allow_partial,
                sleep=sleep,
                on_kept=on_kept,
            )
    done = replace(turn, is_finished=not n_unsearched)
    _write_config(store.folder, inputs, done)
    return done


def _earlier(before: Manifest | None, turn: Round, stored: Round | None, settings_version: str) -> Manifest | None:
    """The dataset that a refresh would replace by the next minor version, which is needed only if something changed.

    None if this is not a refresh, or if the settings ask for another version.
    """
    is_refresh = stored is not None and turn.number > 0 and (turn.number > stored.number or not stored.is_finished)
    if before is None or not is_refresh or turn.version != next_minor(before.version):
        return None
    return before if newer(before.version, settings_version) == before.version else None


def _keep_version(folder: Path, inputs: Inputs, turn: Round, made: Manifest) -> None:
    """Note in the store that a refresh changed nothing, so that its round makes the version before."""
    if made.version != inputs.config.version:
        say(f"nothing changed since {made.id}: the version stays")
        _write_config(folder, replace(inputs, config=replace(inputs.config, version=made.version)), turn)


def _derive(
    store: StoreReader,
    inputs: Inputs,
    out: Path,
    workers: int,
    report: Path,
    log: Path,
    *,
    allow_partial: bool,
    earlier: Manifest | None = None,
    encoders: Encoders | None = None,
) -> Manifest:
    before = dataset_at(out)
    with _writing(out):
        manifest = derive(store, inputs, out, workers, allow_partial=allow_partial, earlier=earlier, encoders=encoders)
    say_replaced(before, manifest)
    note("dataset", id=manifest.id)
    say(f"dataset: {out}: {manifest.id}")
    if isinstance(n_with := manifest.sources.get("questions_with_evidence"), int):
        say(evidence_sentence(n_with, manifest.sources["questions"]))
    with _writing(report):
        say(f"report: {write_report(report, log, out, manifest)}")
    return manifest


def _opened(config: BuildConfig, sleep: Sleep) -> tuple[Chain | None, dict[str, Any]]:
    """The engines, and the sources that they search."""
    with _writing(Path(tempfile.gettempdir())), Stage("index", 1, is_logged_only=True) as stage:
        chain = open_chain(config.search, config.fetch.agent_header, sleep, proxy=config.fetch.proxy)
        source = dict(chain.source()) if chain is not None else {}
        stage.add("done")
    return chain, source


def _drawn(
    sample: Sample,
    questions: Sequence[Question],
    golds: Sequence[Gold],
    marks: Mapping[str, list[MarkedText]],
) -> tuple[list[Question], list[Gold], dict[str, list[MarkedText]]]:
    """The questions of a sample in the order of their files, with their gold and their marks."""
    chosen = {question.question_id for question in choose(questions, sample, by_split=True)}
    say(f"sample: {sample.n:,} of {len(questions):,} questions, seed {sample.seed}")
    return (
        [question for question in questions if question.question_id in chosen],
        [gold for gold in golds if gold.question_id in chosen],
        {question_id: texts for question_id, texts in marks.items() if question_id in chosen},
    )


def _prepare_workers(config: BuildConfig) -> None:
    """Let the process that page workers are forked from load its libraries, while an engine of files reads them."""
    if config.search.chain and is_offline(config.search.engine) and config.scale.executor == "none":
        load_libraries()


def build(
    questions: Sequence[QuestionSource],
    out: Path,
    config: BuildConfig,
    *,
    split: str | None = None,
    columns: ColumnMap | None = None,
    workers: int = 1,
    allow_partial: bool = False,
    fresh: bool = False,
    resume: bool = False,
    refresh: bool = False,
    version: str | None = None,
    sample: Sample | None = None,
    sleep: Sleep = time.sleep,
    encoders: Encoders | None = None,
) -> Manifest:
    """Build the dataset folder `out` and its crawl store from questions; go on where the store has answers.

    `columns` names the columns of question files, where their own names do not. `sample`: only these questions, drawn
    within splits, kinds and numbers of choices; the manifest names the draw.
    `encoders` are those that `[label] vectors` may name.
    `fresh` forgets the store first; `resume` insists that there is one; `refresh` asks again for everything in it and
    makes the next minor version, or `version`. Raises our errors for what a user can fix: unreadable questions,
    unknown engines, an engine that stops answering, a disk that is full.
    """
    _check_names(config, encoders)
    refuse_foreign(out)
    folder = store_folder(out)
    if not fresh and (before := dataset_at(out)) is not None:
        refuse_other_name(out, before.name, config.name)
    if (resume or refresh) and not is_store(folder):
        option = "--resume" if resume else "--refresh"
        raise DataError(folder, "is not a crawl store", f"leave out {option} to begin one")
    with logging_to(BuildLog()) as log:
        with one_budget_a_file():  # CRAG's archives are read for their questions, and again for their pages
            read, golds, origins, _ = read_question_set(questions, split, columns)
            match_gold(read, golds, questions[0])
            marks = read_marks(Path(config.label.marks), read) if config.label.marks is not None else {}
            n_questions = len(read) if sample is None else sample.n
            if n_questions >= MIN_PAGES and (fresh or refresh or not is_store(folder)):
                _prepare_workers(config)
            chain, source = _opened(config, sleep)
        if sample is not None:
            source["sample"] = {"name": sample.name, "of": len(read)}
            read, golds, marks = _drawn(sample, read, golds, marks)
        started_at = LOCAL_INSTANT if chain else build_clock(config.clock, is_offline=True)()
        inputs = Inputs(
            questions=read,
            golds=golds,
            config=config,
            source=source,
            started_at=started_at,
            marks=marks,
            questions_from=origins,
        )
        if fresh:
            forget_store(folder)
        with CrawlStore(folder, create=True) as store:
            log.open(folder / LOG_FILE)
            stored = read_round(folder)
            turn = next_round(
                stored, config.version, out, refresh=refresh, allow_partial=allow_partial, forced_version=version
            )
            earlier = _earlier(dataset_at(out), turn, stored, config.version) if version is None else None
            inputs = _begin(store, inputs, turn, stored)
            turn = _crawl(store, chain, inputs, turn, workers, allow_partial, sleep)
            report, path = folder / REPORT_FILE, folder / LOG_FILE
            made = _derive(
                store,
                inputs,
                out,
                workers,
                report,
                path,
                allow_partial=allow_partial,
                earlier=earlier,
                encoders=encoders,
            )
            _keep_version(folder, inputs, turn, made)
            return made


def _refuse_unanswered(store: StoreReader, inputs: Inputs) -> None:
    """Raise DataError if a finished crawl has questions without an answer: rows of its index are missing."""
    config = inputs.config.search
    if not config.chain:
        return
    n = sum(answer_to(question, store, config).state not in ANSWERED for question in inputs.questions)
    if n:
        what = f"its crawl is finished, but {n:,} of {len(inputs.questions):,} questions have no answer in its index"
        raise DataError(store.folder, what, "run the same `edu-rag build` again with --resume, or add --allow-partial")


def replay(
    folder: Path,
    out: Path,
    *,
    workers: int = 1,
    extractor: str | None = None,
    executor: str | None = None,
    allow_partial: bool = False,
    without_vectors: bool = False,
    encoders: Encoders | None = None,
) -> Manifest:
    """The dataset again from its crawl store alone, with the network off: the same bytes. The store does not change.

    Raises DataError for a store whose crawl is not finished, unless `allow_partial`.
    """
    refuse_foreign(out)
    out = out.absolute()
    with closing(StoreReader(folder)) as store, logging_to(BuildLog()) as log:
        inputs = with_changes(read_inputs(folder), extractor, executor, without_vectors=without_vectors)
        _check_names(inputs.config, encoders)
        turn = read_round(folder)
        if turn is not None and not turn.is_finished and not allow_partial:
            remedy = "run the same `edu-rag build` again with --resume, or add --allow-partial"
            raise DataError(folder, "its crawl is not finished", remedy)
        if not allow_partial:
            _refuse_unanswered(store, inputs)
        out.parent.mkdir(parents=True, exist_ok=True)
        log.open(replay_file(out, LOG_FILE))
        note("replay", version=inputs.config.version, questions=len(inputs.questions))
        report, path = replay_file(out, REPORT_FILE), replay_file(out, LOG_FILE)
        return _derive(store, inputs, out, workers, report, path, allow_partial=allow_partial, encoders=encoders)
