"""Whether our claim metrics are those of their packages: the same claims and verdicts, value by value.

Usage: .venv/bin/python bench/claim_metrics.py --python PYTHON [--n N] [--seed S]

PYTHON is an interpreter with ragas 0.4.3 (and langchain-community below 0.4, which it imports), ragchecker 0.1.9 and
nuggetizer 0.0.5, both `--no-deps`, and dataclasses-json. Draws N answers with verdicts, every tenth an edge case (no
claims, no passages, all or none supported, no vital nugget). A scripted judge replies with the verdicts, so that our
values come by way of the prompts, the replies and `judge_answer`. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.judging.claims import claim_values as ours
from harness.judging.claims.claims_judge import ClaimsJudge
from harness.judging.claims.judge_replies import N_QUESTIONS
from harness.judging.claims.judged_answer import METRICS, ClaimCase, judge_answer
from harness.judging.judge_model import JudgePrompt, JudgeReply

REFERENCE = Path(__file__).with_name("ragas_reference.py")
TOLERANCE = 1e-9
ANSWER, TRUTH = "the answer", "the reference"
NAMES = [name for name in METRICS if not name.startswith("correct")]
_PASSAGE = re.compile(r"passage (\d+)")
Case = dict[str, Any]


def _case(draw: random.Random, number: int) -> Case:
    """An answer's verdicts; `number` picks the edge cases."""
    edge = number // 10 % 5 if number % 10 == 0 else None
    n_answer, n_reference, n_passages = (0 if edge == i else draw.randint(1, 9) for i in range(3))
    bias = draw.choice([0.0, 1.0]) if edge == 3 else draw.random()

    def verdicts(n: int, factor: float = 1.0) -> list[bool]:
        return [draw.random() < bias * factor for _ in range(n)]

    n_nuggets = 0 if edge == 4 else draw.randint(1, 12)
    importances = ["okay"] if edge == 3 else ours.IMPORTANCES
    noncommittal = draw.random() < bias
    by_passages = 0.0 if edge == 2 else 1.0  # no passage supports a claim
    return {
        "answer_by_passages": verdicts(n_answer, by_passages),
        "reference_by_passages": verdicts(n_reference, by_passages),
        "relevant": verdicts(n_passages),
        "answer_by_reference": verdicts(n_answer),
        "reference_by_answer": verdicts(n_reference),
        "reference_by_passage": [verdicts(n_passages) for _ in range(n_reference)],
        "vectors": [[draw.gauss(0, 1) for _ in range(16)] for _ in range(N_QUESTIONS + 1)],
        "noncommittal": [noncommittal] * N_QUESTIONS,
        "nuggets": [
            {"importance": draw.choice(importances), "assignment": draw.choice(ours.ASSIGNMENTS)}
            for _ in range(n_nuggets)
        ],
    }


class ScriptedJudge:
    """Replies to each prompt with the verdicts of a case, so that our values come from prompts, replies and METRICS."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def reply(self, step: str, prompt: JudgePrompt, n: int) -> JudgeReply:
        """The reply of a step: its claims, or the verdicts on the text that the prompt holds."""
        return JudgeReply(json.dumps(getattr(self, f"_{step}")(prompt.user)))

    def vectors(self, texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
        """The vectors of the case."""
        return self._case["vectors"], ""

    def facts(self) -> dict[str, Any]:
        """A name, as the key of replies needs one."""
        return {"model": "scripted"}

    def _claims(self, user: str) -> Case:
        side = "answer" if f"<answer>{ANSWER}<" in user else "reference"
        return {"claims": [f"{side} claim {i}" for i, _ in enumerate(self._case[f"{side}_by_passages"])]}

    def _support(self, user: str) -> Case:
        side = "answer" if "<claim_1>answer" in user else "reference"
        text = user.partition("<text>")[2].partition("</text>")[0]
        if found := _PASSAGE.fullmatch(text):
            return {"verdicts": [int(row[int(found[1])]) for row in self._case["reference_by_passage"]]}
        other = {ANSWER: "answer", TRUTH: "reference"}.get(text, "passages")
        return {"verdicts": [int(verdict) for verdict in self._case[f"{side}_by_{other}"]]}

    def _relevant(self, user: str) -> Case:
        found = _PASSAGE.search(user)
        return {"verdict": int(self._case["relevant"][int(found[1])])} if found else {}

    def _asked(self, user: str) -> Case:
        return {"questions": ["g0", "g1", "g2"], "noncommittal": int(self._case["noncommittal"][0])}

    def _nuggets(self, user: str) -> Case:
        return {"nuggets": [{"text": "n", "importance": nugget["importance"]} for nugget in self._case["nuggets"]]}

    def _assigned(self, user: str) -> Case:
        return {"assignments": [nugget["assignment"] for nugget in self._case["nuggets"]]}


def _values(case: Case) -> dict[str, float | None]:
    passages = [f"passage {i}" for i, _ in enumerate(case["relevant"])]
    answer = ClaimCase("q", "Why?", [TRUTH], "answered", ANSWER, passages)
    found = judge_answer(answer, ClaimsJudge(ScriptedJudge(case)), NAMES)
    if found.unjudged:
        raise RuntimeError(f"a scripted reply was not read: {found.unjudged}")
    return {name: value.value for name, value in found.values.items()}


def _kind(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else value.partition(":")[0]


def _row(package: str, metric: str, pairs: list[tuple[float | None, float | str | None]]) -> str:
    """A line of the table: the values, their largest difference, and what each side gives where one has no value."""
    both = [abs(mine - theirs) for mine, theirs in pairs if mine is not None and isinstance(theirs, float)]
    others = Counter(
        (_kind(mine), "NaN" if theirs is None else _kind(theirs))
        for mine, theirs in pairs
        if mine is None or not isinstance(theirs, float)
    )
    shown = "; ".join(f"{mine}, {theirs}: {n}" for (mine, theirs), n in sorted(others.items())) or "–"
    equal = "yes" if max(both, default=0.0) <= TOLERANCE else "**no**"
    return f"| {package} | {metric} | {len(both)} | {max(both, default=0.0):.1e} | {equal} | {shown} |"


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
    print("| package | metric | values | largest difference | equal to 1e-9 | where one has no value: ours, theirs |")
    print("|---|---|---|---|---|---|")
    for package, metrics in found["values"][0].items():
        for metric in metrics:
            pairs = [(own[metric], theirs[package][metric]) for own, theirs in zip(mine, found["values"], strict=True)]
            print(_row(package, metric, pairs))


if __name__ == "__main__":
    main()
