"""The script of the board's runs: which published runs it takes up for a probe, and what it vouches for."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from edu_rag.files.jsonl import write_json, write_records
from edu_rag.files.manifest import Manifest, file_sha256
from harness.probing.probe_questions import DRAWS
from harness.running.fingerprint import system_sha256
from harness.submission.folder import Limits
from harness.submission.run_record import ProbeRun, RunRecord, read_run_record, record_path
from harness.trust.rerun_log import Rerun, read_reruns

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import board_runs  # noqa: E402

BEFORE, NOW = "books@1.0.0#aaaaaaaa", "books@1.0.0#bbbbbbbb"
DATASET = cast("Manifest", SimpleNamespace(id=NOW, release=SimpleNamespace(folder="books-1.0.0")))
EXAM = cast("Any", SimpleNamespace(dataset=NOW, split="test", sample="stratified-4-seed-0", shown_sha256=""))


def answers(path: Path, said: Sequence[str], **more: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_records(path, ({"question_id": f"q{i}", "answer": one} | more for i, one in enumerate(said)))
    return path


def line_of(folder: Path, place: Path, **changes: Any) -> Rerun:
    values = {
        "slug": "mine",
        "dataset": BEFORE,
        "split": "test",
        "sample": "stratified-4-seed-0",
        "system_sha256": system_sha256(folder),
        "predictions_sha256": file_sha256(place),
        "n": 4,
        "n_same": 4,
        "caps": {"sandbox": "bubblewrap"},
        "harness": "edu-rag-bench 0.1.0",
        "made_at": "2026-11-25T00:00:00Z",
        "own": True,
    }
    return Rerun(**(values | changes))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one system and its published run."""
    root = tmp_path / "repository"
    folder = root / "submissions" / "mine"
    folder.mkdir(parents=True)
    (folder / "system.py").write_text("answer = 'a'\n")
    place = answers(folder / "predictions/books-1.0.0/test-stratified-4-seed-0.jsonl", "abca")
    (root / "leaderboard").mkdir()
    write_records(root / "leaderboard/reruns.jsonl", [line_of(folder, place)])
    monkeypatch.setattr(board_runs, "ROOT", root)
    monkeypatch.setattr(board_runs, "LEADERBOARD", root / "leaderboard")
    return root


def restored(repository: Path) -> Path:
    runs = repository.parent / "runs"
    board_runs.restore(runs, DATASET, {"mine"})
    return runs / "submissions/mine/predictions/books-1.0.0/test-stratified-4-seed-0.jsonl"


