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
    """A dataset folder's life: check, look, compare, take down, publish.

    \b
    Example:
      edu-rag dataset check dataset
      edu-rag dataset audit dataset
    """


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option("--hidden", multiple=True, metavar="SPLIT", help="A split whose gold must not be here; repeatable.")
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@click.option("--json", "as_json", is_flag=True, help="Print tables, faults and warnings as JSON.")
def check(folder: Path, hidden: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Is this dataset folder whole, and does nothing in it give the gold away?

    Hashes, columns, order, references, sentences, spans, labels. Prints one line a table where all is well; else
    every fault, one a line, and exit code 1. Warnings are for a person to judge: they fail only with --strict.

    \b
    Example:
      edu-rag dataset check dataset
      edu-rag dataset check dataset --hidden test --strict
    """
    from builder.dataset.check import check_folder
    from edu_rag.errors import FaultsError
    from edu_rag.progress import say

    report = check_folder(folder, hidden)
    if as_json:
        _echo_json(report.values())
    for warning in report.warnings.told():
        say(f"warning: {warning}")
    failing = report.faults.told() + (report.warnings.told() if strict else [])
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
@click.option("--write", is_flag=True, help="Write CHANGES.md into NEW, above the sections of OLD's.")
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
def diff(old: Path, new: Path, write: bool, as_json: bool) -> None:
    """What changed from dataset OLD to dataset NEW, and does NEW's version say so?

    Questions or gold changed: a major step. Pages, evidence or labels: minor. Metadata alone: patch. Exit code 1
    where NEW's version makes a smaller step than its changes demand; then nothing is written.

    \b
    Example:
      edu-rag dataset diff dataset-1.0.0 dataset
      edu-rag dataset diff dataset-1.0.0 dataset --write
    """
    from builder.dataset.changes import diff_lines, summary_of, write_changes
    from builder.dataset.diff import compare_folders
    from edu_rag.errors import DataError
    from edu_rag.progress import say

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
@click.option("--reason", default="asked for by its owner", show_default=True, help="Why, for store and CHANGES.md.")
@click.option("--results", type=_FOLDER, help="A folder of scorecards: those of this version are listed.")
@click.option("--store", type=_FOLDER, help="The crawl store; FOLDER.crawl if it is there.")
@click.option("--out", type=_FOLDER, help="Where to write the next version; in place if not given.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was taken down as JSON.")
def takedown(
    folder: Path, target: str, reason: str, results: Path | None, store: Path | None, out: Path | None, dry_run: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Take a page, a host or a file out of the dataset, for good.

    Its hits stay on record as `taken_down`; pages, evidence and leaks go; the version is raised by a minor step; the
    crawl store remembers, so that no replay or later build brings it back.

    \b
    Example:
      edu-rag dataset takedown dataset https://example.org/page.html --reason "owner asked" --dry-run
      edu-rag dataset takedown dataset example.org --reason "owner asked" --results results
    """
    from datetime import UTC, datetime

    from builder.dataset.takedown_run import Request, run_takedown, told_lines

    request = Request(
        folder=folder, target=target, reason=reason, results=results, store=store, out=out, dry_run=dry_run,
        at=datetime.now(UTC).replace(microsecond=0),
    )  # fmt: skip
    told = run_takedown(request)
    if as_json:
        _echo_json(told)
    else:
        click.echo("\n".join(told_lines(told)))


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option("--store", type=_FOLDER, help="The crawl store, for what servers said to what was dropped.")
@click.option("--examples", type=click.IntRange(0, 100), default=3, show_default=True, help="Examples of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def audit(folder: Path, store: Path | None, examples: int, as_json: bool) -> None:
    """Which questions are broken, and what was dropped and why?

    Questions: truncated, context-bound, duplicated, and faults that need the gold to see. Pages: every reason for
    which a search result is not in the dataset, hosts, flags, leaks, evidence. Counts with examples; `*` is the gold.

    \b
    Example:
      edu-rag dataset audit dataset --store dataset.crawl
      edu-rag dataset audit dataset --examples 20 --json
    """
    from builder.dataset.audit import audit as run
    from builder.dataset.audit import audit_lines, audit_values

    found = run(folder, store, examples)
    if as_json:
        _echo_json(audit_values(found))
    else:
        click.echo("\n".join(audit_lines(found)))


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.option("--kind", type=click.Choice(["qa", "qa-pages", "negatives", "all"]), default="all", show_default=True,
              help="Question -> answer, question + pages -> answer, foreign pages -> \"I don't know\".")  # fmt: skip
@click.option("--out", type=_FILE, required=True, help="The JSON lines file to write.")
@click.option("--split", help="The split to export; a test split only if it is named here.")
@click.option("--seed", type=int, default=0, show_default=True, help="Chooses the foreign pages.")
@click.option("--max-characters", type=click.IntRange(500, 200_000), default=7_500, show_default=True,
              help="Room for the pages of one pair.")  # fmt: skip
def export(folder: Path, kind: str, out: Path, split: str | None, seed: int, max_characters: int) -> None:
    """Fine-tuning pairs in chat form, as the EDU-RAG paper proposes: JSON lines of `messages`.

    One split a file. Questions that stand in another split too are left out, and so are pages that leak a question
    of any split. Foreign pages come from other questions and hold neither evidence nor the gold.

    \b
    Example:
      edu-rag dataset export dataset --split train --out pairs.jsonl
      edu-rag dataset export dataset --split train --kind negatives --seed 7 --out negatives.jsonl
    """
    from builder.dataset.export import KINDS, LICENCE, Export, chosen_split
    from builder.dataset.export import export as run
    from edu_rag.dataset import Dataset
    from edu_rag.progress import say

    opened = Dataset(folder)
    kinds = KINDS if kind == "all" else (kind,)
    settings = Export(kinds=kinds, split=chosen_split(opened, split), seed=seed, max_characters=max_characters)
    for name, n in run(opened, settings, out).items():
        click.echo(f"{name:<40} {n:>9,}")
    say(LICENCE)


@dataset.command()
@click.argument("folder", type=_FOLDER)
def card(folder: Path) -> None:
    """Make README.md, croissant.json and the plots of a dataset folder anew, from its tables.

    Version and content hash stay: results keep their dataset.

    \b
    Example:
      edu-rag dataset card dataset
    """
    from builder.documents.documents import rewrite_documents

    click.echo(rewrite_documents(folder).id)


@dataset.command()
@click.argument("folder", type=_FOLDER)
@click.argument("repo", metavar="OWNER/NAME")
@click.option("--hidden", multiple=True, metavar="SPLIT", help="Keep this split's gold, evidence and leaks at home.")
@click.option("--private", is_flag=True, help="Make the repository private if it is new.")
@click.option("--endpoint", envvar="HF_ENDPOINT", help="Another Hub than the public one.")
@click.option("--yes", is_flag=True, help="Really publish; without it the command only says what it would do.")
def push(folder: Path, repo: str, hidden: tuple[str, ...], private: bool, endpoint: str | None, yes: bool) -> None:
    """Publish a dataset folder to a Hugging Face Hub: one commit and one tag a version, read back and compared.

    The token is read from HF_TOKEN, or from where `hf auth login` keeps it. A version that is published never changes.

    \b
    Example:
      edu-rag dataset push dataset my-org/tqa-val --hidden test
      edu-rag dataset push dataset my-org/tqa-val --hidden test --yes
    """
    from builder.dataset.check import check_folder
    from builder.publish import push as run
    from builder.publish import staged
    from edu_rag.dataset import Dataset
    from edu_rag.errors import FaultsError
    from edu_rag.progress import say

    faults = check_folder(folder, ()).faults.told()
    if faults:
        raise FaultsError(faults)
    with staged(Dataset(folder), repo, hidden) as (stage, plan):
        click.echo("\n".join(plan.lines()))
        if not yes:
            say("nothing was published: add --yes")
            return
        click.echo(f"published as {run(stage, plan, token=None, endpoint=endpoint, private=private)}")


@dataset.command()
@click.option("--board", "board_file", type=_FILE, required=True, help="The maintainers' leaderboard/board.toml.")
@click.option("--out", type=_FOLDER, required=True, help="Where the folders go, each as NAME-VERSION.")
@click.option("--only", multiple=True, metavar="NAME", help="This dataset alone; repeatable.")
@click.option("--endpoint", envvar="HF_ENDPOINT", help="Another Hub than the public one.")
def fetch(board_file: Path, out: Path, only: tuple[str, ...], endpoint: str | None) -> None:
    """Get the datasets that the board names, check their hashes, and print their folders, one a line.

    The bundled one is built from this package, offline; others come from a Hub at the commit that the file names,
    without a token. One that is not published is left out, with a word on stderr; put its folder at OUT/NAME-VERSION
    to have it checked and printed with the others.

    \b
    Example:
      edu-rag dataset fetch --board leaderboard/board.toml --out datasets
      edu-rag dataset fetch --board leaderboard/board.toml --out datasets --only edu-rag-mini
    """
    from builder.dataset.fetch import chosen
    from builder.dataset.fetch import fetch as run
    from edu_rag.board_file import read_board_file

    for folder in run(chosen(read_board_file(board_file), only), out, endpoint=endpoint):
        click.echo(folder)
