from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import Prediction
from harness.commands.run_command import stopping_like_ctrl_c
from harness.running import resume as partials
from harness.running.child_system import ChildSystem, FaultError
from harness.running.resume import SYNC_S, Partial
from harness.running.run import Manner, run_submission
from harness.running.system_log import CUT_MARK, SystemLog
from harness.sandbox.system_process import PlainLauncher, PlainProcess
from harness.submission.folder import Limits, open_submission, partial_path
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import read_run_record

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(time_s=20, start_s=30)
RUN = {"dataset": "tiny@1.0.0#0", "system_sha256": "0"}


def said(question_id: str) -> Prediction:
    return Prediction(question_id=question_id, answer="b")


def system(asked: Path, pause_s: float) -> str:
    return f"""
import os, time
from edu_rag.serve import serve
def answer(question):
    with open({str(asked)!r}, "a") as out:
        out.write(f"{{os.getpid()}} {{question.text}}\\n")
    time.sleep({pause_s})
    return "b"
serve(answer)
"""


def start(folder: Path, dataset: Dataset) -> subprocess.Popen[bytes]:
    code = f"""
from pathlib import Path
from edu_rag.files.dataset import Dataset
from harness.running.run import Manner, run_submission
from harness.submission.folder import open_submission
dataset = Dataset(Path({str(dataset.folder)!r}))
run_submission(open_submission(Path({str(folder)!r})), dataset, "test", None, Manner(caps=None))
"""
    given = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", code], env=given, stderr=subprocess.DEVNULL)


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def n_lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def asked_by(path: Path) -> list[bytes]:
    """The process id of the system that was asked, for each question that was."""
    return [line.split()[0] for line in path.read_bytes().splitlines()]


@pytest.fixture
def running(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path
) -> Iterator[tuple[Path, subprocess.Popen[bytes], Path]]:
    """A run in another process that has answered five questions: submission, process, what was asked."""
    asked = tmp_path / "asked.txt"
    folder = write_system(system(asked, 0.05))
    process = start(folder, tiny)
    wait_for(lambda: n_lines(partial_path(folder / "predictions" / "tiny-1.0.0" / "test.jsonl")) > 5)
    yield folder, process, asked
    process.kill()
    process.wait()


def test_two_runs_into_one_file_are_one_clear_error_and_harm_nothing(
    running: tuple[Path, subprocess.Popen[bytes], Path], tiny: Dataset
) -> None:
    folder, process, asked = running
    partial = folder / "predictions" / "tiny-1.0.0" / "test.jsonl.partial"
    with pytest.raises(SubmissionError) as error:
        run_submission(open_submission(folder), tiny, "test", None, Manner(limits=LIMITS, fresh=True, caps=None))
    assert str(error.value) == f"{partial}: another run is writing it: let it end, or stop it first"
    process.wait()
    assert n_lines(asked) == 40
    assert n_lines(partial.with_suffix("")) == 40
    assert not partial.exists()


def test_a_killed_run_frees_its_file_and_its_answers_are_not_asked_again(
    running: tuple[Path, subprocess.Popen[bytes], Path], tiny: Dataset
) -> None:
    folder, process, asked = running
    partial = folder / "predictions" / "tiny-1.0.0" / "test.jsonl.partial"
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = n_lines(partial) - 1
    with partial.open("ab") as stream:
        stream.write(b'{"question_id":"q039","answer":')
    before = asked_by(asked)  # the system of the killed run may write down one question more
    path = run_submission(open_submission(folder), tiny, "test", None, Manner(limits=LIMITS, caps=None))
    assert len(read_predictions(path, [q.question_id for q in tiny.questions("test")])) == 40
    assert sum(pid not in before for pid in asked_by(asked)) == 40 - kept
    record = read_run_record(path)
    assert record is not None
    assert (record.n_resumed, record.n_asked, record.n_questions) == (kept, 40 - kept, 40)


