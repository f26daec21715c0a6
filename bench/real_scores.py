"""The real run scored with the full harness: every submission, retrieval, causes, probes, and README's board.

Usage: .venv/bin/python bench/real_scores.py --out runs/tqa-val-build --report docs/real-run.md --publish

`--out` holds the dataset of bench/real_build.py and `submissions/` with the predictions of `edu-rag run` on it. Results
of systems that were asked on an earlier version of the same major are carried over (docs/scoring.md, section 11).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from real_build import run
from real_run_report import _title, _write_readme, board_table, table
from real_tqa import publish

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- scores: begin -->", "<!-- scores: end -->"
SAMPLES = (300, 500)
PROBED = ("bm25-overlap", "blind-longest", "blind-random")
COMPARED = ("sbert-overlap", "bm25-overlap")
ABOUT = """\
`{id}`, scored by `edu-rag score --all`. Systems without `*` were asked on this version; a `*` marks answers given on an
earlier version of the same questions, carried over without what hangs on pages. All of this section is written by
`python bench/real_scores.py`."""


def restrict(submissions: Path, dataset: Path, results: Path) -> None:
    """Who answered the whole split stands in the tables of the samples too."""
    for file in sorted(submissions.glob("*/predictions/*/val.jsonl")):
        for n in SAMPLES:
            run("score", file.parents[2], "--dataset", dataset, "--sample", n, "--out", results, "--brief")


def cards_of(results: Path, sample: str) -> list[dict[str, Any]]:
    """The scorecards of one table, best score first."""
    cards = [json.loads(path.read_text()) for path in results.glob(f"*/{sample}/*/scorecard.json")]
    return sorted(cards, key=lambda card: (-card["rates"]["score"], card["system"]["slug"]))


def _name(card: Mapping[str, Any]) -> str:
    return f"`{card['system']['slug']}`{'*' if card.get('made_on') else ''}"


def retrieval(cards: Iterable[Mapping[str, Any]]) -> str:
    """What systems cited, over the questions that have evidence."""
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
        lines = run("probe", submissions / slug, "--dataset", dataset, "--sample", SAMPLES[0])
        told.append(f"`{slug}`:\n\n```\n{lines.rstrip()}\n```")
    return "\n\n".join(told)


def section(out: Path, results: Path, boards: list[tuple[str, str]]) -> str:
    """The section of the page."""
    manifest = json.loads((out / "dataset" / "manifest.json").read_text())
    cards, sampled = cards_of(results, "val"), cards_of(results, f"val-stratified-{SAMPLES[0]}-seed-0")
    told = run("compare", *(out / "submissions" / slug for slug in COMPARED), "--dataset", out / "dataset")
    # The flips quote questions, whose texts are TQA's and do not belong in this repository.
    compared = told[: told.index(f"only {COMPARED[0]} is right")]
    return "\n\n".join(
        [
            "## The scores, by the full harness",
            ABOUT.format(id=f"{manifest['name']}@{manifest['version']}#{manifest['content_sha256'][:8]}"),
            *(part for pair in boards for part in pair),
            "### What was cited", "The whole split:", retrieval(cards),
            f"The sample of {SAMPLES[0]}:", retrieval(sampled),
            "### Why questions have no right answer", "The whole split:", causes(cards),
            f"The sample of {SAMPLES[0]}:", causes(sampled),
            "### Two systems", f"```\n{compared.rstrip()}\n```",
            "### Probes", f"A sample of {SAMPLES[0]}, for systems that need no language model.",
            probes(out / "submissions", out / "dataset"),
        ]
    )  # fmt: skip


def main() -> None:
    """Score all, board, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True, help="the page that gets the section")
    parser.add_argument("--publish", action="store_true", help="copy the scorecards to leaderboard/results")
    given = parser.parse_args()
    submissions, dataset, results = given.out / "submissions", given.out / "dataset", given.out / "results"
    run("score", "--all", submissions, "--dataset", dataset, "--out", results)
    restrict(submissions, dataset, results)
    run("board", results, "--out", given.out / "site")
    tables = json.loads((given.out / "site" / "board.json").read_text())["tables"]
    boards = [(_title(values), board_table(values["rows"])) for values in tables]
    text = section(given.out, results, boards)
    page = given.report.read_text(encoding="utf-8")
    page = page if BEGIN in page else f"{page}\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    given.report.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    _write_readme(ROOT / "README.md", max(boards, key=lambda pair: pair[1].count("\n")))
    if given.publish:
        publish(results)


if __name__ == "__main__":
    main()
