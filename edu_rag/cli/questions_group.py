"""`edu-rag questions` with `generate`, which needs the builder and a language model of the baselines."""

from __future__ import annotations

from pathlib import Path

import click

from builder.question_sets.commands import questions
from edu_rag.cli.chat_models import model_option, opened, price_option
from edu_rag.processes.worker_threads import MAX_WORKERS

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.option(
    "--pages", "dataset_folder", type=_FOLDER, required=True, metavar="DATASET", help="Dataset with the pages."
)
@click.option("--out", type=_FOLDER, required=True, help="Folder for the questions, the replies and the review page.")
@click.option("--n", "n", type=click.IntRange(1, 100_000), default=55, show_default=True, help="Questions to ask for.")
@click.option("--types", default="", metavar="TYPE,TYPE …", help="Question types; all eleven without it.")
@model_option
@click.option("--reader", metavar="NAME", help="Model that checks the questions; the same one without it.")
@click.option("--free-text", is_flag=True, help="Make questions without choices.")
@click.option(
    "--asks",
    type=click.IntRange(1, 4),
    default=4,
    show_default=True,
    help="How often the reader gets each question, with the choices in another order each time.",
)
@click.option(
    "--tries",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    help="How many passages are tried for each question, until one passes.",
)
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Seed of the draw.")
@price_option
@click.option(
    "--workers", type=click.IntRange(1, MAX_WORKERS), default=1, show_default=True, help="Questions at the same time."
)
@click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and dollars of each model, and ask nothing.")
def generate(
    dataset_folder: Path,
    out: Path,
    n: int,
    types: str,
    model: str,
    reader: str | None,
    free_text: bool,
    asks: int,
    tries: int,
    seed: int,
    price: tuple[float, float] | None,
    workers: int,
    dry_run: bool,
) -> None:
    """Let a language model write questions from the pages of a dataset, and filter them.

    The types are those of HyPA-RAG. Each question gets a gold answer, three wrong choices and the sentences that state
    the answer. OUT/questions.jsonl holds those that pass all filters, OUT/rejected.jsonl the others with their reasons,
    OUT/review.html is a page on which people review them. Replies are kept in OUT/replies.jsonl: run the same command
    again to resume.

    \b
    Example:
      edu-rag questions generate --pages dataset --out generated --n 55 --dry-run
      edu-rag questions generate --pages dataset --out generated --types simple,comparative,out-of-scope
    """
    from builder.generating.call_estimate import TokenPrice, estimate
    from builder.generating.drawn_passages import draw_tasks, known_texts
    from builder.generating.generate_questions import (
        QUESTIONS_FILE,
        GenerateSettings,
        Generator,
        kept_questions,
        write_outcomes,
    )
    from builder.generating.question_filters import NO_REPLY
    from builder.generating.question_types import chosen_types
    from builder.generating.reply_file import FILE_NAME, ReplyFile
    from builder.generating.review_page import write_review_page
    from edu_rag.files.dataset import Dataset

    chosen = chosen_types([name.strip() for name in types.split(",") if name.strip()])
    dataset = Dataset(dataset_folder)
    rounds = draw_tasks(dataset, chosen, n, seed, tries=tries)
    writer = opened(model)
    costs = TokenPrice(*price) if price else TokenPrice()
    replies = click.get_current_context().with_resource(ReplyFile(out / FILE_NAME, read_only=dry_run))
    if dry_run:
        click.echo("\n".join(estimate(rounds, writer, replies, asks, with_choices=not free_text).lines(costs)))
        return
    settings = GenerateSettings(
        dataset=dataset.id, seed=seed, n=n, tries=tries, n_asks=asks, with_choices=not free_text, n_workers=workers
    )
    generator = Generator(settings, writer, writer if reader is None else opened(reader), replies)
    outcomes = generator.outcomes(rounds, known_texts(dataset))
    kept = kept_questions(outcomes)
    write_outcomes(out, outcomes, generator.report(outcomes, costs))
    page = write_review_page(out, kept, dataset.id)
    click.echo(f"{out / QUESTIONS_FILE}: {len(kept):,} questions of {n:,} passed; review them on {page}")
    n_missing = sum(outcome.failure is not None and outcome.failure.filter == NO_REPLY for outcome in outcomes)
    if n_missing:
        click.echo(f"no usable reply for {n_missing:,} questions: run the same command again to ask once more")


questions.add_command(generate)