def test_what_was_kept_is_only_cut_at_its_torn_end_never_written_again(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl.partial"
    first = Partial(path, RUN, fresh=False)
    for question_id in ("q1", "q2"):
        first.add(said(question_id))
    first.close()
    whole, number = path.read_bytes(), path.stat().st_ino
    path.write_bytes(whole + b'{"question_id":"q3","answer":"b"}')
    again = Partial(path, RUN, fresh=False)
    assert list(again.done) == ["q1", "q2"]
    assert (path.read_bytes(), path.stat().st_ino) == (whole, number)
    again.add(said("q3"))
    again.close()
    assert (
        path.read_bytes()
        == whole + b'{"question_id":"q3","answer":"b","response":null' + path.read_bytes().split(b'"response":null')[-1]
    )


BROKEN = [b"", b"\n", b"[]\n", b"{", b'{"dataset": 1}\n', b"\xff\n", b"\0" * 100]


@pytest.mark.parametrize("start_bytes", BROKEN)
def test_a_file_that_names_no_such_run_is_begun_anew(tmp_path: Path, start_bytes: bytes) -> None:
    path = tmp_path / "test.jsonl.partial"
    path.write_bytes(start_bytes + b'{"question_id":"q1","answer":"b"}\n')
    kept = Partial(path, RUN, fresh=False)
    assert kept.done == {}
    kept.close()
    assert path.read_bytes() == b'{"dataset":"tiny@1.0.0#0","system_sha256":"0"}\n'


@pytest.mark.parametrize(("limits", "expected"), [({"time_s": 1.0}, ["q1", "q2"]), ({"time_s": 9.0}, ["q1"])])
def test_faults_are_asked_again_under_other_limits_and_answers_stay(
    tmp_path: Path, limits: dict[str, float], expected: list[str]
) -> None:
    path = tmp_path / "test.jsonl.partial"
    kept = Partial(path, {**RUN, "limits": {"time_s": 1.0}}, fresh=False)
    kept.add(said("q1"))
    kept.add(Prediction(question_id="q2", answer=None, status="timeout"))
    kept.close()
    again = Partial(path, {**RUN, "limits": limits}, fresh=False)
    assert list(again.done) == expected
    again.add(said("q2"))
    again.close()
    last = Partial(path, {**RUN, "limits": limits}, fresh=False)
    assert last.done == {"q1": said("q1"), "q2": said("q2")}
    last.close()


OTHER = {**RUN, "system_sha256": "1"}


@pytest.mark.parametrize("fresh", [False, True])
def test_answers_of_another_run_wait_until_that_run_is_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh: bool
) -> None:
    path = tmp_path / "test.jsonl.partial"
    for run, question_id in ((RUN, "q1"), (OTHER, "q2")):
        kept = Partial(path, run, fresh=fresh)
        assert kept.done == {}
        kept.add(said(question_id))
        kept.close()
    (aside,) = set(tmp_path.iterdir()) - {path}
    assert f"they wait in {aside.name}" in capsys.readouterr().err
    for run, question_id in ((RUN, "q1"), (OTHER, "q2"), ({**RUN, "limits": {"time_s": 9.0}}, "q1")):
        back = Partial(path, run, fresh=False)
        assert list(back.done) == [question_id]
        back.close()
    last = Partial(path, OTHER, fresh=False)
    last.remove()
    last.close()
    assert len(list(tmp_path.iterdir())) == 1  # of the other run


