"""A base with a board of two baselines and another team's system, and pull requests to it, on the tiny dataset."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import manifest_sha256
from harness.exam import open_exam
from harness.pulls.pull_request import review
from harness.pulls.review_records import Review, ReviewRequest
from harness.pulls.sandboxed_runs import RunTerms
from harness.scoring.score import score_on, write_results
from harness.submission.target import find_target
from harness.trust.rerun_log import NOBODY

WHEN = datetime(2026, 11, 22, tzinfo=UTC)
OURS = "EDU-RAG baselines"
ECHO = """\
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], "answer": sorted(question["choices"])[0]}), flush=True)
"""
BOARD = """\
baselines_team = "EDU-RAG baselines"

[[datasets]]
name = "{name}"
version = "{version}"
content_sha256 = "{content}"
manifest_sha256 = "{sha256}"
split = "test"
samples = ["whole", "stratified-20-seed-0"]
bundled = true
{more}
"""


def settings(team: str, name: str = "A system", **more: object) -> str:
    values = {"name": name, "team": team, "contact": "a@b.org", "description": "x", "accounts": ["me"], **more}
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def hand_in(
    tree: Path, slug: str, answers: Mapping[str, str | None] | None, toml: str, *, code: str = "", stem: str = "test"
) -> Path:
    """Write a submission into a tree; `answers` None writes no predictions."""
    folder = tree / "submissions" / slug
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submission.toml").write_text(toml, encoding="utf-8")
    if code:
        (folder / "system.py").write_text(code, encoding="utf-8")
    if answers is not None:
        write_run(folder, answers, stem)
    return folder


def write_run(folder: Path, answers: Mapping[str, str | None], stem: str = "test", **fields: Any) -> Path:
    path = folder / "predictions" / "tiny-1.0.0" / f"{stem}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"question_id": i, "answer": a, **fields} for i, a in answers.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def score_base(base: Path, dataset: Dataset, slugs: Iterable[str]) -> None:
    """Put scorecards of submissions of the base among its results."""
    exam = open_exam(dataset, "test", None)
    for slug in slugs:
        target = find_target(base / "submissions" / slug, dataset.manifest, "test", None)
        card = score_on(exam, target, scored_at=WHEN, vouched=NOBODY).card
        write_results(base / "leaderboard" / "results", card, target.path)


def write_base(tmp_path: Path, dataset: Dataset, gold: Mapping[str, str], more: str = "") -> tuple[Path, Path]:
    """A base and a head that is its copy: an abstaining and a half-right baseline, and a third of another team."""
    base, ids = tmp_path / "base", sorted(gold)
    (base / "harness").mkdir(parents=True)
    (base / "harness" / "score.py").write_text("POINTS = 1\n", encoding="utf-8")
    hand_in(base, "always-abstain", dict.fromkeys(ids), settings(OURS, "Always abstain", blind=True))
    half = {i: gold[i] if n % 2 else None for n, i in enumerate(ids)}
    hand_in(base, "half-right", half, settings(OURS, "Half right"))
    theirs = {i: gold[i] if n % 3 else "a" for n, i in enumerate(ids)}
    hand_in(base, "theirs-one", theirs, settings("The others", "Theirs", accounts=["them"]))
    score_base(base, dataset, ["always-abstain", "half-right", "theirs-one"])
    board = BOARD.format(
        name=dataset.manifest.name,
        version=dataset.manifest.version,
        content=dataset.manifest.content_sha256,
        sha256=manifest_sha256(dataset.manifest),
        more=more,
    )
    (base / "leaderboard" / "board.toml").write_text(board, encoding="utf-8")
    head = tmp_path / "head"
    shutil.copytree(base, head)
    return base, head


def judged(
    base: Path, head: Path, *datasets: Dataset, author: str = "me", keep: Path | None = None, **terms: Any
) -> Review:
    request = ReviewRequest(
        base=base,
        head=head,
        datasets=datasets,
        scored_at=WHEN,
        author=author,
        keep=keep,
        terms=RunTerms(**({"choice": "never"} | terms)),
    )
    return review(request)
