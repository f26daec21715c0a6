from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import root
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from edu_rag.scorecard.results_folder import read_scorecard
from harness.probing.probe_rates import wilson
from harness.rescoring.rerun import said
from harness.running.fingerprint import system_sha256
from harness.running.run import Manner, run_submission
from harness.submission.folder import open_submission
from harness.submission.run_record import record_path
from harness.trust.rerun_log import FILE_NAME, read_reruns

ALWAYS_B = """
from edu_rag.serve import SystemAnswer, serve
serve(lambda question: SystemAnswer(answer="b"))
"""


@pytest.fixture(autouse=True)
def away_from_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder `leaderboard` lies, a re-run adds its line there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def always_b(write_system: Callable[..., Path]) -> Path:
    return write_system(ALWAYS_B, slug="always-b")


def hand_in(folder: Path, dataset: Dataset, **changed: str | None) -> Path:
    """Predictions as a stranger hands them in: a file, with these answers instead of b."""
    path = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = sorted(question.question_id for question in dataset.questions("test"))
    rows = [{"question_id": i, "answer": changed.get(i, "b")} for i in ids]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rerun(folder: Path, dataset: Dataset, *more: object, sandbox: bool = False) -> Result:
    words = ["rerun", folder, "--dataset", dataset.folder, *([] if sandbox else ["--unsafe-no-sandbox"]), *more]
    return CliRunner().invoke(root, [str(word) for word in words])


def test_a_re_run_in_the_sandbox_is_held_against_what_was_handed_in(
    always_b: Path, tiny: Dataset, tmp_path: Path
) -> None:
    path = hand_in(always_b, tiny, q003="a", q007=None)
    before = path.read_bytes(), system_sha256(always_b)
    reruns = tmp_path / FILE_NAME
    done = rerun(always_b, tiny, "--reruns", reruns, sandbox=True)
    assert done.exit_code == 0, (done.output, done.exception)
    low, high = wilson(38, 40)
    assert done.stdout.splitlines() == [
        f"always-b on {tiny.id}, test: 38 of 40 answers are the same: 95.00 %   "
        f"95 % interval {100 * low:.2f} … {100 * high:.2f} %",
        "  q003: a was handed in, now b",
        "  q007: abstained was handed in, now b",
    ]
    (line,) = read_reruns(reruns)
    assert (line.n, line.n_same, line.own, line.sample) == (40, 38, False, None)
    assert line.caps["sandbox"] == "bubblewrap"
    assert set(line.latency_s) == {"median", "p95", "mean"}
    assert (path.read_bytes(), system_sha256(always_b)) == before
    assert [entry.name for entry in sorted((always_b / "predictions").rglob("*.*"))] == ["tiny-1.0.0", "test.jsonl"]


def test_a_sample_asks_its_questions_alone_and_a_newer_line_replaces_the_older(
    always_b: Path, tiny: Dataset, tmp_path: Path
) -> None:
    hand_in(always_b, tiny)
    reruns = tmp_path / FILE_NAME
    assert rerun(always_b, tiny, "--reruns", reruns, "--sample", 12, "--seed", 3).exit_code == 0
    assert [(line.n, line.n_same, line.sample) for line in read_reruns(reruns)] == [(12, 12, "stratified-12-seed-3")]
    done = rerun(always_b, tiny, "--reruns", reruns, "--sample", 8, "--json")
    assert [(line.n, line.sample) for line in read_reruns(reruns)] == [(8, "stratified-8-seed-0")]
    values = json.loads(done.stdout)
    assert (values["agreement"], values["interval"], values["different"]) == (1.0, list(wilson(8, 8)), [])
    assert values["caps"] == {"sandbox": "none"}


def test_what_a_re_run_found_stands_in_the_scorecard(always_b: Path, tiny: Dataset, tmp_path: Path) -> None:
    hand_in(always_b, tiny, q003="a")
    assert rerun(always_b, tiny, "--reruns", tmp_path / FILE_NAME).exit_code == 0
    words = ["score", "--all", always_b.parent, "--dataset", tiny.folder, "--out", tmp_path / "results"]
    assert CliRunner().invoke(root, [str(word) for word in words]).exit_code == 0
    card = read_scorecard(tmp_path / "results" / "tiny-1.0.0" / "test" / "always-b" / "scorecard.json")
    assert (card.rerun["n"], card.rerun["n_same"], card.rerun["own"], card.caps) == (40, 39, False, {})


def test_the_system_cannot_see_what_was_handed_in(write_system: Callable[..., Path], tiny: Dataset) -> None:
    cheat = write_system(
        """
import json, pathlib
from edu_rag.serve import SystemAnswer, serve
found = any(pathlib.Path(".").rglob("*.jsonl"))
serve(lambda question: SystemAnswer(answer="b" if found else None))
""",
        slug="copies-itself",
    )
    hand_in(cheat, tiny)
    assert "0 of 40 answers are the same" in rerun(cheat, tiny).stdout


