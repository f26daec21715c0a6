"""What a folder of a stranger's, or a caller's surroundings, could make a run write, start or show."""

from __future__ import annotations

import os
import resource
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edu_rag.errors import SandboxError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import write_file
from edu_rag.records import Question
from harness.running.replies import MAX_PASSAGES, Reply, prediction_of
from harness.running.run import Manner, run_submission
from harness.sandbox import staging
from harness.sandbox.caps import Caps
from harness.sandbox.launch import find_tools, open_sandbox
from harness.sandbox.runtime import Mount, Runtime, require_hidden, runtime_of
from harness.submission.folder import open_submission

LINKS = ("test.jsonl", "test.log", "test.jsonl.partial", "test.run.json", "test.jsonl.failed")


def a_submission(folder: Path) -> Path:
    (folder / "predictions" / "tiny-1.0.0").mkdir(parents=True)
    (folder / "submission.toml").write_text('name = "S"\nteam = "T"\ncommand = ["true"]\n')
    return folder


@pytest.mark.parametrize("name", LINKS)
def test_a_run_writes_through_no_link_of_the_submission(tmp_path: Path, tiny: Dataset, name: str) -> None:
    folder = a_submission(tmp_path / "a-system")
    precious = tmp_path / "precious"
    precious.write_text("mine\n")
    (folder / "predictions" / "tiny-1.0.0" / name).symlink_to(precious)
    with pytest.raises(SubmissionError, match="the run would write there"):
        run_submission(open_submission(folder), tiny, "test", None, Manner(caps=None))
    assert precious.read_text() == "mine\n"


def test_a_run_writes_into_no_linked_folder(tmp_path: Path, tiny: Dataset) -> None:
    folder = a_submission(tmp_path / "a-system")
    (folder / "predictions" / "tiny-1.0.0").rmdir()
    (folder / "predictions").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (folder / "predictions").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SubmissionError, match="the run would write there"):
        run_submission(open_submission(folder), tiny, "test", None, Manner(caps=None))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_run_reports_that_it_replaces_predictions_for_another_dataset_of_the_same_name(
    tmp_path: Path,
    tiny: Dataset,
    questions: list[Question],
    gold: dict[str, str],
    build_dataset: Callable[..., Dataset],
    capsys: pytest.CaptureFixture[str],
) -> None:
    submission = open_submission(a_submission(tmp_path / "a-system"))
    other = build_dataset(
        tmp_path / "other", questions[:3], {q.question_id: gold[q.question_id] for q in questions[:3]}
    )
    for dataset, reported in ((other, False), (other, False), (tiny, True)):
        with pytest.raises(SubmissionError):  # the command of this system answers nothing
            run_submission(submission, dataset, "test", None, Manner(caps=None))
        assert (f"for {other.id} will be replaced by those for {tiny.id}" in capsys.readouterr().err) is reported


def test_a_link_under_the_temporary_name_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine\n")
    (tmp_path / f".out.json.{os.getpid()}.tmp").symlink_to(precious)
    write_file(tmp_path / "out.json", b"{}\n")
    assert (precious.read_text(), (tmp_path / "out.json").read_bytes()) == ("mine\n", b"{}\n")


def test_a_dataset_inside_of_the_submission_is_refused(tmp_path: Path) -> None:
    runtime = Runtime((), (), (), {})
    with pytest.raises(SandboxError, match="gets a copy"):
        require_hidden(runtime, [tmp_path / "sub" / "data"], tmp_path / "sub")
    require_hidden(runtime, [tmp_path / "data"], tmp_path / "sub")


def test_a_dataset_in_what_is_mounted_inside_of_something_covered_is_refused(tmp_path: Path) -> None:
    home, package = tmp_path / "home", tmp_path / "home" / "baselines"
    (package / "data").mkdir(parents=True)
    runtime = Runtime((Mount(tmp_path, tmp_path), Mount(package, package)), (), (home,), {})
    require_hidden(runtime, [home / "data"])
    with pytest.raises(SandboxError, match="a system in the sandbox can read"):
        require_hidden(runtime, [package / "data"])


def test_the_demos_gold_is_covered_though_no_search_path_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    covered = runtime_of({}).covered
    monkeypatch.setattr(sys, "path", [])
    assert runtime_of({}).covered[:1] == covered[:1]
    assert covered[0].parts[-2:] == ("edu_rag", "mini")


def test_a_program_in_the_folder_that_we_stand_in_is_no_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    assert all(path.startswith("/") for path in find_tools().values())


def test_a_file_of_holes_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    with (tmp_path / "sub" / "holes").open("wb") as stream:
        stream.truncate(1 << 40)
    monkeypatch.setattr(staging, "_MAX_BYTES", 1 << 20)
    with pytest.raises(SandboxError, match="larger than"), staging.stage_of(tmp_path / "sub", ()):
        pass


@pytest.mark.usefixtures("sandbox_here")
def test_no_core_dump_starts_the_machines_program_for_them(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    code = "import resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); print(r.getrlimit(r.RLIMIT_CORE))"
    with open_sandbox(tmp_path / "sub", os.environ, Caps(n_processes=48)) as sandbox:
        process = sandbox.start(["python", "-c", code], 2)
        try:
            assert process.wait(60) == 0
            said = process.stdout.read()
        finally:
            process.stdin.close()
            process.stdout.close()
            process.end()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    wanted = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
    assert said.decode().strip() == f"({wanted}, {wanted})"


def test_what_is_kept_of_an_answer_is_bounded() -> None:
    kept = prediction_of("q1", Reply({"answer": "x" * 900_000, "response": "y" * 900_000}, 0.1), first=False)
    assert (len(kept.answer or ""), len(kept.response or "")) == (20_001, 20_000)
    many = prediction_of("q1", Reply({"answer": "a", "passages": [["p", 0, 1]] * (MAX_PASSAGES + 1)}, 0.1), first=False)
    assert (many.status, many.response) == ("protocol", f"passages: {MAX_PASSAGES + 1} are more than {MAX_PASSAGES}")
    long = prediction_of("q1", Reply({"answer": "a", "passages": [["p" * 201, 0, 1]]}, 0.1), first=False)
    assert long.status == "protocol"
