"""What a build refuses before it crawls, and what it says when it replaces or is interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builder.build import build, read_inputs
from builder.config import to_config
from builder.store.store_folder import store_folder
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import Manifest

REPOSITORY = Path(__file__).resolve().parents[2]


def write_questions(path: Path, answers: dict[str, str]) -> Path:
    lines = (
        {
            "id": key,
            "split": "val",
            "type": "Multiple Choice",
            "question": f"What is {key}?",
            "choices": {"a": "this", "b": "that"},
            "answer": answer,
        }
        for key, answer in answers.items()
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def built(
    questions: Path, out: Path, *, version: str | None = None, fresh: bool = False, **changes: object
) -> Manifest:
    values = {"name": "tiny", "clock": "2026-01-02T00:00:00Z", "search": {"engine": "none"}}
    return build([questions], out, to_config(values | changes, "test"), version=version, fresh=fresh)


def test_other_questions_need_a_higher_major_version_or_fresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, first = tmp_path / "ds", write_questions(tmp_path / "1.jsonl", {"Q1": "a", "Q2": "b"})
    other = write_questions(tmp_path / "2.jsonl", {"Q2": "a", "Q3": "b", "Q4": "b"})
    before = built(first, out)
    for version in (None, "1.9.0"):
        with pytest.raises(
            DataError,
            match=r"ds\.crawl: was made from other questions \(2 added, 1 removed, 1 changed\): raise the major",
        ):
            built(other, out, version=version)
    assert Dataset(out).manifest == before
    assert [question.question_id for question in read_inputs(store_folder(out)).questions] == ["Q1", "Q2"]
    assert built(other, out, version="2.0.0").version == "2.0.0"
    assert "questions changed: 2 added, 1 removed, 1 changed" in capsys.readouterr().err
    assert built(other, out).version == "2.0.0"
    assert built(first, out, fresh=True).version == "1.0.0"


def test_the_order_of_the_questions_is_no_change(tmp_path: Path) -> None:
    first = built(write_questions(tmp_path / "1.jsonl", {"Q1": "a", "Q2": "b"}), tmp_path / "ds")
    assert built(write_questions(tmp_path / "2.jsonl", {"Q2": "b", "Q1": "a"}), tmp_path / "ds") == first


def test_a_kill_while_other_questions_are_taken_does_not_make_the_next_run_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "ds"
    built(write_questions(tmp_path / "1.jsonl", {"Q1": "a"}), out)
    other = write_questions(tmp_path / "2.jsonl", {"Q2": "a"})

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("builder.build.write_records", killed)
        with pytest.raises(KeyboardInterrupt):
            built(other, out, version="2.0.0")
    assert built(other, out, version="2.0.0").version == "2.0.0"


@pytest.mark.parametrize("gone", ["dataset", "store"])
def test_another_dataset_name_is_refused_where_dataset_or_store_stands(tmp_path: Path, gone: str) -> None:
    out, questions = tmp_path / "ds", write_questions(tmp_path / "1.jsonl", {"Q1": "a"})
    built(questions, out)
    shutil.rmtree(out if gone == "dataset" else store_folder(out))
    with pytest.raises(DataError, match=r"holds the dataset 'tiny', not 'other': choose another --out, or add --fresh"):
        built(questions, out, name="other")
    assert built(questions, out, name="other", fresh=True).name == "other"


def test_other_content_under_the_same_version_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ds"
    old = built(write_questions(tmp_path / "1.jsonl", {"Q1": "a"}), out)
    built(tmp_path / "1.jsonl", out)
    assert "under the same version" not in capsys.readouterr().err
    new = built(write_questions(tmp_path / "2.jsonl", {"Q1": "b"}), out, fresh=True)
    was, now = old.content_sha256[:8], new.content_sha256[:8]
    line = f"tiny@1.0.0: was #{was} (0 pages), is now #{now} (0 pages) under the same version"
    assert line in capsys.readouterr().err.splitlines()


def test_unknown_evidence_methods_and_a_missing_slurm_are_refused_before_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, questions = tmp_path / "ds", write_questions(tmp_path / "1.jsonl", {"Q1": "a"})
    with pytest.raises(ConfigError, match=r"unknown method 'magic-v1': use some of answer-string-v1, "):
        built(questions, out, label={"evidence": ["answer-string-v1", "magic-v1"]})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="sbatch was not found"):
        built(questions, out, scale={"executor": "slurm"})
    assert not store_folder(out).exists()


_INTERRUPTED_AT_THE_START = """
import os, sys, time
os.environ["COMMAND"] = str(os.getpid())
from pebble.pool.process import WorkerManager
from builder.deriving import killable_workers as workers
from edu_rag.__main__ import _interrupted
from interrupting import prepare
if sys.argv[3] == "libraries":
    workers.LIBRARIES = "interrupting"
close = WorkerManager.close_channels
def close_slowly(manager):  # a worker may load the locks in this moment
    close(manager)
    time.sleep(1)
WorkerManager.close_channels = close_slowly
try:
    list(workers.map_killable([("a", "x")], len, prepare, workers=int(sys.argv[2])))
except KeyboardInterrupt:
    print(_interrupted(sys.argv[1:2]), file=sys.stderr)
"""
_INTERRUPTING = """
import os, signal, sys, time
if str(os.getpid()) != os.environ["COMMAND"]:  # a worker that is still loading, or the process that it is forked from
    os.killpg(0, signal.SIGINT)
    time.sleep(0.5)
def prepare():
    pass
"""


# Each worker interrupts once, or the process that they are forked from.
@pytest.mark.parametrize(("workers", "who"), [("1", "worker"), ("2", "worker"), ("1", "libraries")])
def test_an_interrupt_while_the_workers_start_is_one_line(tmp_path: Path, workers: str, who: str) -> None:
    (tmp_path / "interrupting.py").write_text(_INTERRUPTING)
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_AT_THE_START, "build", workers, who],
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{tmp_path}"},
        check=False,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and all that they start.
        cwd=REPOSITORY,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.stderr == "edu-rag: interrupted: run the same command again to resume\n"