def test_a_question_that_failed_is_different_also_where_it_failed_before(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    shaky = write_system(
        """
import os, sys
from edu_rag.serve import SystemAnswer, serve
def answer(question):
    if question.text.startswith("Question number 5?"):
        os._exit(3)
    return SystemAnswer(answer="b")
serve(answer)
""",
        slug="shaky",
    )
    path = hand_in(shaky, tiny)
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"q005"' not in line))
    done = rerun(shaky, tiny)
    assert "39 of 40 answers are the same" in done.stdout
    assert "q005: failed was handed in, now failed" in done.stdout


def test_a_system_that_answers_nothing_leaves_no_line(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path
) -> None:
    broken = write_system("raise SystemExit(1)\n", slug="broken")
    hand_in(broken, tiny)
    done = rerun(broken, tiny, "--reruns", tmp_path / FILE_NAME)
    assert "not a single question was answered" in str(done.exception)
    assert not (tmp_path / FILE_NAME).exists()


def test_a_tree_with_links_is_not_run(always_b: Path, tiny: Dataset) -> None:
    hand_in(always_b, tiny)
    (always_b / "gold").symlink_to(tiny.folder / "gold")
    assert "link" in str(rerun(always_b, tiny).exception)


def test_answers_are_read_alike_by_the_same_rules_as_in_scoring() -> None:
    choices = {"a": "meiosis", "b": "mitosis"}
    question = Question(question_id="q", text="Which?", choices=choices, kind="multiple_choice", split="test")

    def reads(answer: str | None, status: str = "ok") -> str:
        return said(question, Prediction(question_id="q", answer=answer, status=status))

    assert reads("The answer is (b).") == reads("mitosis") == reads("b") == "b"
    assert reads(None) == reads("I don't know") == "abstained"
    assert reads(None, "timeout") == said(question, None) == "failed"
    assert reads("Seven.") == reads("seven") != reads("eight")


@pytest.fixture
def own(always_b: Path, tiny: Dataset) -> Path:
    """A maintainers' run, with its record."""
    return run_submission(open_submission(always_b), tiny, "test", None, Manner(caps=None))


def test_an_own_run_is_vouched_for_by_its_record_and_runs_nothing(
    own: Path, always_b: Path, tiny: Dataset, tmp_path: Path
) -> None:
    reruns = tmp_path / FILE_NAME
    (always_b.parent / "marker").touch()
    done = rerun(always_b, tiny, "--own", "--reruns", reruns)
    assert done.exit_code == 0, done.output
    (line,) = read_reruns(reruns)
    assert (line.own, line.n, line.n_same, line.caps) == (True, 40, 40, {"sandbox": "none"})
    words = ["score", "--all", always_b.parent, "--dataset", tiny.folder, "--out", tmp_path / "results"]
    assert CliRunner().invoke(root, [str(word) for word in words]).exit_code == 0
    card = read_scorecard(tmp_path / "results" / "tiny-1.0.0" / "test" / "always-b" / "scorecard.json")
    assert (card.cost["latency_s"]["source"], card.caps) == ("measured", {"sandbox": "none"})


def test_what_an_own_run_does_not_fit_is_named(own: Path, always_b: Path, tiny: Dataset) -> None:
    record = json.loads(record_path(own).read_text())
    faults = {
        "belongs to other predictions": {"predictions_sha256": "0" * 64},
        "belongs to other files of the system": {"system_sha256": "0" * 64},
        "belongs to a probe": {"probe": "repeat-1"},
        "these predictions were made on tiny@1.0.0#00000000": {
            "dataset": "tiny@1.0.0#00000000",
            "shown_sha256": "0" * 64,
        },
    }
    for what, change in faults.items():
        record_path(own).write_text(json.dumps(record | change))
        assert what in str(rerun(always_b, tiny, "--own").exception)
    record_path(own).unlink()
    assert "has no run record next to it" in str(rerun(always_b, tiny, "--own").exception)


def test_predictions_without_a_command_cannot_be_run_again(tiny: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "submissions" / "data-only"
    folder.mkdir(parents=True)
    (folder / "submission.toml").write_text('name = "D"\nteam = "us"\n')
    hand_in(folder, tiny)
    assert "has no command to run" in str(rerun(folder, tiny).exception)


def test_without_a_board_and_a_named_file_nothing_is_kept(
    own: Path, always_b: Path, tiny: Dataset, tmp_path: Path
) -> None:
    assert (
        "not recorded: there is no folder `leaderboard` here; name a file with --reruns"
        in rerun(always_b, tiny, "--own").stderr
    )
    (tmp_path / "leaderboard").mkdir()
    rerun(always_b, tiny, "--own")
    assert [line.own for line in read_reruns(tmp_path / "leaderboard" / FILE_NAME)] == [True]
