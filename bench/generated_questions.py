"""Count the questions that each filter of `edu-rag questions generate` rejected, from the files of one run.

Usage: .venv/bin/python bench/generated_questions.py FOLDER [--examples N]

FOLDER is the --out of a finished run. Prints Markdown. To make such a folder with a local model on one core:

    EDU_RAG_THREADS=1 nice -n 19 edu-rag questions generate --pages open-textbooks --out FOLDER --n 55 \
        --model qwen2.5-coder-1.5b
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEYS = ("dataset", "seed", "wanted", "tries", "n_asks", "with_choices", "writer", "reader", "yield", "by_type", "used")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def read_report(path: Path) -> dict[str, Any]:
    """The report of a run. SystemExit if an older version wrote it."""
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    missing = [key for key in KEYS if key not in report]
    if missing:
        raise SystemExit(f"{path}: has no {missing[0]!r}, an older version wrote it: generate the questions again")
    return report


def settings(report: dict[str, Any]) -> str:
    """The settings of the run in a sentence."""
    n = report["yield"][0]["n"]
    tries = "one passage each" if report["tries"] == 1 else f"up to {report['tries']} passages each"
    kind = "with four choices" if report["with_choices"] else "without choices"
    models = " and ".join(dict.fromkeys(report[role]["model"] for role in ("writer", "reader")))
    return (
        f"{n} tries for {report['wanted']} questions {kind} from the pages of {report['dataset']}, {tries}, seed "
        f"{report['seed']}, written and checked by {models}; the reader gets each question up to {report['n_asks']} "
        "times with its evidence and as often without it."
    )


def filters(report: dict[str, Any]) -> Iterator[str]:
    """The table of filters."""
    yield "| filter | questions that came to it | rejected | passed |"
    yield "|---|---|---|---|"
    for row in report["yield"]:
        yield f"| `{row['filter']}` | {row['n']} | {row['rejected']} | {row['passed']} |"


def types(report: dict[str, Any]) -> Iterator[str]:
    """The table of types."""
    yield "| type | n | kept | rejected by |"
    yield "|---|---|---|---|"
    for name, counts in report["by_type"].items():
        others = ", ".join(f"{key} {n}" for key, n in counts.items() if key not in ("n", "kept"))
        yield f"| {name} | {counts['n']} | {counts.get('kept', 0)} | {others or '–'} |"


def examples(folder: Path, n: int) -> Iterator[str]:
    """The first kept and rejected questions."""
    for name in ("questions.jsonl", "rejected.jsonl"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines()[:n]:
            values = json.loads(line)
            found = values if name == "questions.jsonl" else values.get("question", {"question": "(none)"})
            fate = "kept" if name == "questions.jsonl" else f"`{values['filter']}`: {_cell(values['reason'])[:200]}"
            yield f"| {values['question_type']} | {_cell(found['question'])[:300]} | {fate} |"


def main() -> None:
    """Read and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", type=int, default=0)
    given = parser.parse_args()
    report = read_report(given.folder / "report.json")
    print(f"{settings(report)}\n")
    print("\n".join(filters(report)), end="\n\n")
    print("\n".join(types(report)), end="\n\n")
    used = report["used"]
    for role, counts in used.items():
        print(f"{role}: {counts.get('calls', 0)} calls, {counts.get('input_tokens', 0):,} tokens in, ", end="")
        print(f"{counts.get('output_tokens', 0):,} out.  ")
    if given.examples:
        print("\n| type | question | fate |\n|---|---|---|")
        print("\n".join(examples(given.folder, given.examples)))


if __name__ == "__main__":
    main()
