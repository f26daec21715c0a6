"""docs/figures/real-run.md from what bench/real_tqa.py left behind: no figure on the page is typed by hand."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HEAD = Path(__file__).with_name("real_run_head.md")
README_ROWS = 10
"""Rows of the board in README.md; docs/figures/real-run.md has all."""
PAPER = {"pages per question": "3.89", "characters per page": "8,285"}
"""EDU-RAG, Table 4."""
PAIRS = (
    ("edu-rag-paper-smollm2", "edu-rag-vanilla-smollm2"),
    ("edu-rag-paper-gemma3", "edu-rag-vanilla-gemma3"),
    ("edu-rag-paper-qwen1b", "edu-rag-vanilla-qwen1b"),
    ("edu-rag-paper-smollm2-letter", "edu-rag-vanilla-smollm2-letter"),
    ("edu-rag-paper-smollm2", "edu-rag-paper-smollm2-letter"),
    ("edu-rag-paper-qwen1b", "edu-rag-paper-gemma3"),
    ("sbert-overlap", "bm25-overlap"),
)
"""The pairs of systems that are tested: with and without retrieval, likelihood and letter, large and small."""


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def board_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One table of board.json, in the board's order."""
    outcomes = ("correct", "incorrect", "abstained", "unparseable", "failed")
    head = (
        "rank",
        "system",
        "score",
        "95 % interval",
        "accuracy",
        "halluc.",
        "missing",
        "acc. given attempted",
        " / ".join(outcomes),
    )
    return table(head, (_board_row(row, outcomes) for row in rows))


def _board_row(row: Mapping[str, Any], outcomes: Iterable[str]) -> list[str]:
    first, last, given = row["rank_first"], row["rank_last"], row["accuracy_given_attempted"]
    return [
        f"{first}" if first == last else f"{first}–{last}",
        f"`{row['slug']}`",
        f"{row['score']:+.3f}",
        f"{row['score_low']:+.3f} … {row['score_high']:+.3f}",
        f"{row['accuracy']:.3f}",
        f"{row['hallucination']:.3f}",
        f"{row['missing']:.3f}",
        "–" if given is None else f"{given:.3f}",
        " / ".join(f"{row[name]:,}" for name in outcomes),
    ]


def _title(values: Mapping[str, Any]) -> str:
    n = values["rows"][0]["n"]
    asked = values["sample"] or "the whole split"
    return f"### {values['dataset']} v{values['major']}, {values['split']}, {asked}: n = {n:,}"


def comparisons(results: Path) -> str:
    """The paired tests between PAIRS, on the largest set of questions that both were asked."""
    rows = []
    for first, second in PAIRS:
        shared = [
            folder
            for folder in sorted(results.glob("*/*"))
            if all((folder / slug / "scorecard.json").is_file() for slug in (first, second))
        ]
        if shared:
            found = max((_compare(folder / first, folder / second) for folder in shared), key=lambda told: told["n"])
            low, high = found["interval"]
            rows.append(
                (
                    f"`{first}` − `{second}`",
                    f"{found['n']:,}",
                    f"{found['score_difference']:+.3f}",
                    f"{low:+.3f} … {high:+.3f}",
                    f"{found['sign_flip_p']:.2g}",
                    f"{found['mcnemar_p']:.2g}",
                    f"{len(found['only_first'])} / {len(found['only_second'])}",
                )
            )
    head = ("difference of", "n", "score", "95 % interval", "sign-flip p", "McNemar p", "only the first / second right")
    return table(head, rows)


def _compare(first: Path, second: Path) -> dict[str, Any]:
    words = [sys.executable, "-m", "edu_rag", "compare", str(first), str(second), "--json"]
    told: dict[str, Any] = json.loads(subprocess.run(words, check=True, capture_output=True, cwd=ROOT).stdout)
    return told