def test_a_run_without_answers_leaves_no_file_and_a_link_is_not_taken_back(tmp_path: Path) -> None:
    path, secret = tmp_path / "test.jsonl.partial", tmp_path / "secret"
    Partial(path, OTHER, fresh=False).close()
    secret.write_bytes(path.read_bytes() + b'{"question_id":"q1","answer":"b"}\n')
    before = secret.read_bytes()
    partials.set_aside_path(path, RUN).symlink_to(secret)
    kept = Partial(path, RUN, fresh=False)
    kept.add(said("q2"))
    kept.close()
    assert not path.is_symlink()
    assert secret.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_in_the_way_of_set_aside_answers_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl.partial"
    kept = Partial(path, OTHER, fresh=False)
    kept.add(said("q1"))
    kept.close()
    aside = partials.set_aside_path(path, OTHER)
    aside.mkdir()
    with pytest.raises(OSError, match=aside.name):
        Partial(path, RUN, fresh=False)


def test_older_answers_of_a_run_do_not_come_back_after_its_end(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl.partial"
    kept = Partial(path, RUN, fresh=False)
    kept.add(said("q1"))
    partials.set_aside_path(path, RUN).write_bytes(path.read_bytes())
    kept.remove()
    kept.close()
    assert list(tmp_path.iterdir()) == []


def test_fresh_forgets_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl.partial"
    first = Partial(path, RUN, fresh=False)
    first.add(said("q1"))
    first.close()
    again = Partial(path, RUN, fresh=True)
    again.close()
    assert again.done == {}
    assert n_lines(path) == 1


def test_answers_reach_the_disk_every_few_seconds_and_the_file_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    now = [100.0]
    monkeypatch.setattr(partials.os, "fsync", synced.append)
    path = tmp_path / "test.jsonl.partial"
    kept = Partial(path, RUN, fresh=False, monotonic=lambda: now[0])
    assert len(synced) == 1
    kept.add(said("q1"))
    assert (len(synced), n_lines(path)) == (1, 2)
    now[0] += SYNC_S
    kept.add(said("q2"))
    assert (len(synced), n_lines(path)) == (2, 3)
    kept.add(said("q3"))
    assert len(synced) == 2
    kept.close()


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_taken_on_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "test.jsonl.partial"
    real, removed = partials.fcntl.flock, []

    def flock(stream: object, how: int) -> None:
        real(stream, how)  # type: ignore[arg-type]
        if not removed:
            removed.append(path.unlink())

    monkeypatch.setattr(partials.fcntl, "flock", flock)
    kept = Partial(path, RUN, fresh=False)
    kept.add(said("q1"))
    assert n_lines(path) == 2
    kept.close()


@pytest.mark.usefixtures("terminal_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_no_process_and_loses_no_answer(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path, number: signal.Signals
) -> None:
    pids = tmp_path / "pids"
    # It never looks at stdin again, so that only being ended ends it.
    folder = write_system(f"""
import os, time
from edu_rag.serve import serve
open({str(pids)!r}, "w").write(str(os.getpid()))
n = 0
def answer(question):
    global n
    n += 1
    if n == 4:
        time.sleep(600)
    return "b"
serve(answer)
""")
    words = [sys.executable, "-m", "edu_rag", "run", str(folder), "--unsafe-no-sandbox", "--dataset", str(tiny.folder)]
    running = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)
    partial = folder / "predictions" / "tiny-1.0.0" / "test.jsonl.partial"
    wait_for(lambda: n_lines(partial) == 4)
    running.send_signal(number)
    _, said_at_end = running.communicate(timeout=60)
    assert said_at_end.endswith("edu-rag: interrupted: run the same command again to resume\n")
    assert running.returncode == 130
    assert n_lines(partial) == 4
    assert not Path(f"/proc/{pids.read_text()}").exists()


def test_a_thread_that_may_set_no_handler_runs_all_the_same() -> None:
    entered: list[bool] = []

    def enter() -> None:
        with stopping_like_ctrl_c():
            entered.append(signal.getsignal(signal.SIGTERM) is before)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [True]
    with stopping_like_ctrl_c():
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is before


def test_under_nohup_the_end_of_the_terminal_ends_no_run() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with stopping_like_ctrl_c():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.signal(signal.SIGHUP, before) is signal.SIG_IGN


