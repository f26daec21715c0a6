"""The builder's commands: build, replay and crawl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.question_sets.source_options import SOURCES_HELP, MapCommand, SourceType, map_option
from edu_rag.names import MAX_SAMPLE, Sample

if TYPE_CHECKING:
    from builder.config import BuildConfig
    from builder.question_sets.dataset_sources import QuestionSource
    from builder.question_sets.question_columns import ColumnMap
    from edu_rag.files.manifest import Manifest
    from edu_rag.files.sentence_vectors import Encoders

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_EXECUTORS = click.Choice(["none", "local", "ray", "slurm"])


def _report(manifest: Manifest, as_json: bool) -> None:
    import msgspec

    if as_json:
        stats = {"id": manifest.id, "created_at": manifest.created_at, **manifest.sources}
        click.echo(msgspec.json.format(msgspec.json.encode(stats), indent=2).decode())
        return
    click.echo(manifest.id)
    for name in ("questions", "unsearched", "hits", "pages", "pages_per_question", "characters_per_page"):
        value = manifest.sources.get(name)
        if value is not None:
            click.echo(f"{name.replace('_', ' '):<20} {value:>12,}")


def _changes(**options: Any) -> dict[str, Any]:
    """The command line's options as a tree of settings, those that were not given left out."""
    tree: dict[str, Any] = {}
    for dotted, value in options.items():
        if value is None:
            continue
        *parents, last = dotted.split("__")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return tree


@click.command(cls=MapCommand)
@click.argument("config", type=_FILE, required=False)
@click.option("--questions", "questions", type=SourceType(), multiple=True, required=True, help=SOURCES_HELP)
@map_option
@click.option(
    "--engine",
    help="Search engine: folder (default), zim, google, serper, brave, ddgs, searxng, wikipedia, recorded, crag, none, "
    "or one that an installed package brings; A,B is a chain.",
)
@click.option("--out", type=_FOLDER, required=True, help="Dataset folder to write; the crawl store goes to OUT.crawl.")
@click.option("--profile", metavar="NAME", help="Start from a named set of settings: edu-rag-paper.")
@click.option("--sample", type=click.IntRange(1, MAX_SAMPLE), metavar="N", help="Use a stratified sample of N.")
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Seed of the sample.")
@click.option("--dry-run", is_flag=True, help="Print queries, price, time and disk space, and do nothing else.")
@click.option("--sites", type=_FOLDER, help="Folder of web sites, for the folder engine.")
@click.option("--split", help="Split of the questions whose file does not name one, or the one to read.")
@click.option("--name", help="Dataset name, for the manifest.")
@click.option("--version", "dataset_version", metavar="X.Y.Z", help="Dataset version, for the manifest.")
@click.option(
    "--extractor",
    help="Text extractor: cascade-v3 (default), cascade-v4 (for news), cascade-v2, cascade-v1, trafilatura-v1,"
    " resiliparse-v1, bs4-v1 or newspaper3k-v1.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of extraction processes; the number of cores by default."
)
@click.option(
    "--executor", type=_EXECUTORS, help="Where to extract pages: in this process (none) or with datatrove; see [scale]."
)
@click.option("--resolver", metavar="ADDRESS", help="Name server to ask for hosts of pages; the system's by default.")
@click.option(
    "--allow-partial",
    is_flag=True,
    help="Write the dataset even if questions are not searched or too many pages were lost.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Fail unless there is a crawl store to resume from. (One is always used if it exists.)",
)
@click.option(
    "--refresh",
    is_flag=True,
    help="Search and fetch everything again, and write the next minor version if anything changed.",
)
@click.option("--fresh", is_flag=True, help="Delete the crawl store and start a new crawl.")
@click.option("--json", "as_json", is_flag=True, help="Print the final statistics, or the dry run, as JSON.")
@click.pass_obj
def build(
    encoders: Encoders | None,
    config: Path | None,
    questions: tuple[QuestionSource, ...],
    mapping: tuple[str, ...],
    engine: str | None,
    out: Path,
    profile: str | None,
    sample: int | None,
    seed: int,
    dry_run: bool,
    sites: Path | None,
    split: str | None,
    name: str | None,
    dataset_version: str | None,
    extractor: str | None,
    workers: int | None,
    executor: str | None,
    resolver: str | None,
    allow_partial: bool,
    resume: bool,
    refresh: bool,
    fresh: bool,
    as_json: bool,
) -> None:
    """Build a dataset folder from questions and a search engine.

    Searches the web for every question, fetches what it finds (politely: robots.txt, limits, time-outs), extracts
    clean text and labels evidence. Every response is kept in OUT.crawl: the same command resumes an interrupted build,
    and `edu-rag replay` rebuilds the same dataset without the network. A page with a temporary error is requested again
    by the next runs, three times in all, and after that by --refresh alone. --refresh asks the servers for changes,
    keeps unchanged pages, and writes the next minor version; if nothing changed, the version stays.

    If more than 5 % of the search results ([build] max_lost) were lost to the network or to busy servers, or no page is
    left at all, the dataset is not written and the exit code is 1.

    CONFIG.toml holds the settings (name, version, [build], [search], [fetch], [extract], [filter], [label], [scale]).
    Options on the command line override it, and it overrides --profile. --dry-run reads the questions and asks nothing.

    \b
    Example:
      edu-rag build --questions questions.jsonl --engine folder --sites sites --out dataset
      edu-rag build --questions questions.jsonl --engine folder --sites sites --out dataset --refresh
      edu-rag build --questions questions.csv --engine none --out closed-book
      edu-rag build --questions hf:allenai/ai2_arc:ARC-Easy --split test --engine none --out arc
      edu-rag build --questions quiz.csv --map question=stem choices=w,x,y,z answer=key --engine none --out quiz
      edu-rag build --questions questions.jsonl --engine ddgs,wikipedia --sample 50 --name trial --out trial
      edu-rag build --questions questions.jsonl --profile edu-rag-paper --engine serper --out paper --dry-run
      edu-rag build --questions dev_sample.jsonl.bz2 --engine crag --name crag-sample --out crag
    """
    from builder.build import build as run
    from builder.build import n_cores
    from builder.config import read_config
    from builder.question_sets.question_columns import parse_map

    columns = parse_map(mapping)
    changes = _changes(
        name=name,
        version=dataset_version,
        search__engine=engine,
        search__engines=[] if engine is not None else None,
        extract__extractor=extractor,
        search__folder__sites=str(sites) if sites is not None else None,
        scale__executor=executor,
        fetch__resolver=resolver,
        search__crag__files=[str(path) for path in questions] if "crag" in (engine or "").split(",") else None,
    )
    if fresh and (resume or refresh):
        raise click.UsageError("--fresh deletes the crawl store that --resume and --refresh need; give one of them.")
    settings, drawn = read_config(config, changes, profile), Sample(sample, seed) if sample is not None else None
    if dry_run:
        _print_rehearsal(questions, columns, out, settings, split, drawn, fresh or refresh, as_json)
        return
    manifest = run(
        questions,
        out,
        settings,
        split=split,
        columns=columns,
        workers=workers or n_cores(),
        allow_partial=allow_partial,
        fresh=fresh,
        resume=resume,
        refresh=refresh,
        version=dataset_version,
        sample=drawn,
        encoders=encoders,
    )
    _report(manifest, as_json)


