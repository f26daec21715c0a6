"""Whether our claim metrics are those of their packages: the same claims and verdicts, value by value.

Usage: .venv/bin/python bench/claim_metrics.py --python PYTHON [--n N] [--seed S]

PYTHON is an interpreter with ragas 0.4.3 (and langchain-community below 0.4, which it imports), ragchecker 0.1.9 and
nuggetizer 0.0.5, both `--no-deps`, and dataclasses-json. Draws N answers with verdicts, every tenth an edge case (no
claims, no passages, all or none supported, no vital nugget). Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from harness.judging.claims import claim_values as ours
from harness.judging.claims.claims_judge import cosine

REFERENCE = Path(__file__).with_name("ragas_reference.py")
TOLERANCE = 1e-9
Case = dict[str, Any]


def _case(draw: random.Random, number: int) -> Case:
    """An answer's verdicts; `number` picks the edge cases."""
    edge = number // 10 % 5 if number % 10 == 0 else None
    n_answer, n_reference, n_passages = (0 if edge == i else draw.randint(1, 9) for i in range(3))
    bias = draw.choice([0.0, 1.0]) if edge == 3 else draw.random()

    def verdicts(n: int) -> list[bool]:
        return [draw.random() < bias for _ in range(n)]

    n_nuggets = 0 if edge == 4 else draw.randint(1, 12)
    importances = ["okay"] if edge == 3 else ours.IMPORTANCES
    n_asked = draw.randint(1, 4)
    return {
        "answer_by_passages": verdicts(n_answer),
        "reference_by_passages": verdicts(n_reference),
        "relevant": verdicts(n_passages),
        "answer_by_reference": verdicts(n_answer),
        "reference_by_answer": verdicts(n_reference),
        "reference_by_passage": [verdicts(n_passages) for _ in range(n_reference)],
        "vectors": [[draw.gauss(0, 1) for _ in range(16)] for _ in range(n_asked + 1)],
        "noncommittal": [draw.random() < bias for _ in range(n_asked)],
        "nuggets": [
            {"importance": draw.choice(importances), "assignment": draw.choice(ours.ASSIGNMENTS)}
            for _ in range(n_nuggets)
        ],
    }


def _values(case: Case) -> dict[str, float | None]:
    cosines = [cosine(case["vectors"][0], other) or 0.0 for other in case["vectors"][1:]]
    precision, recall = ours.share(case["answer_by_reference"]), ours.share(case["reference_by_answer"])
    importances, assigned = ([n[key] for n in case["nuggets"]] for key in ("importance", "assignment"))
    found = {
        "faithfulness": ours.share(case["answer_by_passages"]),
        "answer_relevancy": ours.answer_relevancy(cosines, case["noncommittal"]),
        "context_precision": ours.context_precision(case["relevant"]),
        "context_recall": ours.share(case["reference_by_passages"]),
        "claim_precision": precision,
        "claim_recall": recall,
        "claim_f1": ours.f1(precision, recall),
        "retrieved_recall": ours.retrieved_recall(case["reference_by_passage"]),
        "retrieved_precision": ours.retrieved_precision(case["reference_by_passage"]),
    }
    for vital in (True, False):
        for strict in (True, False):
            name = f"nuggets_{'strict_' if strict else ''}{'vital' if vital else 'all'}"
            found[name] = ours.nugget_recall(importances, assigned, vital=vital, strict=strict)
    return {name: value.value for name, value in found.items()}


def _kind(value: float | str | None) -> str:
    return "a value" if isinstance(value, float) else "NaN" if value is None else value


def _row(package: str, metric: str, pairs: list[tuple[float | None, float | str | None]]) -> str:
    """A line of the table: values on both sides and their largest difference, and each case of nothing to judge."""
    both = [abs(mine - theirs) for mine, theirs in pairs if mine is not None and isinstance(theirs, float)]
    nothing = Counter("0" if theirs == 0.0 else _kind(theirs) for mine, theirs in pairs if mine is None)
    theirs_alone = sum(mine is not None and not isinstance(theirs, float) for mine, theirs in pairs)
    said = "; ".join(f"{kind} {n}" for kind, n in sorted(nothing.items())) or "–"
    equal = "yes" if not theirs_alone and max(both, default=0.0) <= TOLERANCE else "**no**"
    return f"| {package} | {metric} | {len(both)} | {max(both, default=0.0):.1e} | {equal} | {said} |"


def main() -> None:
    """Draw, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    cases = [_case(draw, number) for number in range(given.n)]
    done = subprocess.run(
        [given.python, str(REFERENCE)], input=json.dumps(cases), stdout=subprocess.PIPE, text=True, check=True
    )
    found, mine = json.loads(done.stdout), [_values(case) for case in cases]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    print(f"{given.n} answers with drawn verdicts (seed {given.seed}); {versions}.\n")
    print("| package | metric | values | largest difference | equal to 1e-9 | nothing to judge: the package gives |")
    print("|---|---|---|---|---|---|")
    for package, metrics in found["values"][0].items():
        for metric in metrics:
            pairs = [(own[metric], theirs[package][metric]) for own, theirs in zip(mine, found["values"], strict=True)]
            print(_row(package, metric, pairs))


if __name__ == "__main__":
    main()
