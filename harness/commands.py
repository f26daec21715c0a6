"""The commands of a submission's life: check, run, score, compare, explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from edu_rag.dataset import Dataset

F = TypeVar("F", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)


def _dataset_option(*, required: bool = True) -> Callable[[F], F]:
    return click.option(
        "--dataset", "dataset_folder", type=_PATH, required=required, metavar="DIR", help="The dataset folder."
    )


def _split_option(command: F) -> F:
    return click.option("--split", metavar="NAME", help="The split; not needed where there is only one.")(command)


def _sample_options(command: F) -> F:
    seed = click.option(
        "--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Of the sample."
    )
    n = click.option(
        "--sample", "n_sample", type=click.IntRange(min=1), metavar="N", help="A stratified sample of N questions."
    )
    return n(seed(command))


def _open(folder: Path) -> Dataset:
    from edu_rag.dataset import Dataset

    return Dataset(folder)


def _sample_name(n_sample: int | None, seed: int) -> str | None:
    return None if n_sample is None else f"stratified-{n_sample}-seed-{seed}"


def _print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _print_lines(lines: Iterable[str]) -> None:
    """Print lines that hold words of systems and pages, which could else steer the terminal by escape sequences."""
    for line in lines:
        click.echo("".join(char if char.isprintable() else " " for char in line))


@click.command()
@click.argument("path", type=_PATH)
@_dataset_option(required=False)
@_split_option
def check(path: Path, dataset_folder: Path | None, split: str | None) -> None:
    """Say everything that is wrong with a submission folder or a predictions file, at once.

    The same reading as `score` and the CI use. Without --dataset only the form is checked; with it, also the
    question ids, and how each answer reads (a choice, an abstention, or neither).

    \b
    Example:
      edu-rag check demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag check demo/submissions/bm25-overlap/predictions/edu-rag-mini-1.0.0/test.jsonl
    """
    from edu_rag.errors import FaultsError, SubmissionError
    from harness.check import check_predictions, check_submission

    if not path.exists():
        raise SubmissionError(path, "no such file or folder", "give a submission folder or a predictions file")
    dataset = _open(dataset_folder) if dataset_folder else None
    if path.is_dir():
        findings = check_submission(path, dataset)
    else:
        questions = (
            None if dataset is None else {q.question_id: q for q in dataset.questions(dataset.only_split(split))}
        )
        findings = check_predictions(path, questions)
    if findings.faults:
        raise FaultsError(findings.faults)
    for note in findings.notes:
        click.echo(note)


@click.command()
@click.argument("submission_folder", type=_PATH, metavar="SUBMISSION")
@_dataset_option()
@_split_option
@_sample_options
@click.option("--fresh", is_flag=True, help="Ask every question again, also those an interrupted run has answered.")
@click.option(
    "--time-s", type=click.FloatRange(0, min_open=True), help="Seconds a question, instead of the submission's."
)
@click.option(
    "--start-s", type=click.FloatRange(0, min_open=True), help="Seconds to the first answer, instead of its own."
)
@click.option(
    "--pass-env", "passed", multiple=True, metavar="NAME",
    help="Hand this environment variable to the system, such as EDU_RAG_LLM_KEY; repeatable. Keys are withheld else.",
)  # fmt: skip
def run(
    submission_folder: Path, dataset_folder: Path, split: str | None, n_sample: int | None, seed: int, *, fresh: bool,
    time_s: float | None, start_s: float | None, passed: tuple[str, ...],
) -> None:  # fmt: skip
    """Run a submission's command over a split and write its predictions; print their path.

    The system is a child process that reads one JSON question a line and writes one JSON answer a line. It never
    gets the gold answers. A crash or a time-out costs its question, not the run; an interrupted run is continued.
    Exit code 1 where not a single question was answered. `<split>.run.json` beside the predictions says on which
    dataset they were made.
    It is NOT a sandbox: run only code you trust.

    \b
    Example:
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag run demo/submissions/bm25-overlap --dataset demo/dataset --split test --sample 20
    """
    from edu_rag.errors import SubmissionError
    from harness.run import run_submission
    from harness.submission import Limits, open_submission

    submission = open_submission(submission_folder)
    if not submission.settings.command:
        raise SubmissionError(submission.folder, "has no command to run", "add `command` to submission.toml")
    dataset = _open(dataset_folder)
    own = submission.settings.limits
    limits = Limits(time_s=time_s or own.time_s, start_s=start_s or own.start_s)
    sample = _sample_name(n_sample, seed)
    path = run_submission(
        submission, dataset, dataset.only_split(split), sample, fresh=fresh, limits=limits, passed=passed
    )
    click.echo(str(path))


@click.command()
@click.argument("path", type=_PATH, metavar="FILE-OR-SUBMISSION")
@_dataset_option()
@_split_option
@_sample_options
@click.option("--json", "as_json", is_flag=True, help="Print the scorecard as JSON.")
@click.option("--verdicts", type=_PATH, metavar="OUT.jsonl", help="Write the verdict on each question.")
@click.option(
    "--out", "results", type=_PATH, metavar="RESULTS", help="Write the scorecard where `edu-rag board` looks."
)
@click.option("--brief", is_flag=True, help="Print one line instead of the table.")
def score(
    path: Path, dataset_folder: Path, split: str | None, n_sample: int | None, seed: int, *, as_json: bool,
    verdicts: Path | None, results: Path | None, brief: bool,
) -> None:  # fmt: skip
    """Score a predictions file or a submission's predictions: score = accuracy - hallucination, with intervals.

    Every question of the split counts, answered or not. With --sample a full file is scored on the sample alone.

    \b
    Example:
      edu-rag score demo/submissions/bm25-overlap --dataset demo/dataset
      edu-rag score demo/submissions/bm25-overlap --dataset demo/dataset --json --verdicts demo/verdicts.jsonl
    """
    from edu_rag.jsonl import write_records
    from edu_rag.progress import say
    from edu_rag.scorecards import scorecard_values
    from harness.report import brief_line, card_lines
    from harness.score import now_utc, score_target, summary, write_results
    from harness.target import find_target

    dataset = _open(dataset_folder)
    split, sample = dataset.only_split(split), _sample_name(n_sample, seed)
    target = find_target(path, dataset.manifest, split, sample)
    scored = score_target(dataset, split, sample, target, scored_at=now_utc())
    if verdicts is not None:
        write_records(verdicts, scored.verdicts)
    if results is not None:
        say(f"wrote {write_results(results, dataset, scored, target.path)}")
    if as_json:
        _print_json(summary(scored.card) | scorecard_values(scored.card))
    else:
        _print_lines([brief_line(scored.card)] if brief else card_lines(scored.card))


@click.command()
@click.argument("first", type=_PATH, metavar="A")
@click.argument("second", type=_PATH, metavar="B")
@_dataset_option(required=False)
@_split_option
@_sample_options
@click.option("--all", "all_flips", is_flag=True, help="List every flip instead of the first ten.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    first: Path, second: Path, dataset_folder: Path | None, split: str | None, n_sample: int | None, seed: int, *,
    all_flips: bool, as_json: bool,
) -> None:  # fmt: skip
    """Do two systems differ? Paired bootstrap of the score difference, exact McNemar, and the questions that flip.

    A and B are scorecard.json files, predictions files or submissions. Two scorecards need no --dataset (it only
    adds ids and texts of the questions that flip); the others are scored first.

    \b
    Example:
      edu-rag compare demo/submissions/bm25-overlap demo/submissions/blind-longest --dataset demo/dataset
      edu-rag compare demo/results/edu-rag-mini-1.0.0/test/bm25-overlap/scorecard.json \\
        demo/results/edu-rag-mini-1.0.0/test/blind-longest/scorecard.json
    """
    from harness.compare import Choice, comparison_values
    from harness.compare import compare as compared
    from harness.report import comparison_lines

    dataset = _open(dataset_folder) if dataset_folder else None
    comparison = compared(first, second, Choice(dataset, split, _sample_name(n_sample, seed)))
    if as_json:
        _print_json(comparison_values(comparison))
    else:
        limit = len(comparison.first.outcomes) if all_flips else 10
        _print_lines(comparison_lines(comparison, limit))


@click.command()
@click.argument("path", type=_PATH, metavar="SUBMISSION-OR-PREDICTIONS")
@click.argument("question_id")
@_dataset_option()
@_split_option
@_sample_options
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(
    path: Path,
    question_id: str,
    dataset_folder: Path,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    as_json: bool,
) -> None:
    """One question: what the system read, said, and got for it; evidence is marked with a star.

    \b
    Example:
      edu-rag explain demo/submissions/bm25-overlap MINI_0001 --dataset demo/dataset
    """
    from harness.explain import explain as explained
    from harness.explain import explanation_lines, explanation_values
    from harness.target import find_target

    dataset = _open(dataset_folder)
    split = dataset.only_split(split)
    sample = _sample_name(n_sample, seed)
    target = find_target(path, dataset.manifest, split, sample)
    explanation = explained(dataset, split, target, question_id, sample)
    if as_json:
        _print_json(explanation_values(explanation))
    else:
        _print_lines(explanation_lines(explanation))