def crawl_table(sources: Mapping[str, Any]) -> str:
    """The crawl's figures, with those of EDU-RAG's Table 4."""
    rows: list[tuple[str, str, str]] = [
        ("questions", f"{sources['questions']:,}", "13,693 in TQA, 1,255 scored"),
        ("pages per question", f"{sources['pages_per_question']:.2f}", PAPER["pages per question"]),
        ("characters per page", f"{sources['characters_per_page']:,.0f}", PAPER["characters per page"]),
        ("characters per distinct page", f"{sources['characters_per_distinct_page']:,.0f}", "–"),
        ("distinct URLs / pages kept", f"{sources['urls']:,} / {sources['pages']:,}", "–"),
        ("questions with a page", f"{sources['questions_with_pages']:,}", "–"),
        ("questions with evidence (`answer-string-v1`)", f"{sources['questions_with_evidence']:,}", "–"),
    ]
    rows += [(f"hits: {name}", f"{n:,}", "–") for name, n in sorted(sources["hits_by_outcome"].items())]
    rows += [(f"searches: {name}", f"{n:,}", "–") for name, n in sorted(sources["searches"].items())]
    return table(("figure", "this run", "EDU-RAG, Table 4"), rows)


def _times(times: Mapping[str, float]) -> str:
    return table(("stage", "seconds"), ((name, f"{s:,.0f}") for name, s in times.items() if s >= 5))


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers"))
    return f"{os.cpu_count()} cores, no GPU, {platform.system()}, Python {platform.python_version()}, {packages}"


def write_report(out: Path, times: Mapping[str, float], folder: Path) -> None:
    """Write figures/real-run.md, and the top of the largest table into README.md between its marks."""
    manifest = json.loads((out / "dataset" / "manifest.json").read_text())
    board = json.loads((out / "site" / "board.json").read_text())
    tables = [(_title(values), board_table(values["rows"])) for values in board["tables"]]
    content = manifest["content_sha256"][:8]
    parts = [
        HEAD.read_text(encoding="utf-8").rstrip(),
        "## Results",
        f"Dataset `{manifest['name']}@{manifest['version']}#{content}`.",
        *(part for pair in tables for part in pair),
        "## Tests between systems",
        "Each test stands by itself; the ranks above are corrected for testing all pairs (Holm).",
        comparisons(out / "results"),
        "## The crawl",
        crawl_table(manifest["sources"]),
        "## Time each stage took",
        f"{_machine()}. Stages under five seconds are left out.",
        _times(times),
    ]
    page = folder / "figures" / "real-run.md"
    page.write_text("\n\n".join(parts) + "\n" + _section_of_build(page), encoding="utf-8")
    _write_readme(ROOT / "README.md", max(tables, key=lambda pair: pair[1].count("\n")))
    print(f"wrote {page} and the board in README.md")


def _section_of_build(page: Path) -> str:
    """The section that bench/real_build.py wrote into the page: it is kept."""
    begin, end = "<!-- build: begin -->", "<!-- build: end -->"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    return f"\n{before[before.index(begin) : before.index(end)]}{end}\n" if begin in before else ""


def readme_board(title: str, rows: str) -> str:
    """The first rows of a board's table for README.md, with a link to the page that has all of them."""
    head, lines = rows.splitlines()[:2], rows.splitlines()[2:]
    shown = "\n".join([*head, *lines[:README_ROWS]])
    n_others = max(len(lines) - README_ROWS, 0)
    rest = f"; [its tables](docs/figures/real-run.md) list the other {n_others} systems" if n_others else ""
    about = f"[The real run](docs/real-run.md) describes the data and the systems{rest}."
    return f"{title.removeprefix('### ')}\n\n{shown}\n\n{about}"


def _write_readme(readme: Path, shown: tuple[str, str]) -> None:
    begin, end = "<!-- board: begin -->", "<!-- board: end -->"
    before, rest = readme.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    readme.write_text(f"{before}{begin}\n{readme_board(*shown)}\n{end}{after}", encoding="utf-8")