def test_a_published_run_is_restored_with_its_record_for_the_dataset_as_it_is_now(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = restored(repository)
    record = read_run_record(made)
    assert record is not None
    assert (record.dataset, record.sample, record.n_questions) == (NOW, "stratified-4-seed-0", 4)
    assert record.predictions_sha256 == file_sha256(made)
    assert f"restored, made on {BEFORE}, asked now on {NOW}" in capsys.readouterr().out


def test_a_run_is_not_restored_for_changed_files_changed_answers_or_another_version_of_the_dataset(
    repository: Path,
) -> None:
    reruns, folder = repository / "leaderboard/reruns.jsonl", repository / "submissions/mine"
    place = next(folder.rglob("test-*.jsonl"))
    for wrong in (
        line_of(folder, place, system_sha256="0" * 64),
        line_of(folder, place, predictions_sha256="0" * 64),
        line_of(folder, place, dataset="books@1.1.0#aaaaaaaa"),
        line_of(folder, place, sample="stratified-3-seed-0"),
    ):
        write_records(reruns, [wrong])
        assert not restored(repository).exists()


def probed(made: Path, sample: str, said: str, sandbox: str = "bubblewrap") -> None:
    """A probe next to a run, as `edu-rag probe` writes it."""
    main = read_run_record(made)
    assert main is not None
    path = answers(made.parent / "probes" / f"test-{sample}.no-context.jsonl", said)
    record = RunRecord(
        dataset=NOW,
        split="test",
        sample=sample,
        system_sha256=main.system_sha256,
        harness=main.harness,
        limits=Limits(),
        probe="no-context",
        draws=DRAWS,
        predictions_sha256=file_sha256(path),
        caps={"sandbox": sandbox},
    )
    write_json(record_path(path), record)


def vouched(repository: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ProbeRun, ...]:
    monkeypatch.setattr(board_runs, "open_exam", lambda *_: EXAM)
    place = repository / made.relative_to(repository.parent / "runs")
    board_runs.strip(made, place)
    reruns = repository / "leaderboard/reruns.jsonl"
    board_runs.vouch(made, place, reruns, cast("Any", DATASET), "")
    (line,) = read_reruns(reruns)
    assert line.dataset == BEFORE
    return line.probes


def test_new_probes_are_added_to_those_that_are_vouched_for_each_with_its_sample(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = restored(repository)
    for sample, said in (("stratified-4-seed-0", "aaaa"), ("stratified-2-seed-0", "bb")):
        probed(made, sample, said)
        found = vouched(repository, made, monkeypatch)
    assert [(one.probe, one.sample) for one in found] == [
        ("no-context", "stratified-2-seed-0"),
        ("no-context", "stratified-4-seed-0"),
    ]


def test_a_probe_without_the_sandbox_is_not_vouched_for_next_to_a_run_in_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = restored(repository)
    probed(made, "stratified-4-seed-0", "aaaa", sandbox="none")
    with pytest.raises(SystemExit, match="not made in the sandbox"):
        vouched(repository, made, monkeypatch)


def test_a_copy_has_no_response_and_no_record_of_older_predictions(repository: Path) -> None:
    made = restored(repository)
    place = repository / made.relative_to(repository.parent / "runs")
    record_path(place).write_text("{}")
    answers(made, "abca", response="a quoted page")
    board_runs.strip(made, place)
    assert not record_path(place).exists()
    assert next(json.loads(text) for text in place.read_text().splitlines()) == {"question_id": "q0", "answer": "a"}


def rows(n: int) -> list[dict[str, Any]]:
    names = ("score", "score_low", "score_high", "accuracy", "hallucination", "missing")
    ranked = range(1, n + 1)
    return [{"rank_first": 1, "rank_last": i, "slug": f"s{i}", "n": 500, **dict.fromkeys(names, 0.1)} for i in ranked]


def test_a_page_gets_the_first_rows_of_the_fullest_table_between_its_marks(tmp_path: Path) -> None:
    tables = [
        {"dataset": "books", "split": "test", "sample": None, "rows": rows(3)},
        {"dataset": "books", "split": "test", "sample": "stratified-500-seed-0", "rows": rows(12)},
        {"dataset": "other", "split": "test", "sample": None, "rows": rows(20)},
    ]
    board = board_runs.first_rows("books", tables)
    title, empty, head, _, *shown = board.splitlines()
    assert (title, empty) == ("books, test, stratified-500-seed-0: n = 500; 10 of 12 systems", "")
    assert head.startswith("| rank | system | score |")
    assert [line.split(" | ")[:2] for line in shown] == [["| 1", "`s1`"]] + [
        [f"| 1–{i}", f"`s{i}`"] for i in range(2, 11)
    ]
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- board: begin -->\nold\n<!-- board: end -->\nAfter.\n", encoding="utf-8")
    board_runs.write_board(page, [board, "About."])
    written = f"Before.\n<!-- board: begin -->\n{board}\n\nAbout.\n<!-- board: end -->\nAfter.\n"
    assert page.read_text(encoding="utf-8") == written
    page.write_text("No marks.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="not enough values"):
        board_runs.write_board(page, [board])
    assert page.read_text(encoding="utf-8") == "No marks.\n"


def test_the_corrected_p_of_a_pair_is_the_one_of_its_set_of_questions(tmp_path: Path) -> None:
    tables = [
        {"id": "a", "dataset": "books", "split": "test", "sample": None},
        {"id": "b", "dataset": "books", "split": "test", "sample": "stratified-4-seed-0"},
        {"id": "c", "dataset": "other", "split": "test", "sample": None},
    ]
    for name, p in (("a", 0.25), ("b", 0.5), ("c", 0.75)):
        (tmp_path / "pairs" / name).mkdir(parents=True)
        write_json(tmp_path / "pairs" / name / "mine.json", {"with": ["yours"], "p_holm": [p]})
    found = board_runs.corrected(tmp_path, tables, "books")
    assert found == {("test", "mine", "yours"): 0.25, ("test-stratified-4-seed-0", "mine", "yours"): 0.5}


def test_systems_above_abstaining_have_a_p_for_that_question_and_one_for_all_pairs(tmp_path: Path) -> None:
    table = {"id": "a", "rows": [row | {"score": 0.3 - 0.15 * place} for place, row in enumerate(rows(4))]}
    assert board_runs.above_abstaining(tmp_path, table) == ""
    (tmp_path / "pairs" / "a").mkdir(parents=True)
    found = {"with": ["s1", "s2", "s4"], "p": [0.01, 0.03, 0.02], "p_holm": [0.06, 0.12, 0.1]}
    write_json(tmp_path / "pairs" / "a" / "blind-abstain.json", found)
    head, _, *shown = board_runs.above_abstaining(tmp_path, table).splitlines()
    assert "p (Holm, 3 tests against abstaining) | p (Holm, all 6 pairs)" in head
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown]
    assert [(row[0], *row[3:]) for row in cells] == [("`s1`", "0.01", "0.03", "0.06"), ("`s2`", "0.03", "0.04", "0.12")]
