"""The builder's commands: build, replay, dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from edu_rag.manifest import Manifest

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


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


@click.command()
@click.argument("config", type=_FILE, required=False)
@click.option("--questions", "questions", type=_FILE, multiple=True, required=True, help="Question file; repeatable.")
@click.option("--engine", help="folder (the default), google, or none (questions and gold only).")
@click.option("--out", type=_FOLDER, required=True, help="The dataset folder to write; its crawl store lies beside it.")
@click.option("--sites", type=_FOLDER, help="For the folder engine: the folder of web sites.")
@click.option("--split", help="The split of questions whose file does not say it.")
@click.option("--name", help="The dataset's name in its manifest.")
@click.option("--version", "dataset_version", metavar="X.Y.Z", help="The dataset's version in its manifest.")
@click.option(
    "--extractor", help="How HTML becomes text: trafilatura-v1 (default), newspaper3k-v1 (the paper's), bs4-v1."
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Extraction processes.")
@click.option("--allow-partial", is_flag=True, help="Write the dataset even where questions could not be searched.")
@click.option("--fresh", is_flag=True, help="Forget the crawl store and crawl anew.")
@click.option("--json", "as_json", is_flag=True, help="Print the final statistics as JSON.")
def build(
    config: Path | None, questions: tuple[Path, ...], engine: str | None, out: Path, sites: Path | None,
    split: str | None, name: str | None, dataset_version: str | None, extractor: str | None, workers: int,
    allow_partial: bool, fresh: bool, as_json: bool,
) -> None:  # fmt: skip
    """Questions + a search engine -> a dataset folder.

    Searches the web for every question, fetches what it finds (politely: robots.txt, limits, time-outs), extracts
    clean text and labels evidence. Whatever was fetched is kept in OUT.crawl: running the same command again resumes,
    and `edu-rag replay` makes the same dataset from it without the network.

    CONFIG.toml holds the settings (name, version, [search], [fetch], [extract]); options given here win over it.

    \b
    Example:
      edu-rag build --questions questions.jsonl --engine folder --sites sites --out dataset
      edu-rag build --questions questions.jsonl --engine none --out closed-book
    """
    from builder.build import build as run
    from builder.config import read_config

    changes = _changes(
        name=name, version=dataset_version, search__engine=engine, extract__extractor=extractor,
        search__folder__sites=str(sites) if sites is not None else None,
    )  # fmt: skip
    manifest = run(
        questions, out, read_config(config, changes), split=split, workers=workers, allow_partial=allow_partial,
        fresh=fresh,
    )  # fmt: skip
    _report(manifest, as_json)


@click.command()
@click.argument("store", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="The dataset folder to write.")
@click.option("--extractor", help="Extract anew with another extractor.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Extraction processes.")
@click.option("--json", "as_json", is_flag=True, help="Print the final statistics as JSON.")
def replay(store: Path, out: Path, extractor: str | None, workers: int, as_json: bool) -> None:
    """The same dataset again from the crawl store alone, network off.

    The dataset is a function of store and settings: a replay gives the same bytes. With another --extractor it is
    the cheap way to redo the text without crawling again.

    \b
    Example:
      edu-rag replay dataset.crawl --out again
    """
    from builder.build import replay as run

    _report(run(store, out, workers=workers, extractor=extractor), as_json)


@click.group()
def dataset() -> None:
    """Look at a dataset folder.

    \b
    Example:
      edu-rag dataset check dataset
    """


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print tables and rows as JSON.")
def check(folder: Path, as_json: bool) -> None:
    """Is this dataset folder whole? Hashes, columns, and every reference between its tables.

    Prints one line a table; the first fault ends the check with one line and exit code 1.

    \b
    Example:
      edu-rag dataset check dataset
    """
    import msgspec

    from builder.check import check_dataset

    tables = check_dataset(folder)
    if as_json:
        click.echo(msgspec.json.encode(dict(tables)).decode())
        return
    for name, rows in tables:
        click.echo(f"{name:<24} {rows:>9,} rows, sound")
