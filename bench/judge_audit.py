"""How far the judges of free text agree with people: the rules on all human verdicts, a small model on a sample.

Usage: .venv/bin/python bench/judge_audit.py [DATA] [--model FILE.gguf] [--sample N] [--cache FILE] [--json FILE]
                                             [--claims [NAME …]] [--server URL] [--workers N]

DATA holds openqa.jsonl and evouna.jsonl. `--model` serves the weights by llama.cpp (xllamacpp) on loopback, one thread;
10 to 20 s an answer for 1.5 billion parameters. `--cache` keeps its grades, so that a run broken off goes on. Run it
with `nice -n 19`. `--claims` asks the model as a judge of claims instead (correctness-1 to -3). `--server` asks a
server that has these weights, for example one with a GPU, `--workers` answers at a time. Prints Markdown.
bench/page.py writes the first form to the part judge_audit, the form with `--claims` to the part judge_scores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edu_rag.files.manifest import file_sha256
from harness.judging.claims.claim_graders import CorrectnessGrader
from harness.judging.claims.claims_judge import ClaimsJudge, KeptReplies, ModelChat
from harness.judging.free_text import FreeTextJudge, Rules
from harness.judging.grading import JudgeChain
from harness.judging.judge_audit import HumanVerdict, JudgeAudit, audit, audit_values, kappa_mark, read_human
from harness.judging.judge_cache import CachedJudge
from harness.judging.judge_model import JudgeSettings, ModelJudge

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "tests" / "baselines" / "llama_server.py"
HEAD = (
    "| judge | answers | n | unjudged | agreement | kappa | 95 % | rho | 95 % | precision | recall | bound |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)
FILES = ("openqa.jsonl", "evouna.jsonl")


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(value: tuple[float, float] | None) -> str:
    return "–" if value is None else f"{value[0]:.3f} … {value[1]:.3f}"


def _rows(name: str, found: JudgeAudit, part: str) -> Iterator[str]:
    for group in found.groups:
        if group.attribute == "system" and group.all.n < 20:
            continue
        a = getattr(group, part)
        label = "all" if group.attribute == "all" else f"{group.attribute} {group.value}"
        cells = (
            name,
            label,
            f"{a.n:,}",
            f"{group.n_unjudged:,}",
            _rate(a.agreement),
            _rate(a.kappa),
            _interval(a.kappa_interval),
            _rate(a.spearman),
            _interval(a.spearman_interval),
            _rate(a.precision),
            _rate(a.recall),
            kappa_mark(a, found.least_kappa),
        )
        yield f"| {' | '.join(cells)} |"


def _print(name: str, found: JudgeAudit, part: str) -> None:
    print(HEAD)
    print("\n".join(_rows(name, found, part)))
    print()


@contextmanager
def _served(weights: Path, server: str | None) -> Iterator[str]:
    if server is not None:
        yield server
        return
    command = [sys.executable, str(SERVER), str(weights)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        if child.stdout is None:
            raise RuntimeError("the server has no output")
        yield next(line.decode().strip() for line in child.stdout if line.startswith(b"http://")) + "/v1"
        child.communicate()


def _claims_audits(
    verdicts: list[HumanVerdict], weights: Path, names: list[str], given: argparse.Namespace
) -> dict[str, JudgeAudit]:
    with _served(weights, given.server) as url:
        settings = JudgeSettings(base_url=url, model=weights.stem, timeout_s=600.0, max_tokens=200)
        judge = ClaimsJudge(ModelChat(ModelJudge(settings)), KeptReplies(given.cache))
        graders = {name: CorrectnessGrader(judge, int(name[-1])) for name in names}
        return {
            name: audit(verdicts, JudgeChain([grader]), sample=given.sample, n_workers=given.workers)
            for name, grader in graders.items()
        }


def _print_claims(found: dict[str, JudgeAudit], weights: Path, sample: int) -> None:
    print(f"{weights.stem} as a judge from 1 to 5, on {sample} answers (seed 0); kappa of a score of at least 4.\n")
    print(HEAD)
    for name, one in found.items():
        print("\n".join(_rows(name, one, "judged")))
    print()
    for name, one in found.items():
        reasons = "; ".join(f"{n} {reason[:90]}" for reason, n in list(one.unjudged.items())[:3])
        print(f"- {name}, unjudged {one.groups[0].n_unjudged}: {reasons or 'none'}")


def _model_audit(verdicts: list[HumanVerdict], weights: Path, given: argparse.Namespace) -> JudgeAudit:
    with _served(weights, given.server) as url:
        settings = JudgeSettings(base_url=url, model=weights.stem, timeout_s=600.0)
        judge: FreeTextJudge = ModelJudge(settings)
        chain = JudgeChain([Rules(), CachedJudge(judge, given.cache) if given.cache else judge])
        return audit(verdicts, chain, sample=given.sample, n_workers=given.workers)


def main() -> None:
    """Audit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=ROOT.parent / "shared" / "data" / "judgements")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--server", metavar="URL", help="address of a server of the weights, ending in /v1")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--claims", nargs="*", choices=[f"correctness-{i}" for i in (1, 2, 3)])
    given = parser.parse_args()
    verdicts = read_human([given.data / name for name in FILES])
    if given.claims is not None:
        if given.model is None:
            parser.error("--claims needs --model")
        names = given.claims or ["correctness-1", "correctness-2", "correctness-3"]
        _print_claims(_claims_audits(verdicts, given.model, names, given), given.model, given.sample)
        return
    values: dict[str, Any] = {}
    rules = audit(verdicts, JudgeChain([Rules()]))
    values["rules"] = audit_values(rules)
    print("The rules alone on all answers; what they leave open is taken as not correct.\n")
    _print("rules", rules, "all")
    if given.model:
        found = _model_audit(verdicts, given.model, given)
        values["model"] = audit_values(found) | {"weights_sha256": file_sha256(given.model)}
        print(f"The rules, then {given.model.stem}, on {given.sample} answers (seed 0).\n")
        _print("model", found, "judged")
    if given.json:
        given.json.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
