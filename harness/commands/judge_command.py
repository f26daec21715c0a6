"""`edu-rag judge`: compare judges of free text with people, and people with each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from harness.commands.options import PATH, html_option, print_json, print_lines, typed_command


@click.group()
def judge() -> None:
    """Measure how well a judge of free-text answers agrees with people.

    \b
    Example:
      edu-rag judge audit --human verdicts.jsonl --judge rules
    """


@judge.command()
@click.option(
    "--human",
    "files",
    type=PATH,
    multiple=True,
    required=True,
    metavar="FILE",
    help="Human verdicts: JSON Lines with question, gold, answer, system, human; repeatable.",
)
@click.option(
    "--judge",
    "name",
    default="rules",
    show_default=True,
    metavar="NAMES",
    help="Judge: rules, or model (the server in EDU_RAG_JUDGE_URL, _MODEL and _KEY).",
)
@click.option("--judge-cache", type=PATH, metavar="FILE", help="File to cache the grades in.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Audit a random sample of N answers.")
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Seed of the sample.")
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON.")
@html_option
def audit(
    files: Sequence[Path],
    name: str,
    judge_cache: Path | None,
    sample: int | None,
    seed: int,
    *,
    as_json: bool,
    html_file: Path | None,
) -> None:
    """Compare a judge with human verdicts: agreement, Cohen's kappa with its 95 % interval, precision, recall.

    Results are per system and per file; intervals are bootstrapped over questions. Answers that the judge cannot grade
    are counted, and the figures are shown twice: without them, and with them counted as not correct.

    \b
    Example:
      edu-rag judge audit --human openqa.jsonl --human evouna.jsonl
      edu-rag judge audit --human openqa.jsonl --judge model --sample 150 --judge-cache grades.jsonl --html audit.html
    """
    from edu_rag.files.manifest import file_sha256
    from edu_rag.progress import Stage, say
    from harness.judging.grading import open_judge
    from harness.judging.judge_audit import audit as run
    from harness.judging.judge_audit import audit_lines, audit_values, read_human
    from harness.pages.judge_page import judge_page
    from harness.pages.render_page import write_page

    opened = open_judge(name, judge_cache)
    verdicts = read_human(files)
    hashes = [(file.name, file_sha256(file)) for file in files]
    total = sample or sum(verdict.human is not None for verdict in verdicts)
    with Stage("judge", total=total, bad="unjudged") as stage:
        found = run(
            verdicts,
            opened,
            files=hashes,
            sample=sample,
            seed=seed,
            told=lambda grade: stage.add("unjudged" if grade.outcome == "unjudged" else "done"),
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
