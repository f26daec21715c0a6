"""Tests with the real packages of other frameworks: each folder runs in its own environment (`make frameworks`)."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import edu_rag as edu_rag_package
from edu_rag import adapters
from edu_rag.serve import SystemPage, SystemQuestion
from harness.sandbox.caps import Caps
from harness.sandbox.doctor import examine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".venv-frameworks"
_PREFIX = Path(sys.prefix)
HERE_IN = _PREFIX.name if _PREFIX.parent == ENVIRONMENTS else None
"""The environment that this Python is of; None for that of `make test`, which has none of the packages."""
collect_ignore = [folder.name for folder in HERE.iterdir() if folder.is_dir() and folder.name != HERE_IN]


class FirstScore(NamedTuple):
    """What `edu-rag score --json` printed of a new system, and its predictions."""

    score: dict[str, Any]
    predictions: list[dict[str, Any]]


def edu_rag(*arguments: object) -> str:
    """Run a command as a user does, in this environment; return what it prints."""
    words = [sys.executable, "-m", "edu_rag", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def mini() -> Path:
    """The mini benchmark, which .ci/frameworks makes."""
    return next((ENVIRONMENTS / "datasets").glob("edu-rag-mini-?.?.?"))


@pytest.fixture
def first_score(tmp_path: Path, mini: Path) -> Callable[[str], FirstScore]:
    """The way of a newcomer from a template to a score: new, edit the settings, check, run, score."""

    def walk(template: str) -> FirstScore:
        folder = tmp_path / f"my-{template}"
        edu_rag("new", folder.name, "--template", template, "--in", tmp_path, "--name", "Mine", "--team", "Us")
        settings = folder / "submission.toml"
        text = settings.read_text(encoding="utf-8").replace("someone@example.org", "us@example.org")
        settings.write_text(text.replace("What it does, in one or two", "It reads, in one or two"), encoding="utf-8")
        edu_rag("check", folder)
        boxed = [] if examine(Caps())[0].in_force else ["--unsafe-no-sandbox"]
        path = Path(edu_rag("run", folder, "--dataset", mini, "--no-cache", *boxed).strip())
        score = json.loads(edu_rag("score", folder, "--dataset", mini, "--json"))
        return FirstScore(score, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])

    return walk


@pytest.fixture
def prompt_of_template(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, SystemQuestion], Any]:
    """What the stand-in of a template is asked for a question."""

    def asked(template: str, question: SystemQuestion) -> Any:
        served: list[Any] = []
        monkeypatch.setattr(edu_rag_package, "serve", served.append)
        monkeypatch.setattr(adapters, "stand_in", lambda prompt: prompt)
        runpy.run_path(str(ROOT / "submissions" / "template" / template / "system.py"))
        return served[0](question).answer

    return asked


@pytest.fixture
def question() -> SystemQuestion:
    """A question with one page of two sentences."""
    text = "Plants make sugar by photosynthesis. Animals eat plants."
    page = SystemPage(page_id="p1", url="http://x.example/", title="Sugar", text=text, sentences=((0, 36), (37, 56)))
    choices = {"a": "respiration", "b": "photosynthesis"}
    return SystemQuestion(
        id="q1", text="How do plants make sugar?", choices=choices, kind="multiple_choice", pages=(page,)
    )
