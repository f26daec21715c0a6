"""The commands of `edu-rag dataset`: a dataset folder's life after it was built."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


def _echo_json(values: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(values), indent=2).decode())


@click.group()
def dataset() -> None:
    """Make, check, audit, compare, correct, export and publish dataset folders.

    \b
    Example:
      edu-rag dataset check dataset
      edu-rag dataset audit dataset
    """


@dataset.command()
@click.argument("recipe", metavar="NAME-OR-RECIPE.toml")
@click.option("--out", type=_FOLDER, metavar="DIR", help="Dataset folder to write; NAME-VERSION by default.")
@click.option(
    "--sources",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Folder with the archives of the sources; without it they are downloaded.",
)
@click.option("--workers", type=click.IntRange(1, 256), help="Number of processes; the number of cores by default.")
@click.option("--any-content", is_flag=True, help="Accept another content hash than the recipe's.")
def make(recipe: str, out: Path | None, sources: Path | None, workers: int | None, any_content: bool) -> None:
    """Make a dataset by its recipe from public sources.

    A recipe names each source's archive at a commit, its licence and the hash of its files. The command downloads the
    archives (or takes them from --sources), verifies them, builds the dataset, and compares its content hash with the
    recipe's. The archives stay in OUT.archives. NAME is a recipe of the project: open-textbooks.

    \b
    Example:
      edu-rag dataset make open-textbooks --out open-textbooks
      edu-rag dataset make open-textbooks --sources archives --out open-textbooks
    """
    from builder.build import n_cores
    from builder.recipes.dataset_recipe import read_recipe
    from builder.recipes.make_dataset import make_dataset

    followed = read_recipe(recipe)
    folder = out or Path(f"{followed.name}-{followed.version}")
    manifest = make_dataset(followed, folder, sources=sources, workers=workers or n_cores(), confirm=not any_content)
    click.echo(manifest.id)


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--hidden", multiple=True, metavar="SPLIT", help="Fail if this split's gold is in the folder; repeatable."
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print tables, errors and warnings as JSON.")
def check(folder: Path, hidden: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Check a dataset folder for errors and revealed gold answers.

    Checks hashes, columns, order, references, sentences, spans and labels. Prints one line per table, or every error
    with exit code 1. Warnings need a person's judgement: they cause a failure only with --strict.

    \b
    Example:
      edu-rag dataset check dataset
      edu-rag dataset check dataset --hidden test --strict
    """
    from edu_rag.progress import say

    say(f"check {folder}")

    from builder.dataset.check_dataset import check_folder
    from edu_rag.errors import FaultsError

    report = check_folder(folder, hidden)
    if as_json:
        _echo_json(report.values())
    for warning in report.warnings.to_print():
        say(f"warning: {warning}")
    failing = report.faults.to_print() + (report.warnings.to_print() if strict else [])
    if failing:
        raise FaultsError(failing)
    if not as_json:
        for name, rows in report.rows.items():
            click.echo(f"{name:<24} {rows:>9,} rows, sound")
        for name in report.absent:
            click.echo(f"{name:<24} left out: it would give away a hidden split's gold")


