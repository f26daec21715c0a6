"""`edu-rag judge claims`: score answers by the claims that a judge finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from harness.commands.options import (
    PATH,
    dataset_option,
    open_dataset,
    print_json,
    print_lines,
    sample_name,
    sample_options,
    split_option,
    workers_option,
)

if TYPE_CHECKING:
    from edu_rag.errors import SubmissionError
    from edu_rag.scorecard.claims_card import ClaimsCard
    from harness.exam import Exam
    from harness.judging.claims.judged_answer import ClaimCase, JudgedAnswer
    from harness.submission.target import Target


@click.command()
@click.argument("path", type=PATH, metavar="PREDICTIONS")
@dataset_option()
@split_option
@sample_options
@click.option(
    "--judge",
    type=click.Choice(["model"]),
    default="model",
    show_default=True,
    expose_value=False,  # there is one kind
    help="Judge: the server in EDU_RAG_JUDGE_URL, _MODEL and _KEY; _EMBEDDINGS names its model for answer_relevancy.",
)
@click.option(
    "--metrics",
    metavar="NAMES",
    help="Metrics or groups, separated by commas; default: all but retrieved_* and correctness-1 and -2.",
)
@click.option("--nuggets", "nuggets_file", type=PATH, metavar="FILE", help="Use these nuggets instead of the judge's.")
@click.option("--audit", "audit_file", type=PATH, metavar="FILE", help="JSON of `judge audit`, to mark the judge with.")
@click.option("--dry-run", is_flag=True, help="Print the number of requests and about what they cost; ask no judge.")
@click.option(
    "--price",
    type=click.FloatRange(min=0),
    nargs=2,
    metavar="IN OUT",
    help="US dollars for a million tokens in and out, for --dry-run.",
)
@click.option("--judge-cache", type=PATH, metavar="FILE", help="File to keep the replies in; with --out next to it.")
@workers_option
@click.option("--out", type=PATH, metavar="RESULTS", help="Write claims.json into this folder of results.")
@click.option("--details", type=PATH, metavar="FILE.jsonl", help="Write the claims and verdicts of each answer.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def claims(
    path: Path,
    dataset_folder: Path,
    split: str | None,
    n_sample: int | None,
    seed: int,
    *,
    metrics: str | None,
    nuggets_file: Path | None,
    audit_file: Path | None,
    dry_run: bool,
    price: tuple[float, float] | None,
    judge_cache: Path | None,
    workers: int,
    out: Path | None,
    details: Path | None,
    as_json: bool,
) -> None:
    """Score answers by their claims: faithfulness, relevancy, context precision and recall, nuggets, correctness.

    A judge splits answers and references into claims and checks them against the cited passages and each other. Values
    follow from its verdicts by the definitions of RAGAS, RAGChecker, TREC RAG and HyPA-RAG. Answers that the judge
    fails on are counted. A run that was stopped goes on where it was if replies are kept.

    \b
    Example:
      edu-rag judge claims predictions.jsonl --dataset my-dataset --dry-run --price 0.15 0.6
      edu-rag judge claims predictions.jsonl --dataset my-dataset --out results --metrics faithfulness,nuggets
    """
    from harness.judging.claims.claims_judge import FILE_NAME, facts_of_environment

    if price and not dry_run:
        raise click.UsageError("--price goes with --dry-run.")
    facts = facts_of_environment(required=not dry_run)
    chosen = _chosen(metrics, has_embeddings="embeddings" in facts)
    opened = _open(path, dataset_folder, split, sample_name(n_sample, seed), nuggets_file)
    kept = judge_cache or (out / FILE_NAME if out is not None else None)
    if dry_run:
        _rehearse(opened, chosen, kept, price, as_json=as_json)
        return
    report, judged = _report(opened, chosen, kept, audit_file, workers)
    _write(report, judged, out, details)
    _show(report, as_json=as_json)


class _Opened(NamedTuple):
    """The exam, the target of the predictions, and what is to be judged."""

    exam: Exam
    target: Target
    cases: Sequence[ClaimCase]


def _open(path: Path, folder: Path, split: str | None, sample: str | None, nuggets_file: Path | None) -> _Opened:
    from edu_rag.processes.budget import SMALL_BYTES, within_budget
    from harness.exam import open_exam
    from harness.judging.claims.claim_cases import claim_cases, read_nuggets_file
    from harness.scoring.score import require_readable
    from harness.submission.predictions_file import predictions_within
    from harness.submission.target import find_target

    dataset = open_dataset(folder)
    exam = open_exam(dataset, dataset.only_split(split), sample)
    target = find_target(path, dataset.manifest, exam.split, sample)
    if target.path.stat().st_size > SMALL_BYTES:  # a child costs more than to read a small file
        within_budget(require_readable, target.path, exam, what=target.path)
    predictions = predictions_within(target.path, exam.known)
    nuggets = None if nuggets_file is None else read_nuggets_file(nuggets_file, exam.known)
    return _Opened(exam, target, claim_cases(dataset, exam, predictions, nuggets))


def _chosen(names: str | None, *, has_embeddings: bool) -> list[str]:
    """The metrics that `--metrics` names, in the order of tables; where it is left out, those that most users want."""
    from edu_rag.errors import ConfigError
    from harness.judging.claims.judged_answer import GROUPS, METRICS

    if names is None:
        left_out = {"retrieved_recall", "retrieved_precision", *GROUPS["correctness-1"], *GROUPS["correctness-2"]}
        left_out |= set() if has_embeddings else {"answer_relevancy"}
        return [name for name in METRICS if name not in left_out]
    wanted: set[str] = set()
    for name in (part.strip() for part in names.split(",")):
        if name not in METRICS and name not in GROUPS:
            known = ", ".join((*METRICS, *GROUPS))
            raise ConfigError("--metrics", f"unknown metric {name[:60]!r}", f"known are {known}")
        wanted |= set(GROUPS.get(name, (name,)))
    if "answer_relevancy" in wanted and not has_embeddings:
        remedy = "set it to the name of the server's embedding model"
        raise ConfigError("EDU_RAG_JUDGE_EMBEDDINGS", "is not set, and answer_relevancy needs embeddings", remedy)
    return [name for name in METRICS if name in wanted]


def _rehearse(
    opened: _Opened, chosen: Sequence[str], kept: Path | None, price: tuple[float, float] | None, *, as_json: bool
) -> None:
    from harness.judging.claims.claims_judge import ClaimsJudge, KeptReplies, facts_of_environment
    from harness.judging.claims.judged_answer import judge_answer
    from harness.judging.claims.rehearsed_judge import JudgePrice, JudgeRehearsal, estimate_lines

    rehearsal = JudgeRehearsal(facts_of_environment(required=False))
    judge = ClaimsJudge(rehearsal, KeptReplies(kept, read_only=True))
    for case in opened.cases:
        judge_answer(case, judge, chosen)
    found = rehearsal.estimate(JudgePrice(*price) if price else None)
    if as_json:
        print_json(found)
    else:
        print_lines(estimate_lines(found, len(opened.cases)))


def _report(
    opened: _Opened, chosen: Sequence[str], kept: Path | None, audit_file: Path | None, n_workers: int
) -> tuple[ClaimsCard, Sequence[JudgedAnswer]]:
    from edu_rag.files.jsonl import read_json
    from edu_rag.files.manifest import file_sha256
    from edu_rag.processes.worker_threads import in_order
    from edu_rag.progress import Stage
    from edu_rag.scorecard.claims_card import ClaimsCard
    from harness.exam import lesson_numbers
    from harness.judging.claims.claim_totals import METHOD, metric_totals
    from harness.judging.claims.claims_judge import ClaimsJudge, KeptReplies, model_chat
    from harness.judging.claims.claims_report import RULE, audit_mark, statuses_of
    from harness.judging.claims.judged_answer import judge_answer, steps_of

    chat, exam = model_chat(), opened.exam
    judge = ClaimsJudge(chat, KeptReplies(kept))
    facts = judge.facts(steps_of(chosen))
    audit = {} if audit_file is None else audit_mark(read_json(audit_file), str(facts["model"]), audit_file)
    judged: list[JudgedAnswer] = []
    with Stage("judge", total=len(opened.cases), bad="unjudged") as stage:
        for one in in_order(lambda case: judge_answer(case, judge, chosen), opened.cases, n_workers):
            judged.append(one)
            stage.add("unjudged" if judged[-1].unjudged else "done")
            if chat.given_up:
                raise _stopped(chat.given_up, len(judged), len(opened.cases), is_kept=kept is not None)
    return ClaimsCard(
        system=opened.target.system.slug,
        dataset=exam.dataset,
        split=exam.split,
        sample=exam.sample,
        predictions_sha256=file_sha256(opened.target.path),
        judge=facts,
        audit=audit,
        statuses=statuses_of(judged),
        metrics=tuple(metric_totals(chosen, judged, lesson_numbers(exam.questions))),
        rule=RULE,
        interval_method=METHOD,
    ), judged


def _stopped(why: str, n_judged: int, n_cases: int, *, is_kept: bool) -> SubmissionError:
    """The error of a run whose judge does not reply: a report of it would hold what failed as unjudged."""
    from edu_rag.errors import SubmissionError

    what = f"the judge {why}, at answer {n_judged:,} of {n_cases:,}; no report was written"
    kept = "the replies so far are kept" if is_kept else "add --out or --judge-cache to keep replies"
    return SubmissionError("judge", what, f"fix that and run the command again: {kept}")


def _write(report: ClaimsCard, judged: Sequence[JudgedAnswer], out: Path | None, details: Path | None) -> None:
    from edu_rag.files.jsonl import write_records
    from edu_rag.progress import say
    from edu_rag.scorecard.claims_card import write_claims_card
    from harness.judging.claims.judged_answer import details_of

    if details is not None:
        write_records(details, map(details_of, judged))
    if out is not None:
        say(f"wrote {write_claims_card(out, report)}")


def _show(report: ClaimsCard, *, as_json: bool) -> None:
    from edu_rag.scorecard.claims_card import claims_values
    from harness.judging.claims.claims_report import report_lines

    if as_json:
        print_json(claims_values(report))
    else:
        print_lines(report_lines(report))