def test_a_second_ctrl_c_cuts_the_grace_short_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SystemLog(tmp_path / "test.log", keep=False)
    system = ChildSystem(
        PlainLauncher(tmp_path, os.environ), [sys.executable, "-c", "import time; time.sleep(600)"], log
    )
    assert isinstance(system._process, PlainProcess)
    process, waited = system._process._child, []
    wait = process.wait

    def interrupted(timeout: float | None = None) -> int:
        waited.append(timeout)
        if timeout is not None:
            raise KeyboardInterrupt
        return wait()

    monkeypatch.setattr(process, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        system.end(5.0)
    assert waited == [5.0, None]
    assert process.returncode == -signal.SIGKILL
    log.close()


def test_what_a_system_never_reads_does_not_pile_up(tmp_path: Path) -> None:
    log = SystemLog(tmp_path / "test.log", keep=False)
    code = "print('loading\\n' * 1_000, flush=True); import time; time.sleep(600)"
    line = b"x" * 200_000 + b"\n"
    with ChildSystem(PlainLauncher(tmp_path, os.environ), [sys.executable, "-c", code], log) as system:
        for i in range(20):
            with pytest.raises(FaultError, match="not a JSON answer"):
                system.ask(f"{i}", line, 30)
        assert len(system._unsent) < 2 * len(line)
        system.end()
    log.close()


LINES = "import sys\nfor i in range(20_000): print(f'line {i:05}', file=sys.stderr)"


def write_to(log: SystemLog, code: str) -> None:
    pipe = log.open_pipe()
    subprocess.run([sys.executable, "-c", code], stderr=pipe, check=True)
    os.close(pipe)
    log.drain()


def test_a_log_keeps_its_end_in_order_and_stays_under_its_cap(tmp_path: Path) -> None:
    path = tmp_path / "test.log"
    log = SystemLog(path, keep=False, cap_bytes=100_000)
    for _ in range(2):
        write_to(log, LINES)
        assert log.last_line() == "line 19999"
        mark, *lines = path.read_text().splitlines()
        assert mark == CUT_MARK.decode().strip()
        assert lines == [f"line {i:05}" for i in range(20_000 - len(lines), 20_000)]
        assert 40_000 <= path.stat().st_size <= 100_000
    log.close()


def test_a_log_in_one_endless_line_keeps_its_end(tmp_path: Path) -> None:
    log = SystemLog(tmp_path / "test.log", keep=False, cap_bytes=10_000)
    write_to(log, "import sys\nfor i in range(5_000): sys.stderr.write(f'\\rdone {i}')")
    assert log.last_line() == "done 4999"
    assert 4_000 <= log.path.stat().st_size <= 10_000
    log.close()


def test_a_short_log_is_kept_whole_and_only_of_a_run_that_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "test.log"
    path.write_text("of an earlier sitting\n")
    kept = SystemLog(path, keep=True)
    write_to(kept, "import sys; sys.stderr.write('more\\n\\n')")
    assert kept.last_line() == "more"
    kept.close()
    assert path.read_text() == "of an earlier sitting\nmore\n\n"
    anew = SystemLog(path, keep=False)
    assert anew.last_line() == ""
    anew.close()
    assert path.read_bytes() == b""


def test_a_disk_that_takes_no_log_holds_up_no_system(tmp_path: Path) -> None:
    log = SystemLog(Path("/dev/full"), keep=True)
    write_to(log, LINES)
    log.close()


def test_a_system_that_floods_its_log_fills_no_disk(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("""
import sys
from edu_rag.serve import serve
def answer(question):
    sys.stderr.write(("x" * 99 + "\\n") * 5_000)
    return "b"
serve(answer)
""")
    path = run_submission(open_submission(folder), tiny, "test", None, Manner(limits=LIMITS, caps=None))
    assert 1_000_000 < path.with_suffix(".log").stat().st_size <= 4_000_000