def _print_rehearsal(
    questions: tuple[QuestionSource, ...],
    columns: ColumnMap | None,
    out: Path,
    config: BuildConfig,
    split: str | None,
    sample: Sample | None,
    again: bool,
    as_json: bool,
) -> None:
    import msgspec

    from builder.question_sets.question_files import read_question_set
    from builder.rehearsal import rehearse
    from builder.store.store_folder import store_folder
    from edu_rag.draw_sample import choose

    read = read_question_set(questions, split, columns).questions
    found = rehearse(
        read if sample is None else choose(read, sample, by_split=True), config, store_folder(out), again=again
    )
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    for line in found.lines():
        click.echo(line)


@click.command()
@click.argument("store", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Dataset folder to write.")
@click.option("--extractor", help="Use another text extractor than the build.")
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of extraction processes; the number of cores by default."
)
@click.option(
    "--executor", type=_EXECUTORS, help="Where to extract pages: in this process (none) or with datatrove; see [scale]."
)
@click.option(
    "--allow-partial",
    is_flag=True,
    help="Write the dataset even if the crawl is not finished or lost too many pages.",
)
@click.option("--no-vectors", is_flag=True, help="Leave sentence vectors out; the dataset's id stays the same.")
@click.option("--json", "as_json", is_flag=True, help="Print the final statistics as JSON.")
@click.pass_obj
def replay(
    encoders: Encoders | None,
    store: Path,
    out: Path,
    extractor: str | None,
    workers: int | None,
    executor: str | None,
    allow_partial: bool,
    no_vectors: bool,
    as_json: bool,
) -> None:
    """Rebuild a dataset from its crawl store, without the network.

    The same store and settings give the same bytes, and the store does not change. Use --extractor to extract the text
    again without crawling again.

    \b
    Example:
      edu-rag replay dataset.crawl --out again
    """
    from builder.build import n_cores
    from builder.build import replay as run

    manifest = run(
        store,
        out,
        workers=workers or n_cores(),
        extractor=extractor,
        executor=executor,
        allow_partial=allow_partial,
        without_vectors=no_vectors,
        encoders=encoders,
    )
    _report(manifest, as_json)


@click.group()
def crawl() -> None:
    """Look after a crawl store: what `edu-rag build` keeps in DATASET.crawl.

    \b
    Example:
      edu-rag crawl status dataset.crawl
      edu-rag crawl rebuild-index dataset.crawl
    """


@crawl.command()
@click.argument("store", type=_FOLDER)
@click.option("--hosts", type=click.IntRange(0, 1_000_000), default=20, show_default=True, help="Hosts to list.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(store: Path, hosts: int, as_json: bool) -> None:
    """Show what a crawl has done, what failed, and what waits for the next run, by host and cause.

    STORE is a crawl store or its dataset folder. A build may be running on it. Nothing is changed.

    \b
    Example:
      edu-rag crawl status dataset.crawl
    """
    from edu_rag.progress import say

    say(f"read the crawl of {store}")

    import msgspec

    from builder.crawl_status import crawl_status, find_store

    found = crawl_status(find_store(store))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found.plain()), indent=2).decode())
        return
    for line in found.lines(hosts):
        click.echo(line)


@crawl.command("rebuild-index")
@click.argument("store", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def rebuild_index(store: Path, as_json: bool) -> None:
    """Make index.sqlite3 again from responses.warc.gz alone.

    For an index that is lost, damaged, or older than the WARC file. The WARC file does not change, and the old index is
    kept under another name. A damaged record is left out and reported: `edu-rag build --resume` fetches its page again.

    \b
    Example:
      edu-rag crawl rebuild-index dataset.crawl
    """
    import msgspec

    from builder.store.rebuild import rebuild_index as run
    from edu_rag.progress import say

    found = run(store)
    if found.old_index:
        say(f"the old index is kept as {store / found.old_index}")
    if found.pages_lost:
        say("the same `edu-rag build` with --resume fetches the lost pages again")
    if as_json:
        click.echo(msgspec.json.encode(found.counts()).decode())
        return
    for name, value in found.counts().items():
        click.echo(f"{name:<20} {value:>12,}")
