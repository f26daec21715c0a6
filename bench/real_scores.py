"""The real run scored with the full harness: every submission, retrieval, causes, probes, and README's board.

Usage: .venv/bin/python bench/real_scores.py --out runs/tqa-val-build --report docs/figures/real-run.md --publish

`--out` holds the dataset of bench/real_build.py and `submissions/` with the predictions of `edu-rag run` on it. Results
of systems that were asked on an earlier version of the same major are carried over (docs/scoring-spec.md, section 11).

`--publish` puts the predictions into the repository's submissions, without `response` (it quotes pages that are not
ours), vouches for them as the maintainers' runs in leaderboard/reruns.jsonl, scores them from there, copies the
scorecards to leaderboard/results, and has `edu-rag verify` make every one of them again. Without `--report` it does
that alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from real_build import run
from real_run_report import _title, _write_readme, board_table, table
from real_tqa import publish

from edu_rag.files.jsonl import read_values, write_records
from edu_rag.files.manifest import file_sha256
from harness.running.fingerprint import system_sha256
from harness.submission.run_record import read_run_record
from harness.trust.rerun_log import FILE_NAME, Rerun, read_reruns, write_rerun

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- scores: begin -->", "<!-- scores: end -->"
RESULTS = ROOT / "leaderboard" / "results"
SAMPLE = 300
NOTE = "run on the machine of docs/real-run.md, before the sandbox existed; `response` is left out: it quotes pages"
SANDBOXED = "run in the sandbox on the machine of docs/real-run.md; `response` is left out: it quotes pages"
NO_RECORD = "; no run record was kept, so system_sha256 is of the files at the time of publishing"
PROBED = ("bm25-overlap", "blind-longest", "blind-random")
COMPARED = ("sbert-overlap", "bm25-overlap")
ABOUT = """\
`{id}`, scored by `edu-rag score --all`. Systems without `*` were asked on this version; a `*` marks answers given on an
earlier version of the same questions, carried over without what hangs on pages. All of this section is written by
`python bench/real_scores.py`."""


def strip(made: Path, place: Path) -> None:
    """Copy predictions with the answers only: other text of the systems quotes web pages."""
    write_records(place, ({k: v for k, v in row.items() if k != "response"} for _, row in read_values(made)))


def vouch(made: Path, place: Path, reruns: Path) -> None:
    """Vouch for copied predictions as the maintainers' run; an existing line is kept."""
    slug, split, _, sample = made.parents[2].name, *made.stem.partition("-")
    record, n = read_run_record(made), sum(1 for _ in read_values(place))
    line = Rerun(
        slug=slug,
        dataset=record.dataset if record else dataset_of(made.parent.name),
        split=split,
        sample=sample or None,
        predictions_sha256=file_sha256(place),
        n=n,
        n_same=n,
        caps=dict(record.caps) if record else {},
        system_sha256=record.system_sha256 if record else system_sha256(place.parents[2]),
        harness=record.harness if record else "edu-rag-bench 0.1.0",
        own=True,
        note=NOTE + NO_RECORD if record is None else SANDBOXED if record.caps else NOTE,
        made_at=datetime.fromtimestamp(int(made.stat().st_mtime), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    if not reruns.is_file() or line.key not in {old.key for old in read_reruns(reruns)}:
        write_rerun(reruns, line)


def dataset_of(version: str) -> str:
    """The id of a dataset that our results are on, by its folder's name."""
    cards = (RESULTS / version).rglob("scorecard.json")
    (name,) = {json.loads(card.read_text())["dataset"] for card in cards}
    return str(name)


def publish_predictions(submissions: Path, reruns: Path) -> None:
    """Put all predictions into the repository, stripped and vouched for."""
    for made in sorted(submissions.glob("*/predictions/*/*.jsonl")):
        place = ROOT / "submissions" / made.relative_to(submissions)
        strip(made, place)
        vouch(made, place, reruns)


def cards_of(results: Path, sample: str) -> list[dict[str, Any]]:
    """The scorecards of one table, best score first."""
    cards = [json.loads(path.read_text()) for path in results.glob(f"*/{sample}/*/scorecard.json")]
    return sorted(cards, key=lambda card: (-card["rates"]["score"], card["system"]["slug"]))


def _name(card: Mapping[str, Any]) -> str:
    return f"`{card['system']['slug']}`{'*' if card.get('made_on') else ''}"


def retrieval(cards: Iterable[Mapping[str, Any]]) -> str:
    """The systems' citations, over the questions that have evidence."""
    head = ("system", "questions with evidence", "P@5", "R@5", "MRR", "NDCG@10", "grounded / lucky")
    rows = []
    for card in cards:
        found = card["retrieval"]
        if "metrics" in found:
            metrics = found["metrics"]
            values = [f"{metrics[name]:.3f}" for name in ("P@5", "R@5", "MRR", "NDCG@10")]
            rows.append([_name(card), found["n_supported"], *values, f"{found['n_grounded']} / {found['n_lucky']}"])
    return table(head, rows)


def causes(cards: Iterable[Mapping[str, Any]]) -> str:
    """Why questions have no right answer."""
    listed = [card for card in cards if card["attribution"]]
    names = sorted({name for card in listed for name, n in card["attribution"].items() if n})
    rows = ([_name(card), *(f"{card['attribution'].get(name, 0):,}" for name in names)] for card in listed)
    return table(("system", *(f"`{name}`" for name in names)), rows)


def probes(submissions: Path, dataset: Path) -> str:
    """The probes of systems that need no language model, on a sample."""
    told = []
    for slug in PROBED:
        lines = run("probe", submissions / slug, "--dataset", dataset, "--sample", SAMPLE)
        told.append(f"`{slug}`:\n\n```\n{lines.rstrip()}\n```")
    return "\n\n".join(told)


def section(out: Path, results: Path, boards: list[tuple[str, str]]) -> str:
    """The section of the page."""
    manifest = json.loads((out / "dataset" / "manifest.json").read_text())
    cards, sampled = cards_of(results, "val"), cards_of(results, f"val-stratified-{SAMPLE}-seed-0")
    told = run("compare", *(out / "submissions" / slug for slug in COMPARED), "--dataset", out / "dataset")
    # The flips quote questions, whose texts are TQA's and do not belong in this repository.
    compared = told[: told.index(f"only {COMPARED[0]} is right")]
    return "\n\n".join(
        [
            "## The scores, by the full harness",
            ABOUT.format(id=f"{manifest['name']}@{manifest['version']}#{manifest['content_sha256'][:8]}"),
            *(part for pair in boards for part in pair),
            "### What was cited",
            "The whole split:",
            retrieval(cards),
            f"The sample of {SAMPLE}:",
            retrieval(sampled),
            "### Why questions have no right answer",
            "The whole split:",
            causes(cards),
            f"The sample of {SAMPLE}:",
            causes(sampled),
            "### Two systems",
            f"```\n{compared.rstrip()}\n```",
            "### Probes",
            f"A sample of {SAMPLE}, for systems that need no language model.",
            probes(out / "submissions", out / "dataset"),
        ]
    )


def main() -> None:
    """Score all, board, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--report", type=Path, help="the page that gets the section")
    parser.add_argument("--publish", action="store_true", help="put predictions and scorecards into the repository")
    given = parser.parse_args()
    submissions, dataset, results = given.out / "submissions", given.out / "dataset", given.out / "results"
    reruns: list[str | Path] = []
    if given.publish:
        publish_predictions(submissions, RESULTS.parent / FILE_NAME)
        submissions, reruns = ROOT / "submissions", ["--reruns", RESULTS.parent / FILE_NAME]
    run("score", "--all", submissions, "--dataset", dataset, "--out", results, *reruns)
    if given.report is not None:
        report(given.out, results, given.report)
    if given.publish:
        publish(results)
        print(run("verify", "--results", RESULTS, "--submissions", submissions, "--dataset", dataset))


def report(out: Path, results: Path, page: Path) -> None:
    """Write the page's section and README's board."""
    run("board", results, "--out", out / "site")
    tables = json.loads((out / "site" / "board.json").read_text())["tables"]
    boards = [(_title(values), board_table(values["rows"])) for values in tables]
    text = page.read_text(encoding="utf-8")
    text = text if BEGIN in text else f"{text}\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{section(out, results, boards)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    _write_readme(ROOT / "README.md", max(boards, key=lambda pair: pair[1].count("\n")))


if __name__ == "__main__":
    main()
