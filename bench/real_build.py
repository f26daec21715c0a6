"""The real build with the full builder: all TQA validation questions, two real school-science sites on loopback.

Usage: .venv/bin/python bench/real_build.py --data ../shared/data --out runs/tqa-val-build [--report PAGE]

Builds version 2.1.0 of `tqa-val` (new pages and labels for the questions of 2.0.0), checks it, audits it,
replays it under another hash seed, time zone and number of workers, and writes the section between the report's marks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from real_run_report import PAPER, table

ROOT = Path(__file__).resolve().parents[1]
HOSTS = {"siyavula": "www.mstworkbooks.co.za", "openstax-physics": "physics.school-reader.example"}
VERSION = "2.1.0"
KEY = """\
{n} pair of questions asks the same and has different golds. The key agrees with the choices: of {key_n} matching texts
that hold one of their own terms, {key_found} have it as the gold, where a random key would have {key_expected:.1f}
(p = {key_p:.0e})."""
ABOUT = """\
`{id}`: the questions and golds of 2.0.0, pages and labels made anew (`cascade-v1`, filters, leaks, masked personal
data); {seconds:.0f} s for the whole command on {cores} cores. A replay under another hash seed, time zone and number of
workers gave {replayed}. `edu-rag dataset check`: no fault, {warnings} warnings (the golds are unevenly spread over the
letters, and some choices can be guessed without reading). The systems above were asked on 2.0.0 and were not asked
again. All of this section is written by `python bench/real_build.py`."""
BEGIN, END = "<!-- build: begin -->", "<!-- build: end -->"


def run(*words: object, **environment: str) -> str:
    """One command of ours; its standard output."""
    told = [sys.executable, "-m", "edu_rag", *map(str, words)]
    done = subprocess.run(told, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return done.stdout


def two_sites(out: Path, data: Path) -> Path:
    """A folder with links to the two sites of this version: the data has more of them now."""
    folder = out / "sites"
    folder.mkdir(exist_ok=True)
    for name in HOSTS:
        if not (folder / name).exists():
            (folder / name).symlink_to((data / "web" / name).resolve())
    return folder.resolve()


def settings(out: Path, data: Path) -> Path:
    """build.toml of this run: the defaults, and the paths of the sites."""
    hosts = "".join(f'{json.dumps(folder)} = "{host}"\n' for folder, host in HOSTS.items())
    config = out / "build.toml"
    sites = json.dumps(str(two_sites(out, data)))
    config.write_text(
        f'name = "tqa-val"\nversion = "{VERSION}"\n[search.folder]\nsites = {sites}\n[search.folder.hosts]\n{hosts}'
    )
    return config


def build(out: Path, data: Path) -> tuple[Path, float]:
    """The dataset folder and the seconds that the whole command took."""
    questions, folder = data / "tqa/val/questions.jsonl", out / "dataset"
    started = time.monotonic()
    run("build", "--questions", questions, "--out", folder, settings(out, data), "--fresh")
    return folder, time.monotonic() - started


def same_again(folder: Path, out: Path) -> bool:
    """Whether a replay under another hash seed, time zone and number of workers gives the same bytes."""
    again = out / "again"
    run(
        "replay", f"{folder}.crawl", "--out", again, "--workers", 1, PYTHONHASHSEED="7", TZ="Asia/Kathmandu", LC_ALL="C"
    )
    return (folder / "manifest.json").read_bytes() == (again / "manifest.json").read_bytes()


def _counts(found: Mapping[str, Mapping[str, Any]], n: int) -> list[list[str]]:
    rows = sorted(found.items(), key=lambda item: (-item[1]["n"], item[0]))
    return [
        [f"`{name}`", f"{told['n']:,}", f"{told['n'] / n:.1%}", told["meaning"]] for name, told in rows if told["n"]
    ]


def _questions(audit: Mapping[str, Any]) -> str:
    n = audit["n"]
    head = ("what", "questions", "share", "meaning")
    key = audit["key"]
    return "\n\n".join(
        [
            f"{audit['n_clean']:,} of {n:,} questions have no flag and no fault.",
            "Flags, which stand in the dataset:",
            table(head, _counts(audit["flags"], n)),
            "Faults that `edu-rag dataset audit` finds besides:",
            table(head, _counts(audit["faults"], n)),
            KEY.format(n=len(audit["contradictions"]), **{f"key_{name}": value for name, value in key.items()}),
        ]
    )


def _crawl(sources: Mapping[str, Any], n: int) -> str:
    rows: list[tuple[str, str, str]] = [
        ("questions", f"{n:,}", "13,693 in TQA, 1,255 scored"),
        ("pages per question", f"{sources['pages_per_question']:.2f}", PAPER["pages per question"]),
        ("characters per page", f"{sources['characters_per_page']:,.0f}", PAPER["characters per page"]),
        ("distinct URLs / pages in the dataset", f"{sources['urls']:,} / {sources['pages']:,}", "–"),
        ("questions with a page", f"{sources['questions_with_pages']:,}", "–"),
        (
            "questions with evidence",
            f"{sources['questions_with_evidence']:,} ({sources['questions_with_evidence'] / n:.1%})",
            "–",
        ),
        (
            "questions that leak on some page",
            f"{sources['questions_leaked']:,} ({sources['questions_leaked'] / n:.1%})",
            "–",
        ),
    ]
    rows += [(f"hits: {name}", f"{count:,}", "–") for name, count in _by_count(sources["hits_by_outcome"])]
    rows += [(f"pages flagged {name}", f"{count:,}", "–") for name, count in _by_count(sources["page_flags"])]
    rows += [(f"text by {name}", f"{count:,}", "–") for name, count in _by_count(sources["extracted_by"])]
    return table(("figure", "this build", "EDU-RAG, Table 4"), rows)


def _share(count: int, n: int) -> str:
    return f"{count:,} ({count / n:.1%})"


def _by_count(counts: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _stages(log: Path) -> str:
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    ended = [line for line in lines if line["event"] == "end"]
    rows = [
        (line["stage"], f"{line['total']:,}", f"{line['seconds']:.1f}", f"{line['rate']:,.0f}") for line in ended[:5]
    ]
    return table(("stage", "items", "seconds", "per second"), rows)


def section(folder: Path, seconds: float, same: bool) -> str:
    """The section of the report, every figure from what the commands left behind."""
    manifest = json.loads((folder / "manifest.json").read_text())
    audit = json.loads(run("dataset", "audit", folder, "--store", f"{folder}.crawl", "--examples", 0, "--json"))
    warnings = json.loads(run("dataset", "check", folder, "--json")).get("warnings", [])
    questions = audit["questions"][0]
    return "\n\n".join(
        [
            "## The build, redone with the full builder",
            ABOUT.format(
                id=f"{manifest['name']}@{manifest['version']}#{manifest['content_sha256'][:8]}",
                seconds=seconds,
                cores=os.cpu_count(),
                replayed="the same bytes" if same else "OTHER BYTES",
                warnings=len(warnings),
            ),
            _crawl(manifest["sources"], questions["n"]),
            "Pages in Afrikaans are no longer pages of the dataset (`language`).",
            "### Broken questions",
            _questions(questions),
            "### Time each stage took",
            _stages(Path(f"{folder}.crawl") / "build.log.jsonl"),
        ]
    )


def write(report: Path, text: str) -> None:
    """Put the section between the marks of the report, or at its end."""
    page = report.read_text(encoding="utf-8")
    if BEGIN not in page:
        page += f"\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    report.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> None:
    """Build, replay, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tqa-val-build")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "figures" / "real-run.md")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    folder, seconds = build(given.out, given.data)
    write(given.report, section(folder, seconds, same_again(folder, given.out)))
    print(f"wrote {given.report}")


if __name__ == "__main__":
    main()
