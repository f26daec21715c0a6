"""`edu-rag questions`: convert question files, draw examples and count, before anything is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.question_sets.source_options import MapCommand, SourceType, map_option

if TYPE_CHECKING:
    from builder.question_sets.dataset_sources import QuestionSource
    from builder.question_sets.question_files import ReadQuestions

_FILE = click.Path(path_type=Path, dir_okay=False)
_SPLIT = click.option("--split", help="Split of questions whose file does not name one, or the one to read.")
_SOURCES = click.argument("sources", type=SourceType(), nargs=-1, required=True, metavar="FILE|FOLDER|hf:ORG/NAME ...")


@click.group()
def questions() -> None:
    """Look at question files before a build, or generate questions from pages.

    A source is a file (TQA, CRAG, JSON lines, JSON, CSV, TSV, SQuAD, Parquet), a folder that the package `datasets`
    can load (FOLDER or FOLDER:CONFIG), or a dataset of the Hub (hf:ORG/NAME[:CONFIG][@REVISION]).

    \b
    Example:
      edu-rag questions stats quiz.csv
      edu-rag questions sample hf:allenai/ai2_arc:ARC-Easy --split test --n 5
      edu-rag questions convert quiz.csv --map question=stem choices=w,x,y,z answer=key --out questions.jsonl
    """


def _read(sources: tuple[QuestionSource, ...], split: str | None, mapping: tuple[str, ...]) -> ReadQuestions:
    from builder.question_sets.question_columns import parse_map
    from builder.question_sets.question_files import read_question_set

    return read_question_set(sources, split, parse_map(mapping))


def _require_own_files(written: Mapping[str, Path | None], read: Iterable[Path]) -> None:
    """Raise ConfigError if a file to write, by its option, is one that is read or one that is written already."""
    from edu_rag.errors import ConfigError

    taken = {path.resolve(): "is a file that is read" for path in read}
    for option, path in written.items():
        if path is None:
            continue
        if (what := taken.get(path.resolve())) is not None:
            raise ConfigError(option, f"{path} {what}", "give another file")
        taken[path.resolve()] = f"is the file of {option}, too"


@questions.command(cls=MapCommand)
@_SOURCES
@_SPLIT
@map_option
@click.option("--out", type=_FILE, help="File to write; without it the lines are printed.")
@click.option(
    "--reviews",
    type=_FILE,
    multiple=True,
    help="Keep generated questions only if all their reviewers accept them; repeatable, one file per reviewer.",
)
@click.option("--plain", is_flag=True, help="Write generated questions without remarks, situations and messages.")
@click.option("--marks", type=_FILE, help="Also write the evidence of generated questions, for `[label] marks`.")
def convert(
    sources: tuple[QuestionSource, ...],
    split: str | None,
    mapping: tuple[str, ...],
    out: Path | None,
    reviews: tuple[Path, ...],
    plain: bool,
    marks: Path | None,
) -> None:
    """Write questions as JSON lines, as `edu-rag build --questions` reads them.

    The lines hold the answers. Columns that are not read are kept as further fields.

    \b
    Example:
      edu-rag questions convert quiz.csv --out questions.jsonl
      edu-rag questions convert generated/questions.jsonl --split new --reviews reviews.jsonl --out accepted.jsonl
    """
    from builder.question_sets.plain_questions import plain_lines
    from builder.question_sets.question_reviews import accepted_lines, evidence_marks, read_reviews
    from builder.question_sets.question_stats import flat_lines
    from edu_rag.files.jsonl import to_line, write_records
    from edu_rag.progress import say

    _require_own_files({"--out": out, "--marks": marks}, [*(one for one in sources if isinstance(one, Path)), *reviews])
    lines = list(flat_lines(_read(sources, split, mapping)))
    if reviews:
        lines = list(accepted_lines(lines, read_reviews(reviews), reviews[0]))
    if plain:
        n_before, lines = len(lines), list(plain_lines(lines))
        if len(lines) < n_before:
            say(f"{n_before - len(lines):,} questions left out: without their remarks, they are the same as others")
    if marks is not None:
        say(f"{marks}: {write_records(marks, evidence_marks(lines)):,} marks of evidence")
    if out is not None:
        say(f"{out}: {write_records(out, lines):,} questions")
        return
    for line in lines:
        click.echo(to_line(line), nl=False)


@questions.command(cls=MapCommand)
@_SOURCES
@_SPLIT
@map_option
@click.option("--n", "n", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Number of questions.")
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Seed of the draw.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def sample(
    sources: tuple[QuestionSource, ...], split: str | None, mapping: tuple[str, ...], n: int, seed: int, as_json: bool
) -> None:
    """Print a few questions with their answers, drawn as `edu-rag build --sample` draws them.

    \b
    Example:
      edu-rag questions sample quiz.csv --n 3
    """
    from builder.question_sets.question_stats import drawn, example_lines
    from edu_rag.files.jsonl import to_line

    for line in drawn(_read(sources, split, mapping), n, seed):
        if as_json:
            click.echo(to_line(line), nl=False)
        else:
            click.echo("\n".join(example_lines(line)))


@questions.command(cls=MapCommand)
@_SOURCES
@_SPLIT
@map_option
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def stats(sources: tuple[QuestionSource, ...], split: str | None, mapping: tuple[str, ...], as_json: bool) -> None:
    """Count questions by split, kind, number of choices and flag, and golds by letter.

    \b
    Example:
      edu-rag questions stats quiz.csv
    """
    import msgspec

    from builder.question_sets.question_stats import question_stats, stats_lines

    found: dict[str, Any] = question_stats(_read(sources, split, mapping))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    for line in stats_lines(found):
        click.echo(line)
