"""`edu-rag dataset` with `push`, `fetch` and `mark-evidence`: the builder with publishing or with a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builder.dataset.commands import dataset
from edu_rag.cli.chat_models import model_option, opened, price_option
from edu_rag.processes.worker_threads import MAX_WORKERS

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from publishing.push_dataset import PushPlan

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@contextmanager
def staged(dataset: Dataset, repo: str, hidden: Sequence[str]) -> Iterator[tuple[Path, PushPlan]]:
    """A folder of exactly the files to publish, and the plan. Raises ConfigError for a split that does not exist."""
    from builder.dataset.public_copy import public_copy
    from publishing.push_dataset import plan_of

    with public_copy(dataset, hidden) as copy:
        yield (
            copy.folder,
            plan_of(
                copy.folder,
                copy.manifest,
                repo,
                withheld=copy.withheld,
                open_splits=copy.open_splits,
                twins=copy.twins,
            ),
        )


@click.command()
@click.argument("folder", type=_FOLDER)
@click.argument("repo", metavar="OWNER/NAME")
@click.option(
    "--hidden", multiple=True, metavar="SPLIT", help="Do not publish this split's gold, evidence and leaks; repeatable."
)
@click.option("--private", is_flag=True, help="Create the repository as private, if it does not exist.")
@click.option("--endpoint", envvar="HF_ENDPOINT", help="Address of another Hub.")
@click.option("--dry-run", is_flag=True, help="Print what would be published, with sizes, and publish nothing.")
@click.option("--yes", is_flag=True, help="Confirm that this version may be published; required without --dry-run.")
def push(
    folder: Path, repo: str, hidden: tuple[str, ...], private: bool, endpoint: str | None, dry_run: bool, yes: bool
) -> None:
    """Publish a dataset folder on the Hugging Face Hub.

    Each version is one commit and one tag. The upload is downloaded again and compared. The token is read from
    HF_TOKEN, or from where `hf auth login` stores it. A published version cannot be changed, so publishing needs
    --yes.

    \b
    Example:
      edu-rag dataset push dataset my-org/tqa-val --hidden test --dry-run
      edu-rag dataset push dataset my-org/tqa-val --hidden test --yes
    """
    from builder.dataset.check_dataset import check_folder
    from edu_rag.errors import ConfigError, FaultsError
    from edu_rag.files.dataset import Dataset
    from edu_rag.progress import say
    from publishing.push_dataset import push as run

    if not (dry_run or yes):
        what = "publishing needs a confirmation, since a published version cannot be changed"
        raise ConfigError("edu-rag dataset push", what, "add --yes, or --dry-run to see what would be published")
    faults = check_folder(folder, ()).faults.to_print()
    if faults:
        raise FaultsError(faults)
    with staged(Dataset(folder), repo, hidden) as (copy, plan):
        click.echo("\n".join(plan.lines()))
        if dry_run:
            say("dry run: nothing was published")
            return
        click.echo(f"published as {run(copy, plan, token=None, endpoint=endpoint, private=private)}")


@click.command()
@click.option(
    "--board", "board_file", type=_FILE, required=True, help="The board's file, such as leaderboard/board.toml."
)
@click.option("--out", type=_FOLDER, required=True, help="Folder for the datasets, each in NAME-VERSION.")
@click.option("--only", multiple=True, metavar="NAME", help="Fetch only this dataset; repeatable.")
@click.option("--endpoint", envvar="HF_ENDPOINT", help="Address of another Hub.")
@click.option(
    "--sources",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Folder with the archives of datasets by recipe; without it they are downloaded.",
)
def fetch(board_file: Path, out: Path, only: tuple[str, ...], endpoint: str | None, sources: Path | None) -> None:
    """Download or make, and check, the datasets that the board names.

    Prints the folders, one per line. The bundled dataset is built from this package, offline. A dataset by recipe is
    made from its public sources, as `edu-rag dataset make` does. The others are downloaded without a token from the
    Hub, at the commit that the file names. A dataset that is not published is
    skipped with a message on stderr; if its folder is at OUT/NAME-VERSION, it is checked and printed with the others.

    \b
    Example:
      edu-rag dataset fetch --board leaderboard/board.toml --out datasets
      edu-rag dataset fetch --board leaderboard/board.toml --out datasets --only edu-rag-mini
    """
    from builder.recipes.make_dataset import make_board_dataset
    from edu_rag.files.board_file import read_board_file
    from publishing.fetch_datasets import chosen
    from publishing.fetch_datasets import fetch as run

    make = partial(make_board_dataset, sources=sources)
    for folder in run(chosen(read_board_file(board_file), only), out, make, endpoint=endpoint):
        click.echo(folder)


@click.command("mark-evidence")
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Folder for the marks, the replies and the report.")
@click.option("--split", "splits", multiple=True, help="Only this split; repeatable. Without it, all splits.")
@click.option("--first", type=click.IntRange(1), metavar="N", help="Only the first N questions, as a trial.")
@model_option
@price_option
@click.option(
    "--workers", type=click.IntRange(1, MAX_WORKERS), default=1, show_default=True, help="Questions at the same time."
)
@click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and dollars, and ask nothing.")
def mark_evidence(
    folder: Path,
    out: Path,
    splits: tuple[str, ...],
    first: int | None,
    model: str,
    price: tuple[float, float] | None,
    workers: int,
    dry_run: bool,
) -> None:
    """Let a language model mark the sentences that support each gold answer.

    The model reads the 32 likeliest passages of a question's pages in one request. Question, gold answer and passages
    go to the server. OUT/marks.jsonl holds the marks: name it in `[label] marks` of the settings and build the dataset
    again; set `[label] evidence = []` if you want no other labels. The method is evidence-lm-v1. Replies are kept in
    OUT/replies.jsonl: run the same command again to resume.

    \b
    Example:
      edu-rag dataset mark-evidence my-dataset --out marks --first 50 --dry-run
      edu-rag dataset mark-evidence my-dataset --out marks --split dev --workers 8
    """
    from builder.generating.call_estimate import TokenPrice
    from builder.generating.evidence_reader import MANY, EvidenceReader, share_marked
    from builder.generating.reply_file import FILE_NAME, ReplyFile
    from edu_rag.files.dataset import Dataset
    from edu_rag.files.jsonl import write_json, write_records

    dataset, marks, replies = Dataset(folder), out / "marks.jsonl", out / FILE_NAME
    chosen = [dataset.only_split(split) for split in dict.fromkeys(splits)] or dataset.splits()
    kept = click.get_current_context().with_resource(ReplyFile(replies, read_only=dry_run))
    reader = EvidenceReader(dataset, chosen, opened(model), kept, first=first, n_workers=workers)
    if dry_run:
        click.echo(reader.estimate().line("reader", TokenPrice(*price) if price else TokenPrice()))
        return
    found = reader.read()
    n_marks = write_records(marks, (mark for one in found for mark in one.marks or ()))
    write_json(out / "report.json", reader.report(found))
    n_with = sum(bool(one.marks) for one in found)
    click.echo(f"{marks}: {n_marks:,} marks; {n_with:,} of {len(found):,} questions with pages have evidence")
    n_silent, n_odd = (sum(one.marks is None and one.replied is said for one in found) for said in (False, True))
    if n_silent:
        click.echo(f"no reply for {n_silent:,} questions: run the same command again to ask once more")
    if n_odd:
        click.echo(f"replies of another form for {n_odd:,} questions, which have no marks: see {replies}")
    if (share := share_marked(found)) > MANY:
        click.echo(f"the model marked {share:.0%} of the passages, so it does not choose: use a stronger one")


dataset.add_command(mark_evidence)
dataset.add_command(push)
dataset.add_command(fetch)
