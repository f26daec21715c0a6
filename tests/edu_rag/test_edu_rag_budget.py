"""Work within a budget: what it returns and raises, and that a child which spends too much or dies is one clear error.

A script of its own does the work here: a test runner may have threads, and then the child is no fork.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from edu_rag.errors import BudgetError, ConfigError, DataError, FaultsError, RecordError, RecordFaultsError
from edu_rag.processes import budget

MORE_TIME = "shorten it; if it is honest and only slow, set EDU_RAG_READING_CPU_S to more seconds"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fork and the limit on memory are Linux's")


def in_process(code: str, *, stdin: str = "") -> str:
    """What a fresh process prints that runs the code with `within_budget` at hand."""
    begin = "import os, sys, time\nfrom edu_rag.processes.budget import within_budget\nfrom edu_rag.errors import *\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + textwrap.dedent(code)], capture_output=True, text=True, check=True, input=stdin
    )
    return done.stdout.strip()


def test_the_result_comes_from_a_child_and_so_does_the_error() -> None:
    code = "pid, n = within_budget(lambda n: (os.getpid(), n), 7, what='f'); print(pid != os.getpid(), n)"
    returned = in_process(code)
    assert returned == "True 7"
    said = in_process("""
        def fails():
            raise FaultsError([DataError("a:1", "is bad", "fix it"), DataError("a:2", "too")])
        try:
            within_budget(fails, what="a")
        except FaultsError as error:
            print(error)
        try:
            within_budget(lambda: 1 / 0, what="a")
        except RuntimeError as error:
            print("ZeroDivisionError" in str(error))
    """)
    assert said.splitlines() == ["a:1: is bad: fix it", "a:2: too", "True"]


def test_too_much_processor_time_is_one_error_and_nothing_else_is_lost() -> None:
    said = in_process("""
        def endless():
            while True:
                pass
        def in_c():
            return sum(range(10 ** 13))
        for work in (endless, in_c):
            try:
                within_budget(work, what="the/file", cpu_s=0.3)
            except BudgetError as error:
                print(error)
        print(within_budget(lambda: 5, what="x"))
    """)
    told = f"the/file: takes more than 0.3 s of processor time to read: {MORE_TIME}"
    assert said.splitlines() == [told, told, "5"]


def test_a_file_that_is_read_several_times_has_one_budget_where_that_is_wanted() -> None:
    said = in_process("""
        from edu_rag.processes.budget import one_budget_a_file
        def works(seconds):
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass
            return "read"
        def twice(what):
            for _ in range(2):
                try:
                    print(within_budget(works, 0.3, what=what, cpu_s=0.5))
                except BudgetError as error:
                    print(error)
        twice("a")
        with one_budget_a_file():
            twice("b")
    """)
    assert said.splitlines() == [
        *["read"] * 3,
        f"b: takes more than 0.5 s of processor time to read: {MORE_TIME}",
    ]


def test_the_processor_time_is_the_variables_or_an_error() -> None:
    assert budget.default_cpu_s({}) == budget.CPU_S
    assert budget.default_cpu_s({budget.CPU_VARIABLE: "30"}) == 30
    for wrong in ("", "soon", "0", "-1", "nan", "inf"):
        with pytest.raises(ConfigError, match=rf"^{budget.CPU_VARIABLE}: '{wrong}' is not a number of seconds"):
            budget.default_cpu_s({budget.CPU_VARIABLE: wrong})


def test_too_much_memory_is_one_error() -> None:
    said = in_process("""
        kept = []
        def swells():
            while True:
                kept.append(bytes(10_000_000))
        try:
            within_budget(swells, what="the/file")
        except BudgetError as error:
            print(error, len(kept))
    """)
    assert said == "the/file: needs more than 300 MB of memory to read: shorten it 0"


def test_a_child_that_dies_is_one_error() -> None:
    said = in_process("""
        import signal
        try:
            within_budget(lambda: os.kill(os.getpid(), signal.SIGKILL), what="f")
        except BudgetError as error:
            print(error)
    """)
    assert said == "f: cannot be read: the process that read it ended with signal 9: shorten it"


def test_a_child_that_crashes_has_run_out_of_memory() -> None:
    said = in_process("""
        import signal
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT):
            try:
                within_budget(lambda: os.kill(os.getpid(), number), what="f")
            except BudgetError as error:
                print(error)
    """)
    assert said.splitlines() == ["f: needs more than 300 MB of memory to read: shorten it"] * 3


def test_a_command_waits_for_its_child_though_its_caller_ignores_the_ends_of_children(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"question_id": "q1", "answer": "a"}\n' * 2)
    command = [sys.executable, "-m", "edu_rag", "check", str(path)]
    ignoring = (
        f"import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv({command[0]!r}, {command!r})"
    )
    done = subprocess.run([sys.executable, "-c", ignoring], check=False, capture_output=True, text=True)
    assert (done.returncode, "p.jsonl:2: question_id: 'q1' is repeated" in done.stderr) == (1, True), done.stderr


def test_work_inside_the_work_shares_its_budget_and_a_thread_keeps_it_in_a_child() -> None:
    said = in_process("""
        import threading
        def inner(): return os.getpid()
        def outer(): return os.getpid() == within_budget(inner, what="i")
        print(within_budget(outer, what="o"))
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait); thread.start()
        print(within_budget(os.getpid, what="o") == os.getpid())
        stop.set(); thread.join()
        print(within_budget(os.getpid, what="o") == os.getpid())
    """)
    assert said.split() == ["True", "False", "False"]


def test_a_progress_bar_on_a_terminal_leaves_the_budget_in_force() -> None:
    said = in_process("""
        import io, threading
        from edu_rag.progress import Stage
        class Terminal(io.StringIO):
            def isatty(self): return True
        with Stage("score", total=2, stream=Terminal()) as stage:
            stage.add("done")
            print(threading.active_count(), within_budget(os.getpid, what="f") == os.getpid())
        print(threading.active_count(), within_budget(os.getpid, what="f") == os.getpid())
    """)
    assert said.splitlines() == ["1 False", "1 False"]


def test_what_is_prepared_is_not_charged_to_the_file_however_long_it_takes() -> None:
    # Longer than the limit in whole seconds that the kernel holds against the child's life, not only its timer.
    said = in_process("""
        from edu_rag.processes.budget import one_budget_a_file
        def works(seconds):
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass
            return "read"
        with one_budget_a_file():
            for _ in range(2):
                print(within_budget(works, 0.2, what="f", prepare=lambda: works(1.3), cpu_s=0.5))
    """)
    assert said.split() == ["read", "read"]


def test_items_are_charged_to_the_file_and_collected() -> None:
    said = in_process("""
        from edu_rag.processes.budget import collected, items_within_budget, one_budget_a_file
        def counts(seconds):
            for number in range(3):
                yield number
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass
            return "end"
        with one_budget_a_file():
            for _ in range(2):
                try:
                    print(*collected(items_within_budget(counts, 0.3, what="f", cpu_s=0.5)))
                except BudgetError as error:
                    print(error)
        def outer():
            return collected(items_within_budget(counts, 0, what="inside"))
        print(*within_budget(outer, what="o"))
    """)
    assert said.splitlines() == [
        "[0, 1, 2] end",
        f"f: takes more than 0.5 s of processor time to read: {MORE_TIME}",
        "[0, 1, 2] end",
    ]


def test_an_error_of_what_is_prepared_comes_back_as_it_is() -> None:
    said = in_process("""
        def prepare():
            raise ConfigError("--sample", "is too large", "ask for fewer")
        try:
            within_budget(os.getpid, what="f", prepare=prepare)
        except ConfigError as error:
            print(error)
    """)
    assert said == "--sample: is too large: ask for fewer"


def test_what_is_ours_is_prepared_outside_of_the_budget() -> None:
    said = in_process("""
        held = {}
        def prepare():
            held["big"] = bytearray(400_000_000)
            end = time.process_time() + 0.4
            while time.process_time() < end:
                pass
        print(within_budget(lambda: len(held["big"]), what="f", prepare=prepare, cpu_s=0.3))
    """)
    assert said == "400000000"


@pytest.mark.parametrize(
    "error",
    [
        DataError("w", "x", "y"),
        FaultsError([DataError("w", "x"), DataError("v", "z", "r")]),
        RecordFaultsError([RecordError("f", "is bad"), RecordError("g", "too", "fix")]),
        BudgetError("w", "x", "y"),
    ],
)
def test_errors_survive_the_way_back(error: DataError) -> None:
    import pickle

    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert [str(fault) for fault in getattr(again, "faults", ())] == [str(f) for f in getattr(error, "faults", ())]


def test_one_part_of_an_error_is_never_longer_than_a_paragraph() -> None:
    assert len(str(DataError("w", "x" * 4_000_000, "y"))) < 1_100
