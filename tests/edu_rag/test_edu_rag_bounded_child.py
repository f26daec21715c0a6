"""Both forms of bounded child, in real processes: what comes back, how it is limited, and that it never outlives us.

A script is the parent, since a test runner has handlers of its own; what it gives a child to do is in a module next to
it, as a fresh interpreter needs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from edu_rag.processes import bounded_child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits on memory and the fork are Linux's")

WORK = """
import ctypes, os, signal, sys, time
from edu_rag.errors import DataError

protect = ctypes.CDLL(None).mprotect
protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

def endless():
    while True:
        pass

def swells():
    kept = []
    while True:
        kept.append(bytes(10_000_000))

def grows(n_bytes):
    return sum(map(len, [bytes(10_000_000) for _ in range(n_bytes // 10_000_000)]))

def writes_to_reserved(address, n_bytes):
    for at in range(0, n_bytes, 1 << 20):
        if protect(address + at, 1 << 20, 3):
            return at
    return n_bytes

def fails():
    raise DataError("a:1", "is bad", "fix it")

def broken():
    return 1 / 0

def dies():
    os.kill(os.getpid(), signal.SIGSEGV)

def reads_stdin():
    return sys.stdin.read()

def counts(n):
    for number in range(n):
        yield number, os.getpid()
    return "end"

def waits(folder):
    with open(os.path.join(folder, "pid"), "w") as stream:
        stream.write(str(os.getpid()))
    print("ready", flush=True)
    time.sleep(600)

def streams_and_waits(folder):
    yield os.getpid()
    # More than a buffer holds: the first item is on its way while this waits.
    yield bytes(2_000_000)
    waits(folder)

def modules():
    return "colorsys" in sys.modules, [name for name in sys.path if not name]

class Held:
    def __init__(self):
        self.size = 0
    def prepare(self):
        self.big = bytearray(400_000_000)
        self.size = len(self.big)
    def work(self):
        return self.size
"""
BEGIN = """
import os, signal, subprocess, sys, threading, time
from edu_rag.processes import bounded_child
from edu_rag.processes.bounded_child import Job, run
import work

def do(function, *arguments, prepare=list, cpu_s=30.0, memory_bytes=300_000_000, streams=False):
    items = run(Job(prepare, function, arguments, cpu_s, memory_bytes, streams))
    found = []
    while True:
        try:
            found.append(next(items))
        except StopIteration as end:
            return found, end.value

def children():
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as stream:
        return stream.read().split()

stop = threading.Event()
if FORM == "fresh":
    threading.Thread(target=stop.wait, daemon=True).start()
assert bounded_child.can_fork() == (FORM == "fork")
"""
Script = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(params=["fork", "fresh"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Script:
    """Start a script, in which `do` gives a child of one form something to do."""
    (tmp_path / "work.py").write_text(WORK)

    def started(code: str) -> subprocess.Popen[str]:
        (tmp_path / "script.py").write_text(f"FORM = {request.param!r}\n{BEGIN}{textwrap.dedent(code)}")
        root = str(Path(bounded_child.__file__).parents[2])
        # Commands that ran in this process before may have set it; the script imports a module next to it.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
        return subprocess.Popen(
            [sys.executable, tmp_path / "script.py"],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env | {"PYTHONPATH": root},
        )

    return started


@pytest.fixture
def say(start: Script) -> Callable[..., list[str]]:
    """The lines that a script prints, which must end well."""

    def said(code: str, stdin: str = "") -> list[str]:
        process = start(code)
        out, err = process.communicate(stdin)
        assert process.returncode == 0, err
        return out.splitlines()

    return said


def test_the_result_comes_from_a_child_and_so_do_errors(say: Callable[..., list[str]]) -> None:
    assert say("""
        _, ended = do(os.getpid)
        print(ended.status, ended.is_result, ended.value != os.getpid())
        _, ended = do(work.fails)
        print(ended.is_result, repr(ended.value), ended.value)
        _, ended = do(work.broken)
        print(type(ended.value).__name__, "ZeroDivisionError" in str(ended.value))
        print(children())
    """) == [
        "0 True True",
        "False DataError('a:1', 'is bad', 'fix it') a:1: is bad: fix it",
        "RuntimeError True",
        "[]",
    ]


def test_the_limits_hold_and_one_spent_budget_leaves_the_next_whole(say: Callable[..., list[str]]) -> None:
    assert say("""
        print(do(work.endless, cpu_s=0.3)[1].status == -signal.SIGPROF)
        print(do(sum, range(10 ** 13), cpu_s=0.3)[1].status == -signal.SIGPROF)
        print(do(work.swells)[1].status == bounded_child.NO_MEMORY)
        print(do(work.dies)[1].status == -signal.SIGSEGV)
        print(do(os.getpid)[1].status, children())
    """) == ["True", "True", "True", "True", "0 []"]


def test_what_is_prepared_is_outside_of_the_limits_and_is_there_for_the_work(say: Callable[..., list[str]]) -> None:
    assert say("""
        held = work.Held()
        print(do(held.work, prepare=held.prepare, memory_bytes=200_000_000)[1].value, held.size)
        print(do(os.getpid, prepare=work.fails)[1].value)
    """) == ["400000000 0", "a:1: is bad: fix it"]


def test_the_work_may_add_its_allowance_and_no_more_however_large_our_process_is(
    say: Callable[..., list[str]],
) -> None:
    assert say("""
        for n_bytes in (0, 600_000_000):
            kept = b"x" * n_bytes
            for more in (270_000_000, 310_000_000):
                ended = do(work.grows, more, memory_bytes=300_000_000)[1]
                print(n_bytes, ended.value, ended.status == bounded_child.NO_MEMORY)
    """) == ["0 270000000 False", "0 None True", "600000000 270000000 False", "600000000 None True"]


@pytest.mark.parametrize("start", ["fork"], indirect=True)
def test_addresses_that_our_process_has_reserved_count_when_they_are_used(say: Callable[..., list[str]]) -> None:
    said = say("""
        import ctypes
        reserve = ctypes.CDLL(None).mmap
        reserve.restype = ctypes.c_void_p
        reserve.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        address = reserve(None, 1 << 30, 0, 0x22, -1, 0)  # private, of no file, neither to be read nor written
        print(do(work.writes_to_reserved, address, 1 << 30, memory_bytes=50_000_000)[1].value)
    """)
    assert 0 < int(said[0]) <= 50_000_000


def test_items_are_streamed_and_the_result_follows(say: Callable[..., list[str]]) -> None:
    assert say("""
        found, ended = do(work.counts, 3, streams=True)
        print([number for number, _ in found], len({pid for _, pid in found}), ended.value)
        found, ended = do(work.counts, 300_000, streams=True)
        print(len(found), ended.status)
    """) == ["[0, 1, 2] 1 end", "300000 0"]


def test_a_generator_that_is_closed_ends_its_child(say: Callable[..., list[str]], tmp_path: Path) -> None:
    assert say("""
        items = run(Job(list, work.streams_and_waits, (".",), 30.0, 300_000_000, True))
        child = next(items)
        print(str(child) in children())
        items.close()
        print(children())
    """)[-2:] == ["True", "[]"]


def test_the_child_has_no_stdin_of_ours_and_prints_nothing_of_ours_twice(say: Callable[..., list[str]]) -> None:
    assert say(
        """
        sys.stdout.write("once ")
        print(repr(do(work.reads_stdin)[1].value), sys.stdin.readline().strip())
        """,
        "for the parent\n",
    ) == ["once '' for the parent"]


def test_the_child_ends_with_its_parent(start: Script, tmp_path: Path) -> None:
    with start("do(work.waits, '.')") as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
        parent.wait()
        assert parent.stdout.read() == ""  # ends only when nobody holds the pipe any more: the child is gone too


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_child_works_ends_it_and_is_not_lost(start: Script, number: signal.Signals) -> None:
    with start("""
        def handler(number, frame):
            raise KeyboardInterrupt
        for ours in (signal.SIGINT, signal.SIGTERM):  # a background job of a shell would ignore Ctrl-C
            signal.signal(ours, handler)
        try:
            do(work.waits, ".")
        except KeyboardInterrupt:
            print("interrupted", children())
    """) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.send_signal(number)
        assert parent.stdout.read() == "interrupted []\n"


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("where", ["parent", "child"])
def test_a_signal_between_fork_and_the_handlers_is_not_lost(
    say: Callable[..., list[str]], number: str, where: str
) -> None:
    """The fork returns with a signal due: our handler runs once we know the child, and never in the child."""
    said = say(f"""
        def handler(number, frame):
            print("handler in the", "parent" if os.getpid() == PARENT else "child", flush=True)
            raise KeyboardInterrupt
        PARENT = os.getpid()
        signal.signal(signal.{number}, handler)
        fork, spawn = os.fork, subprocess.Popen
        def forked():
            pid = fork()
            if (pid == 0) == ({where!r} == "child"):
                os.kill(os.getpid(), signal.{number})
            return pid
        def spawned(*words, **options):
            process = spawn(*words, **options)
            # To this very thread: one of another may be interrupted by it at any time, which nobody can hold back.
            if {where!r} == "child":
                os.kill(process.pid, signal.{number})
            else:
                signal.pthread_kill(threading.get_ident(), signal.{number})
            return process
        os.fork, subprocess.Popen = forked, spawned
        try:
            _, ended = do(os.getpid)
            print("ended", ended.status == -signal.{number})
        except KeyboardInterrupt:
            print("interrupted")
        print(children(), signal.pthread_sigmask(signal.SIG_BLOCK, []))
    """)
    expected = ["handler in the parent", "interrupted"] if where == "parent" else ["ended True"]
    assert said == [*expected, "[] set()"]


def test_what_the_parent_ignores_does_not_end_the_child(say: Callable[..., list[str]]) -> None:
    assert say("""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(do(signal.getsignal, signal.SIGINT)[1].value == signal.SIG_IGN)
    """) == ["True"]


def test_a_child_imports_nothing_from_the_current_folder(say: Callable[..., list[str]], tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    for name in ("colorsys", "pickle", "edu_rag", "sitecustomize"):
        (stranger / f"{name}.py").write_text("raise SystemExit('a stranger was imported')")
    assert say("""
        os.chdir("stranger")
        sys.path.insert(0, "")
        print(do(work.modules)[1].value == (False, [""] if FORM == "fork" else []))
    """) == ["True"]


def test_work_that_cannot_be_sent_to_a_fresh_interpreter_is_an_error_and_not_done_here(
    say: Callable[..., list[str]],
) -> None:
    said = say("""
        try:
            print("fork", do(lambda: os.getpid())[1].value != os.getpid())
        except Exception as error:
            print("fresh", "pickle" in str(error))
    """)
    assert said in (["fork True"], ["fresh True"])
