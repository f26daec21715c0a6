"""`edu-rag import`: predictions that another program wrote, as a submission's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.options import (
    PATH,
    dataset_option,
    into_option,
    open_dataset,
    own_name,
    sample_name,
    sample_options,
    split_option,
)

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from harness.check_submission import AskedQuestions
    from harness.importing.detect_format import Format
    from harness.importing.import_predictions import ImportedFile, ImportWishes
    from harness.importing.match_answers import ImportQuestions


@click.command("import")
@click.argument("file", type=PATH)
@dataset_option()
@click.option("--submission", "slug", required=True, metavar="SLUG", help="Submission to write the predictions into.")
@click.option(
    "--from",
    "source",
    type=click.Choice(["csv", "json", "inspect", "lm-eval", "trec"]),
    help="Format of FILE; detected by default. csv includes TSV, json includes JSON lines.",
)
@click.option(
    "--map",
    "said",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Column of a field, such as answer=model_output; FIELD= leaves it out; repeatable.",
)
@click.option(
    "--pick", metavar="NAME", help="Which answer to read: an lm-eval filter or acc_norm, an Inspect epoch or scorer."
)
@click.option(
    "--index-base",
    type=click.IntRange(0, 1),
    help="Read answers that are whole numbers as numbers of choices, counted from 0 or from 1.",
)
@click.option("--skip-unknown", is_flag=True, help="Leave out rows of unknown questions instead of refusing the file.")
@click.option("--all-correct", is_flag=True, help="Import answers that nearly all equal the gold.")
@split_option
@sample_options
@into_option
@click.option("--force", is_flag=True, help="Replace predictions that exist.")
def import_(
    file: Path,
    dataset_folder: Path,
    slug: str,
    source: Format | None,
    said: Sequence[str],
    pick: str | None,
    index_base: int | None,
    split: str | None,
    n_sample: int | None,
    seed: int,
    into: Path,
    *,
    skip_unknown: bool,
    all_correct: bool,
    force: bool,
) -> None:
    """Import predictions from FILE into a submission, and print the path of the new predictions file.

    FILE is a table (CSV, TSV, JSON, JSON lines), a log of Inspect (.eval or .json), a samples file of lm-eval
    (samples_*.jsonl), or a TREC run. The format and the columns are detected, and printed to stderr with the number of
    answers that read as a choice, as an abstention, or as neither. Questions are found by their ids, or else by their
    text. A new submission gets the settings that `edu-rag new --predictions-only` writes.

    Nothing is written if the file has a fault: unknown or repeated questions, values that are not numbers, several
    columns that could be the answer, the gold as answers. Questions without a row count as failed.

    \b
    Example:
      edu-rag import answers.csv --dataset demo/dataset --submission my-answers
      edu-rag import out.jsonl --map answer=result.text --dataset demo/dataset --submission my-answers --force
      edu-rag import logs/2026-05-04_mini.eval --dataset demo/dataset --submission my-inspect-run
    """
    from edu_rag.look.texts import one_line
    from edu_rag.names import QuestionSet
    from edu_rag.progress import say
    from harness.check_submission import asked_of, check_predictions
    from harness.importing.detect_format import detected
    from harness.importing.foreign_answer import wished_columns
    from harness.importing.import_predictions import ImportWishes, place_for, read_foreign, write_imported
    from harness.trust.imported_key import key_caution

    wishes = ImportWishes(
        format=source or detected(file),
        columns=wished_columns(said),
        pick=pick,
        index_base=index_base,
        skip_unknown=skip_unknown,
    )
    dataset = open_dataset(dataset_folder)
    split, sample = dataset.only_split(split), sample_name(n_sample, seed)
    place = place_for(slug, into, QuestionSet(dataset.manifest.release, split, sample), force=force)
    asked = asked_of(dataset, split, sample)
    imported = read_foreign(file, _questions(dataset, split, asked, wishes), wishes)
    key = "" if all_correct else key_caution(file, imported.lines, asked.questions, dataset, split)
    written = write_imported(imported, place)
    findings = check_predictions(written.path, asked)
    for line in (*written.notes, *findings.notes, *findings.cautions, *([key] if key else [])):
        say(one_line(line))
    click.echo(str(written.path))
    _say_next(written, dataset_folder, split, sample)


def _questions(dataset: Dataset, split: str, asked: AskedQuestions, wishes: ImportWishes) -> ImportQuestions:
    """The questions as the import needs them: with the ids of other splits, and with lengths of pages for a run."""
    from harness.importing.match_answers import ImportQuestions

    elsewhere: dict[str, str] = {}
    for name in dataset.splits():
        table = dataset.columns("questions", name, ["question_id"])
        ids = table.column("question_id").to_pylist() if table is not None else []
        elsewhere |= {one: "" if name == split else name for one in ids if one not in asked.questions}
    lengths = asked.lengths() if wishes.format == "trec" else {}
    return ImportQuestions(f"{dataset.manifest.release} (split {split})", asked.questions, elsewhere, lengths)


def _say_next(written: ImportedFile, dataset: Path, split: str, sample: str | None) -> None:
    """Print what to do next; the commands work as typed."""
    import shlex

    from edu_rag.names import Sample
    from edu_rag.progress import say

    drawn = Sample.parse(sample) if sample else None
    options = f" --sample {drawn.n} --seed {drawn.seed}" if drawn else ""

    folder, file, data = (shlex.quote(str(path)) for path in (written.path.parents[2], written.path, dataset))
    say("Next:")
    if written.is_new:
        say(f"  {own_name()} check {folder}   (lists the settings that you have to change)")
    say(f"  {own_name()} score {file} --dataset {data} --split {split}" + options)