@dataset.command()
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
@click.option(
    "--write", is_flag=True, help="Write CHANGES.md into NEW: the changes, then the sections of OLD/CHANGES.md."
)
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
def diff(old: Path, new: Path, write: bool, as_json: bool) -> None:
    """List the changes from dataset OLD to dataset NEW.

    Also checks the version of NEW. Changed questions or gold need a new major version; pages, evidence or labels a
    minor one; metadata a patch. Exits 1 and writes nothing if the version step is too small.

    \b
    Example:
      edu-rag dataset diff dataset-1.0.0 dataset
      edu-rag dataset diff dataset-1.0.0 dataset --write
    """
    from edu_rag.progress import say

    say(f"compare {old} with {new}")

    from builder.dataset.changes_file import diff_lines, summary_of, write_changes
    from builder.dataset.diff import compare_folders
    from edu_rag.errors import DataError

    found = compare_folders(old, new)
    if as_json:
        _echo_json(found.values())
    else:
        click.echo("\n".join(diff_lines(found)))
    if found.fault is not None:
        raise DataError(new, found.fault, "raise `version` in build.toml and build again")
    if write:
        write_changes(new, old, summary_of(found))
        say(f"written: {new / 'CHANGES.md'}")


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.argument("target", metavar="URL|HOST|SHA256")
@click.option(
    "--reason", default="asked for by its owner", show_default=True, help="Reason, for the crawl store and CHANGES.md."
)
@click.option("--results", type=_FOLDER, help="Folder of scorecards; lists those that need scoring again.")
@click.option("--store", type=_FOLDER, help="Crawl store; FOLDER.crawl by default if it exists.")
@click.option("--out", type=_FOLDER, help="Folder for the next version; FOLDER itself by default.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was removed as JSON.")
def takedown(
    folder: Path,
    target: str,
    reason: str,
    results: Path | None,
    store: Path | None,
    out: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove a page, a host or a file from the dataset permanently.

    Removes its pages, evidence and leaks, marks its hits `taken_down`, and raises the minor version. The crawl store
    keeps the take-down, so that replays and later builds do not bring the page back.

    \b
    Example:
      edu-rag dataset takedown dataset https://example.org/page.html --reason "owner asked" --dry-run
      edu-rag dataset takedown dataset example.org --reason "owner asked" --results results
    """
    from datetime import UTC, datetime

    from builder.dataset.takedown import TakedownRequest, run_takedown, summary_lines

    request = TakedownRequest(
        folder=folder,
        target=target,
        reason=reason,
        results=results,
        store=store,
        out=out,
        dry_run=dry_run,
        at=datetime.now(UTC).replace(microsecond=0),
    )
    summary = run_takedown(request)
    if as_json:
        _echo_json(summary)
    else:
        click.echo("\n".join(summary_lines(summary)))


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option("--store", type=_FOLDER, help="Crawl store, to show the server responses for dropped pages.")
@click.option(
    "--examples", type=click.IntRange(0, 100), default=3, show_default=True, help="Number of examples of each kind."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def audit(folder: Path, store: Path | None, examples: int, as_json: bool) -> None:
    """Report broken questions, and which pages were dropped and why.

    Questions: truncated, dependent on missing context, duplicated, or with a wrong key. Pages: every reason why a
    search result is not in the dataset; hosts, flags, leaks and evidence. Prints counts with examples; `*` marks gold.

    \b
    Example:
      edu-rag dataset audit dataset --store dataset.crawl
      edu-rag dataset audit dataset --examples 20 --json
    """
    from builder.dataset.audit_dataset import audit as run
    from builder.dataset.audit_dataset import audit_lines, audit_values

    found = run(folder, store, examples)
    if as_json:
        _echo_json(audit_values(found))
    else:
        click.echo("\n".join(audit_lines(found)))


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--to",
    "target",
    type=click.Choice(["chat", "inspect", "lm-eval", "beir", "trec"]),
    default="chat",
    show_default=True,
    help="Format: fine-tuning pairs, a task of Inspect or lm-eval, or a retrieval collection.",
)
@click.option(
    "--kind",
    type=click.Choice(["qa", "qa-pages", "negatives", "all"]),
    default="all",
    show_default=True,
    help='Pairs: without pages, with pages, or with unrelated pages and "I don\'t know".',
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="JSON Lines file to write for chat; a new folder for the other formats.",
)
@click.option("--split", help="Split to export; for chat, test splits must be named explicitly.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for the choice of unrelated pages.")
@click.option(
    "--max-characters",
    type=click.IntRange(500, 200_000),
    default=7_500,
    show_default=True,
    help="Maximum length of the pages of one question, in characters.",
)
@click.pass_context
def export(
    context: click.Context,
    folder: Path,
    target: str,
    kind: str,
    out: Path,
    split: str | None,
    seed: int,
    max_characters: int,
) -> None:
    """Export a split for fine-tuning, or for other evaluation programs.

    chat: fine-tuning pairs as JSON Lines of chat messages. Questions that also occur in another split are left out, and
    so are pages that leak a question of any split. Unrelated pages come from other questions; they contain neither
    evidence nor the gold answer.

    inspect, lm-eval: a folder with a task that `inspect eval` or `lm_eval` runs, graded by the rules of this package.
    beir, trec: a folder with pages, questions and relevance judgements for retrieval.

    \b
    Example:
      edu-rag dataset export dataset --split train --out pairs.jsonl
      edu-rag dataset export dataset --split train --kind negatives --seed 7 --out negatives.jsonl
      edu-rag dataset export dataset --split test --to inspect --out inspect-task
    """
    from builder.exports.export_folder import TARGETS, export_folder
    from builder.exports.export_pairs import KINDS, Export, chosen_split, licence_line
    from builder.exports.export_pairs import export as run
    from edu_rag.files.dataset import Dataset
    from edu_rag.progress import say

    _require_used(context, target)
    opened = Dataset(folder)
    if target == "chat":
        kinds = KINDS if kind == "all" else (kind,)
        chosen = chosen_split(opened, split)
        settings = Export(kinds=kinds, split=chosen, seed=seed, max_characters=max_characters)
        for name, n in run(opened, settings, out).items():
            click.echo(f"{name:<40} {n:>9,}")
    else:
        (named,) = (one for one in TARGETS if one == target)
        click.echo("\n".join(export_folder(opened, opened.only_split(split), named, out, max_characters)))
    say(licence_line(opened))


def _require_used(context: click.Context, target: str) -> None:
    """Raise UsageError for an option that has no effect on this format."""
    unused = {"chat": (), "inspect": ("kind", "seed"), "lm-eval": ("kind", "seed")}
    for name in unused.get(target, ("kind", "seed", "max_characters")):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} has no effect with --to {target}.")


@dataset.command()
@click.argument("folder", type=_FOLDER)
def card(folder: Path) -> None:
    """Regenerate the card and the plots of a dataset folder.

    Writes README.md, croissant.json and the plots from the tables. The version and the content hash stay the same, so
    existing results remain valid.

    \b
    Example:
      edu-rag dataset card dataset
    """
    from builder.documents.dataset_documents import rewrite_documents

    click.echo(rewrite_documents(folder).id)
