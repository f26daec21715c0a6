"""What stands on stderr beside a score or a check: stale predictions, unfinished runs, failures, odd citations."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import root
from edu_rag.files.dataset import Dataset
from edu_rag.records import page_id_of
from harness.rescoring.rescore import rescore
from harness.running.run import Manner, run_submission
from harness.scoring.score import now_utc
from harness.submission.folder import Limits, open_submission, partial_path
from harness.trust.cautions import of_files

pytestmark = pytest.mark.usefixtures("sandbox_here")

ANSWER_B = "from edu_rag.serve import serve\nserve(lambda question: 'b')\n"
STALE = "made by another version of the system than its files are now: `edu-rag run` makes them again"


def call(*words: object) -> Result:
    return CliRunner().invoke(root, [str(word) for word in words])


def cautions(command: str, *words: object) -> str:
    """What a command writes to stderr, without the line of `score` and `explain` that says what they begin."""
    first, *others = call(command, *words).stderr.splitlines(keepends=True) or [""]
    return "".join(others if first.startswith(f"{command} ") else [first, *others])


@pytest.fixture
def predictions(write_system: Callable[..., Path], tiny: Dataset) -> Path:
    manner = Manner(limits=Limits(time_s=20, start_s=30))
    return run_submission(open_submission(write_system(ANSWER_B)), tiny, "test", None, manner)


def test_predictions_of_another_version_of_the_system_are_told_but_are_no_error(
    predictions: Path, tiny: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = predictions.parents[2]
    commands = [
        ("check", folder, "--dataset", tiny.folder),
        ("check", predictions),
        ("score", folder, "--dataset", tiny.folder),
        ("explain", folder, "--dataset", tiny.folder),
    ]
    assert [cautions(*command) for command in commands] == [""] * 4
    (folder / "notes.txt").write_text("an edit")
    told = f"{folder}: test.jsonl: {STALE}\n"
    for command in commands:
        assert call(*command).exit_code == 0
        assert cautions(*command) == told
    capsys.readouterr()
    assert not rescore(folder.parent, [tiny], tmp_path / "results", scored_at=now_utc()).faults
    assert told in capsys.readouterr().err


def test_several_stale_files_of_a_submission_are_one_line(predictions: Path, tiny: Dataset) -> None:
    folder = predictions.parents[2]
    manner = Manner(limits=Limits(time_s=20, start_s=30))
    for n in (4, 8, 12):
        run_submission(open_submission(folder), tiny, "test", f"stratified-{n}-seed-0", manner)
    (folder / "notes.txt").write_text("an edit")
    (told,) = call("check", folder, "--dataset", tiny.folder).stderr.splitlines()
    names = [f"test-stratified-{n}-seed-0.jsonl" for n in (12, 4, 8)]
    assert told == f"{folder}: {', '.join(names)} and 1 more: {STALE}"


def test_what_no_run_record_or_no_command_speaks_of_is_not_stale(predictions: Path, tiny: Dataset) -> None:
    folder = predictions.parents[2]
    record, toml = predictions.with_suffix(".run.json"), folder / "submission.toml"
    held, settings = record.read_text(), toml.read_text()
    toml.write_text('name = "Test system"\nteam = "us"\n')  # handed in without its code
    assert list(of_files([predictions])) == []
    toml.write_text(settings + 'description = "another one"\n')
    assert list(of_files([predictions])) == []
    toml.write_text(settings + "[limits]\ntime_s = 7\n")
    assert len(list(of_files([predictions]))) == 1
    for text in ("{", None):
        record.write_text(text) if text else record.unlink()
        assert list(of_files([predictions])) == []
    record.write_text(held)
    toml.write_text("name = ")
    assert list(of_files([predictions])) == []
    assert list(of_files([])) == []


def test_an_interrupted_run_beside_the_predictions_is_told_where_it_is_the_newer(
    predictions: Path, tiny: Dataset
) -> None:
    partial = partial_path(predictions)
    partial.write_text("")
    for command in ("check", "score"):
        assert cautions(command, predictions, "--dataset", tiny.folder) == (
            f"{partial}: an interrupted run is next to the predictions: run again to finish it\n"
        )
    os.utime(partial, (0, 0))
    assert cautions("score", predictions, "--dataset", tiny.folder) == ""


def test_score_says_how_many_failed_and_loudly_where_all_did(
    tiny: Dataset, gold: dict[str, str], write_lines: Callable[..., Path]
) -> None:
    answered = [{"question_id": i, "answer": "b"} for i in gold]
    path = write_lines(answered[2:])
    assert cautions("score", path, "--dataset", tiny.folder) == (
        "2 of 40 questions failed: `edu-rag explain … --lost failed` lists them\n"
    )
    write_lines([{"question_id": i, "answer": None, "status": "crash"} for i in gold])
    done = call("score", path, "--dataset", tiny.folder, "--json")
    assert done.stderr.splitlines()[1].startswith(
        "WARNING: all 40 questions failed, so this is the result of a broken run"
    )
    assert json.loads(done.stdout)["counts"]["failed"] == 40
    write_lines(answered)
    assert cautions("score", path, "--dataset", tiny.folder) == ""


def test_citations_that_cannot_exist_are_counted_and_shown_but_are_no_fault(
    tiny: Dataset, gold: dict[str, str], write_lines: Callable[..., Path]
) -> None:
    here, end = page_id_of("http://site1.example/page"), 64
    ids = list(gold)

    def cite(*passages: list[object]) -> Path:
        cited = dict(zip(ids, ([one] for one in passages), strict=False))
        return write_lines([{"question_id": i, "answer": "b", "passages": cited.get(i, [])} for i in ids])

    path = cite([here, 0, end], [here, end - 1, end])
    assert "passage" not in call("check", path, "--dataset", tiny.folder).output
    assert cautions("score", path, "--dataset", tiny.folder) == ""
    path = cite([here, 0, end + 1], ["p-nowhere", 0, 1], [here, 0, end], [here, 900, 999], ["p-else", 5, 6])
    done = call("check", path, "--dataset", tiny.folder)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[1:] == [
        "4 cited passage(s) cannot exist",
        f"  {ids[0]}: {here!r} has 64 characters, the passage ends at 65",
        f"  {ids[1]}: 'p-nowhere' is not a page of this split",
        f"  {ids[3]}: {here!r} has 64 characters, the passage ends at 999",
        "  … and 1 more",
    ]
    assert cautions("score", path, "--dataset", tiny.folder) == (
        "2 passage(s) are cited of pages that the dataset does not have: `edu-rag check` shows some\n"
    )
