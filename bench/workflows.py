"""Findings of zizmor, actionlint and our own policy in our workflow files, and in mutations that weaken them.

Usage: .venv/bin/python bench/workflows.py [--json FILE]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import test_workflows as tests  # noqa: E402 - lies with the tests, which are no package
import workflow_policy as policy  # noqa: E402
from workflow_mutations import MUTATIONS  # noqa: E402


def of_mutations(scratch: Path) -> list[dict[str, Any]]:
    """For each mutation: what each of the three finds in it."""
    found = []
    for number, mutation in enumerate(MUTATIONS):
        folder = tests.write(mutation, scratch / str(number))
        file = folder / ".github" / "workflows" / mutation.file
        faults = policy.faults_of(mutation.file, file.read_text("utf-8"))
        found.append(
            {
                "mutation": mutation.name,
                "file": mutation.file,
                "zizmor": sorted(set(tests.zizmor(folder))),
                "actionlint": len(tests.actionlint(file)),
                "policy": faults,
            }
        )
    return found


def _mark(found: object) -> str:
    return "yes" if found else "–"


def table(ours: dict[str, int], found: list[dict[str, Any]]) -> str:
    """Both tables as Markdown."""
    caught = {name: sum(bool(one[name]) for one in found) for name in ("zizmor", "actionlint", "policy")}
    either = sum(bool(one["zizmor"] or one["policy"]) for one in found)
    lines = ["| | zizmor, auditor, offline | actionlint | our policy | zizmor or policy |", "|---|---:|---:|---:|---:|"]
    lines.append(f"| findings in our files | {ours['zizmor']} | {ours['actionlint']} | {ours['policy']} | |")
    told = " | ".join(str(caught[name]) for name in ("zizmor", "actionlint", "policy"))
    lines += [f"| mutations caught, of {len(found)} | {told} | {either} |", ""]
    lines += ["| mutation | zizmor | actionlint | our policy |", "|---|---|---|---|"]
    for one in found:
        rules = ", ".join(f"`{rule}`" for rule in one["zizmor"]) or "–"
        lines.append(f"| {one['mutation']} | {rules} | {_mark(one['actionlint'])} | {_mark(one['policy'])} |")
    return "\n".join(lines)


@click.command()
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write the findings as JSON too.")
def main(out: Path | None) -> None:
    """Measure and print."""
    files = sorted(tests.WORKFLOWS.glob("*.yml"))
    ours = {
        "zizmor": len(tests.zizmor(tests.GITHUB)),
        "actionlint": len(tests.actionlint(*files)),
        "policy": len(policy.faults(tests.GITHUB)),
    }
    with tempfile.TemporaryDirectory() as scratch:
        found = of_mutations(Path(scratch))
    if out is not None:
        out.write_text(json.dumps({"ours": ours, "mutations": found}, indent=2) + "\n", encoding="utf-8")
    print(table(ours, found))


if __name__ == "__main__":
    main()
