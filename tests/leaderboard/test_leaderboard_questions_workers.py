"""Lesson pages made by several processes: the same bytes, the same faults, and no process left behind."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import fixture_board as made
import fixture_quiz as quiz
import pytest
from some_pages import build_some

from edu_rag.errors import BudgetError, ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.processes.bounded_child import can_fork
from edu_rag.processes.budget import CPU_VARIABLE, within_budget
from leaderboard.exams import open_exams
from leaderboard.pages import question_pages
from leaderboard.questions import worker_pool
from leaderboard.questions.worker_pool import WorkerInput, WorkerPool, workers_for


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "FEW_ANSWERS", 1)


def contents(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_no_byte_depends_on_the_number_of_processes_and_none_is_left(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset", hostile=True)
    quiz.write_results(tmp_path / "results", dataset)
    sites = []
    for workers in (1, 2):
        given = {"exams": open_exams([dataset.folder]), "repository": quiz.REPOSITORY, "workers": workers}
        sites.append(build_some(tmp_path / "results", tmp_path / f"site{workers}", (question_pages,), **given))
    assert contents(sites[0]) == contents(sites[1])
    assert len(contents(sites[0])) > 40
    assert multiprocessing.active_children() == []


def test_a_fault_that_another_process_finds_is_told_with_its_line(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    made.write_card(tmp_path / "results", made.card_of("odd", "c" * 93, dataset=dataset.id), b'{"question_id": 3}\n')
    given = {"exams": open_exams([dataset.folder]), "workers": 2}
    with pytest.raises(DataError, match=r"predictions\.jsonl:1.*score the submission again"):
        build_some(tmp_path / "results", tmp_path / "site", (question_pages,), **given)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_spends_its_budget_is_refused_and_one_that_does_not_is_read(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    passages = ",".join(['["p",0,1]'] * 100_000)
    # Twenty megabytes: fifteen times the budget below, or more.
    lines = "".join(f'{{"question_id": "Q_{n:04}", "answer": "a", "passages": [{passages}]}}\n' for n in range(20))
    made.write_card(tmp_path / "results", made.card_of("odd", "c" * 93, dataset=dataset.id), lines.encode())
    given = {"exams": open_exams([dataset.folder]), "workers": workers}
    build_some(tmp_path / "results", tmp_path / "site", (question_pages,), **given)
    monkeypatch.setenv(CPU_VARIABLE, "0.01")
    with pytest.raises(BudgetError, match=rf"predictions\.jsonl: takes more than 0.01 s .*{CPU_VARIABLE}"):
        build_some(tmp_path / "results", tmp_path / "again", (question_pages,), **given)
    assert multiprocessing.active_children() == []


def _reads(_: WorkerInput, number: int) -> tuple[bool, bool]:
    return can_fork(), within_budget(os.getpid, what=number) != os.getpid()


def test_a_process_reads_in_a_fork() -> None:
    team = WorkerPool(_worker_input(), 2)
    assert list(team.each(_reads, [1, 2])) == [(sys.platform == "linux", True)] * 2
    team.dismiss()


def _wait(_: WorkerInput, number: int) -> None:
    os.write(1, b"ready\n")
    threading.Event().wait()


def test_a_build_that_is_killed_leaves_no_process() -> None:
    team = "tests.WorkerPool(tests._worker_input(), 2)"
    code = f"import test_leaderboard_questions_workers as tests; list({team}.each(tests._wait, [1]))"
    here = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": here}
    ) as build:
        assert build.stdout is not None
        assert build.stdout.readline() == b"ready\n"
        build.kill()
        assert build.stdout.read() == b""  # ends only when nobody holds the pipe any more


def _double(_: WorkerInput, number: int) -> int:
    return 2 * number


def _die(_: WorkerInput, number: int) -> int:
    import os

    os._exit(number)


def _worker_input() -> WorkerInput:
    return WorkerInput(
        dataset_id="",
        folder="",
        base_url="",
        repository="",
        questions=(),
        pages=(),
        names=(),
        outcomes=(),
        counted=(),
        page_ids=(),
    )


def test_jobs_come_back_in_their_order_and_a_process_that_is_killed_is_told_with_a_way_out() -> None:
    team = WorkerPool(_worker_input(), 2)
    assert list(team.each(_double, range(20))) == [2 * number for number in range(20)]
    with pytest.raises(ConfigError, match=r"--workers: .*was killed.*--workers 1"):
        list(team.each(_die, [9]))
    team.dismiss()
    assert list(team.each(_double, [4])) == [8]  # it starts again
    team.dismiss()
    assert multiprocessing.active_children() == []


def test_few_answers_are_not_worth_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "FEW_ANSWERS", 1_000)
    assert (workers_for(999, 4), workers_for(1_000, 4)) == (1, 4)


def test_one_page_made_anew_among_kept_ones_is_the_same(tmp_path: Path) -> None:
    from leaderboard.board.collect import collect
    from leaderboard.board.present import present
    from leaderboard.edition import Edition
    from leaderboard.questions.exam_pages import QuestionSite

    dataset = quiz.write_exam(tmp_path / "dataset")
    quiz.write_results(tmp_path / "results", dataset)
    groups = collect(tmp_path / "results")
    edition = Edition(board=present(groups), groups=groups, exams=open_exams([Dataset(dataset.folder).folder]))
    (exam,) = edition.exams.values()
    question_site = QuestionSite(edition, exam)
    every = [question_site.lesson(at) for at in range(len(question_site.pages))]
    for order in ([3], [0, 2, 5], [5, 1, 1, 2]):
        assert [question_site.lesson(at) for at in order] == [every[at] for at in order]
