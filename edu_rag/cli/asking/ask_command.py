"""`edu-rag ask`: one question to several systems, in a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from edu_rag.cli.asking.asking_options import asking_options
from harness.commands.options import open_dataset, print_json, print_lines, split_option
from harness.commands.run_command import stopping_like_ctrl_c

if TYPE_CHECKING:
    from edu_rag.cli.asking.page_search import LiveEngine
    from edu_rag.records import Question, WebPage
    from harness.asking.known_questions import KnownQuestions
    from harness.asking.page_input import PageInput


def _question_and_systems(
    words: Sequence[str], question_id: str | None, choices: Sequence[str], engine: str | None
) -> tuple[str, list[Path]]:
    """The typed question ('' with --question-id) and the folders of the systems. Raises UsageError."""
    if question_id is not None and choices:
        raise click.UsageError("--choices belong to a typed QUESTION: a question of the dataset has its own.")
    if question_id is not None and engine is not None:
        raise click.UsageError("--engine finds pages for a typed QUESTION: a question of the dataset has its own.")
    n_typed = 0 if question_id is not None else 1
    settings = Path(*words[:n_typed], "submission.toml")
    if n_typed and words and os.path.isfile(settings):  # noqa: PTH113 - a Path's raises OSError for a long question
        raise click.UsageError(f"the first word, {words[0]}, is a system: give the QUESTION first, or --question-id.")
    if len(words) <= n_typed:
        raise click.UsageError("give a QUESTION and a SYSTEM, or --question-id ID and a SYSTEM.")
    return (words[0] if n_typed else ""), [Path(word) for word in words[n_typed:]]


@contextmanager
def _naming_options(question_id: str | None) -> Iterator[None]:
    """Name the options in faults of the question and its pages, which `edu-rag try` shows to visitors."""
    from edu_rag.errors import ConfigError

    options = {"pages": "--pages"} if question_id is None else {"pages": "--pages", "question": "--question-id"}
    try:
        yield
    except ConfigError as error:
        raise ConfigError(options.get(error.where, error.where), error.what, error.remedy) from None


def _pages_of(
    known: KnownQuestions, question: Question, rule: PageInput, engine: LiveEngine | None
) -> Sequence[WebPage]:
    """The pages for a question: live ones if an engine was named, its own, or the best of the dataset."""
    from edu_rag.cli.asking.page_search import PageSearch

    if rule.rule == "none":
        return ()
    if engine is not None:
        return engine.pages(question)
    if question.split in known.splits:
        return known.pages(question)
    return PageSearch(known.dataset, known.splits).search(question.text)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[QUESTION] SYSTEM...")
@click.option("--question-id", metavar="ID", help="Ask this question of the dataset instead of a typed one.")
@click.option(
    "--choices",
    multiple=True,
    metavar="A|B|C",
    help="Choices of a typed question, separated by |; repeatable. Without choices it is free text.",
)
@click.option(
    "--pages",
    "page_input",
    default="own",
    show_default=True,
    metavar="RULE",
    help="Pages that the systems get: own (all), top-K (the first K), evidence (its sentences alone), none.",
)
@split_option
@click.option("--json", "as_json", is_flag=True, help="Print the question and the answers as JSON.")
@asking_options
def ask(
    words: tuple[str, ...],
    question_id: str | None,
    choices: tuple[str, ...],
    page_input: str,
    split: str | None,
    *,
    as_json: bool,
    dataset_folder: Path,
    **options: Any,
) -> None:
    """Ask up to three systems one question, and show what they read and answered.

    The systems run in the sandbox and answer as in `edu-rag run`: they get the question, its choices and its pages
    under a random id. A question of the dataset comes with its pages, evidence and verdict. For a typed question the
    pages are the best of the dataset by BM25, or those that --engine finds on the web now.

    \b
    Example:
      edu-rag ask --question-id MINI_0001 --dataset demo/dataset demo/submissions/bm25-overlap
      edu-rag ask "Which planet has rings?" --choices "Mars|Venus|Saturn" --dataset demo/dataset \\
        demo/submissions/bm25-overlap demo/submissions/blind-longest
      edu-rag ask --question-id MINI_0001 --pages evidence --dataset demo/dataset demo/submissions/bm25-overlap
    """
    from edu_rag.cli.asking.opened_systems import live_engine, opened_systems
    from harness.asking.asked import ask_systems, asked_question, require_few
    from harness.asking.asked_text import asked_values, question_lines, reply_lines
    from harness.asking.known_questions import KnownQuestions, typed_question
    from harness.asking.page_input import parse_page_input

    text, folders = _question_and_systems(words, question_id, choices, options["engine"])
    require_few(len(folders))
    live, known = live_engine(options), KnownQuestions(open_dataset(dataset_folder), split)
    given = [choice for listed in choices for choice in listed.split("|")]
    with _naming_options(question_id):
        rule = parse_page_input(page_input)
        question = known.question(question_id) if question_id is not None else typed_question(text, given)
        asked = asked_question(known, question, _pages_of(known, question, rule, live), rule)
    with stopping_like_ctrl_c(), opened_systems(folders, known.dataset, options) as systems:
        replies = dict(ask_systems(systems, known, asked))
    in_order = [replies[number] for number in sorted(replies)]
    if as_json:
        print_json(asked_values(asked, in_order))
        return
    print_lines(question_lines(asked))
    for reply in in_order:
        print_lines(reply_lines(asked, reply))
