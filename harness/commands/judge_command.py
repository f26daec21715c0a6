"""`edu-rag judge`: score free text by its claims, and compare judges with people, and people with each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from harness.commands.claims_command import claims
from harness.commands.options import PATH, html_option, print_json, print_lines, typed_command, workers_option


@click.group()
def judge() -> None:
    """Score free-text answers by their claims, and measure how well a judge agrees with people.

    \b
    Example:
      edu-rag judge claims predictions.jsonl --dataset my-dataset --dry-run
      edu-rag judge audit --human verdicts.jsonl --judge rules
    """


@judge.command()
@click.option(
    "--human",
    "files",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Human verdicts: JSON Lines with question, gold, answer, system, human; repeatable.",
)
@click.option(
    "--labels",
    "labelled",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Labelled answers with their context: a file as of HaluBench, or a folder as of RAGTruth; repeatable.",
)
@click.option(
    "--judge",
    "name",
    default="rules",
    show_default=True,
    metavar="NAMES",
    help="Judge: rules, model (the server in EDU_RAG_JUDGE_URL, _MODEL and _KEY), correctness-1 to -3, faithfulness.",
)
@click.option("--judge-cache", type=PATH, metavar="FILE", help="File to cache the grades in.")
@click.option(
    "--least-kappa",
    type=click.FloatRange(-1, 1),
    default=0.6,
    show_default=True,
    metavar="K",
    help="Mark a judge with a kappa below K.",
)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Audit a random sample of N answers.")
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Seed of the sample.")
@workers_option
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON.")
@html_option
def audit(
    files: Sequence[Path],
    labelled: Sequence[Path],
    name: str,
    judge_cache: Path | None,
    least_kappa: float,
    sample: int | None,
    seed: int,
    workers: int,
    *,
    as_json: bool,
    html_file: Path | None,
) -> None:
    """Compare a judge with human verdicts: agreement, Cohen's kappa, Spearman's rho, precision, recall.

    Results are per system and per set; 95 % intervals are bootstrapped over questions. Answers that the judge cannot
    grade are counted, and the figures are shown twice: without them, and with them counted as not correct. A judge is
    marked `below` the bound of --least-kappa, or `reached` if its whole interval is above.

    --labels are for --judge faithfulness: an answer is right if its context supports it.

    \b
    Example:
      edu-rag judge audit --human openqa.jsonl --human evouna.jsonl
      edu-rag judge audit --labels halubench.jsonl --judge faithfulness --sample 300 --judge-cache grades.jsonl
      edu-rag judge audit --human openqa.jsonl --judge model --sample 150 --judge-cache grades.jsonl --html audit.html
    """
    from edu_rag.files.manifest import file_sha256
    from edu_rag.progress import Stage, say
    from harness.judging.grading import open_audited
    from harness.judging.judge_audit import audit as run
    from harness.judging.judge_audit import audit_lines, audit_values, read_human
    from harness.judging.labelled_answers import as_verdicts, files_of, read_labelled
    from harness.pages.judge_page import judge_page
    from harness.pages.render_page import write_page

    if bool(files) == bool(labelled):
        raise click.UsageError("Give --human or --labels, one of the two.")
    if bool(labelled) != (name.strip() == "faithfulness"):
        raise click.UsageError("--labels and --judge faithfulness go together.")
    opened = open_audited(name, judge_cache)
    verdicts = as_verdicts(read_labelled(labelled)) if labelled else read_human(files)
    hashes = [(file.name, file_sha256(file)) for file in (files_of(labelled) if labelled else files)]
    total = sample or sum(verdict.human is not None for verdict in verdicts)
    with Stage("judge", total=total, bad="unjudged") as stage:
        found = run(
            verdicts,
            opened,
            files=hashes,
            sample=sample,
            seed=seed,
            least_kappa=least_kappa,
            n_workers=workers,
            report=lambda grade: stage.add("unjudged" if grade.outcome == "unjudged" else "done"),
        )
    if html_file is not None:
        write_page(html_file, judge_page(found, typed_command()))
        say(f"page: {html_file}")
    if as_json:
        print_json(audit_values(found))
    else:
        print_lines(audit_lines(found))


@judge.command()
@click.argument("first", type=PATH, metavar="FIRST")
@click.argument("second", type=PATH, metavar="SECOND")
@click.option("--json", "as_json", is_flag=True, help="Print the agreement as JSON.")
def agreement(first: Path, second: Path, *, as_json: bool) -> None:
    """Compare the labels that two people gave to the same answers on the page of `edu-rag try`.

    FIRST and SECOND are their files of annotations. Only answers that both labelled are compared; if a person labelled
    an answer twice, the last label counts.

    \b
    Example:
      edu-rag judge agreement annotations-ada.jsonl annotations-ben.jsonl
    """
    from edu_rag.files.annotated import read_annotations
    from harness.judging.annotator_agreement import agreement as compared
    from harness.judging.annotator_agreement import agreement_lines, agreement_values

    found = compared(read_annotations(first), read_annotations(second))
    if as_json:
        print_json(agreement_values(found))
    else:
        print_lines(agreement_lines(found))


@judge.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def labels(files: Sequence[Path], *, as_json: bool) -> None:
    """Print accuracy, hallucination and rejection of labelled answers by source and system, as Mala et al. do.

    A file has question, context (or passage), answer, label, and may have a source and a system. Labels are PASS and
    FAIL as of HaluBench, or correct, hallucinated and insufficient as of Mala et al. A folder holds response.jsonl and
    source_info.jsonl as of RAGTruth: an answer with a marked span is hallucinated.

    \b
    Example:
      edu-rag judge labels annotated.csv
      edu-rag judge labels RAGTruth/dataset --json
    """
    from harness.judging.labelled_answers import read_labelled
    from harness.judging.source_table import source_lines, source_rows, source_values

    rows = source_rows(read_labelled(files))
    if as_json:
        print_json([source_values(row) for row in rows])
    else:
        print_lines(source_lines(rows))


judge.add_command(claims)
