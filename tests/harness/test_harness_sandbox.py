from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from baselines.embed.vectors import publish, rows_of
from edu_rag.errors import SandboxError
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import Prediction
from harness.running.run import Manner, run_submission
from harness.sandbox.caps import Caps
from harness.sandbox.launch import Sandbox, open_sandbox
from harness.sandbox.sandboxed_process import BoxedProcess, Guard
from harness.sandbox.staging import stage_of
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import read_run_record

pytestmark = pytest.mark.usefixtures("sandbox_here")
SMALL = Caps(memory_bytes=512 << 20, n_processes=48, tmp_bytes=8 << 20, shm_bytes=4 << 20, file_bytes=4 << 20)
LIMITS = Limits(time_s=20, start_s=30)
LOOP = """
import json, os, sys, time
def say(**values):
    sys.stdout.write(json.dumps(values) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    q = json.loads(line)
    n = int(q["text"].split()[2].rstrip("?"))
"""


def out_of(sandbox: Sandbox, command: Sequence[str]) -> str:
    """What a command inside writes on stdout, once it and all that it started have ended."""
    process = sandbox.start(command, 2)
    try:
        process.stdin.close()
        process.wait(60)
        return process.stdout.read().decode()
    finally:
        process.stdout.close()
        process.end()


def python(sandbox: Sandbox, code: str) -> str:
    return out_of(sandbox, ["python", "-c", code])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission with a file, a link, a hidden file and predictions."""
    made = tmp_path / "sub"
    (made / "predictions" / "tiny-1.0.0").mkdir(parents=True)
    (made / "predictions" / "tiny-1.0.0" / "test.jsonl").write_text("{}\n")
    (made / "data" / "predictions").mkdir(parents=True)
    (made / "data" / "predictions" / "own.txt").write_text("its own")
    (made / "system.py").write_text("print('here')")
    (made / "run.sh").write_text("#!/bin/sh\necho run\n")
    (made / "run.sh").chmod(0o700)
    (made / "link").symlink_to("/etc/passwd")
    (made / ".hidden").write_text("x")
    os.mkfifo(made / "pipe")
    return made


@pytest.fixture
def sandbox(folder: Path) -> Iterator[Sandbox]:
    with open_sandbox(folder, {"SHOWN": "yes", "EDU_RAG_CACHE": "/nowhere"}, SMALL) as opened:
        yield opened


def test_a_system_sees_a_plain_copy_of_its_folder_and_the_code_for_systems(sandbox: Sandbox, folder: Path) -> None:
    shown = out_of(sandbox, ["/bin/sh", "-c", "find . -type f -o -type l -o -type p | sort; pwd; ./run.sh"])
    assert shown.split() == ["./data/predictions/own.txt", "./run.sh", "./system.py", "/app", "run"]
    assert python(sandbox, "import edu_rag.serve, baselines; print('both')") == "both\n"
    assert python(sandbox, "import harness.running.run") == ""
    assert (folder / "system.py").exists()


def test_the_demo_with_its_gold_is_covered(sandbox: Sandbox) -> None:
    code = "import edu_rag, os; print(os.listdir(os.path.join(os.path.dirname(edu_rag.__file__), 'mini')))"
    assert python(sandbox, code) == "[]\n"


def test_its_environment_is_what_it_was_given_and_no_process_has_ours(sandbox: Sandbox) -> None:
    code = """
import glob, json, os
own = dict(os.environ)
print(json.dumps([own, glob.glob("/proc/1/*")]))
"""
    own, first = json.loads(python(sandbox, code))
    assert {own.pop(name) for name in ("SHOWN", "HOME", "HF_HUB_OFFLINE")} == {"yes", "/tmp", "1"}
    assert set(own) <= {"PATH", "PYTHONPATH", "PWD", "LC_CTYPE", "EDU_RAG_MODELS", "HF_HOME", "OLDPWD"}
    assert first == []


def test_it_has_three_descriptors_and_its_own_pipes_can_be_opened_by_name(sandbox: Sandbox) -> None:
    code = "import os; print([fd for fd in range(256) if os.path.exists(f'/proc/self/fd/{fd}')])"
    assert python(sandbox, code) == "[0, 1, 2]\n"
    assert out_of(sandbox, ["/bin/sh", "-c", "echo to-stdout > /dev/stdout"]) == "to-stdout\n"


def test_a_program_that_debian_names_by_a_link_in_etc_can_be_started(sandbox: Sandbox) -> None:
    if not Path("/etc/alternatives/awk").exists():
        pytest.skip("NOT RUN: this machine has no /etc/alternatives/awk")
    assert out_of(sandbox, ["/bin/sh", "-c", "awk 'BEGIN { print 7 }'"]) == "7\n"


def test_it_can_write_to_tmp_and_shm_up_to_their_sizes_and_nowhere_else(sandbox: Sandbox) -> None:
    code = """
import errno, os
def room(folder):
    n = 0
    try:
        for i in range(1000):
            with open(f"{folder}/{i}", "wb") as stream:
                stream.write(b"x" * (1 << 20))
            n += 1
    except OSError as error:
        return n, errno.errorcode[error.errno]
def may(path):
    try:
        open(path, "w").close()
        return True
    except OSError:
        return False
print(room("/tmp"), room("/dev/shm"))
places = ("/x", "/app/x", "/etc/x", "/etc/alternatives/x", "/usr/x", "/dev/x", "/proc/sys/x", "/var/x", "/run/x")
print([p for p in places if may(p)])
print([p for p in ("/sys", "/run", "/home", "/var", "/boot", "/mnt", "/opt") if os.path.exists(p)])
"""
    assert python(sandbox, code).splitlines() == ["(8, 'ENOSPC') (4, 'ENOSPC')", "[]", "[]"]


def test_it_has_its_own_loopback_and_no_other_network(sandbox: Sandbox) -> None:
    if sandbox.cgroups is None or not sandbox.cgroups.counts_sockets:
        pytest.skip("NOT RUN: nothing counts here what sockets hold, so there is no loopback")
    code = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"model server")).start()
print(socket.create_connection(server.getsockname()).recv(100).decode())
for address in (("192.0.2.1", 80), ("1.1.1.1", 53)):
    try:
        socket.create_connection(address, 2)
        print("reached")
    except OSError as error:
        print(error.strerror)
print(sorted(name for _, name in socket.if_nameindex()))
"""
    unreachable = "Network is unreachable"
    assert python(sandbox, code).splitlines()[:3] == ["model server", unreachable, unreachable]


@pytest.fixture
def uncounted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A sandbox as it is where no cgroup can be made."""
    monkeypatch.setattr("harness.sandbox.launch.make_cgroups", lambda caps: None)
    with open_sandbox(folder, {}, SMALL) as opened:
        yield opened


def test_where_nothing_counts_what_sockets_hold_there_are_local_ones_of_the_usual_size_only(
    uncounted: Sandbox,
) -> None:
    code = """
import asyncio, fcntl, multiprocessing, os, socket
def refusal(act):
    try:
        act()
    except OSError as error:
        return error.strerror
for family in (socket.AF_INET, socket.AF_INET6):
    print(refusal(lambda: socket.socket(family, socket.SOCK_STREAM)))
one, two = socket.socketpair()
before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
print(one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before)
print(refusal(lambda: fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)))
print(asyncio.run(asyncio.sleep(0, "asyncio works")))
pipe = multiprocessing.Pipe()
pipe[0].send("and multiprocessing")
print(pipe[1].recv())
"""
    unsupported = "Address family not supported by protocol"
    assert python(uncounted, code).splitlines() == [
        unsupported,
        unsupported,
        "True",
        "Operation not permitted",
        "asyncio works",
        "and multiprocessing",
    ]


def test_what_takes_from_the_machine_s_quotas_is_absent_so_that_libraries_do_without(sandbox: Sandbox) -> None:
    code = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, arguments))
    return errno.errorcode.get(ctypes.get_errno(), result)
print([call(n, 0, 0) for n in (253, 294, 206, 207, 208, 209, 210, 333)])
print(call(162), call(306, 1 << 20))
print(os.path.exists("/dev/ptmx"), os.listdir("/dev/pts"))
"""
    if os.uname().machine != "x86_64":
        pytest.skip("NOT RUN: the numbers of calls are those of x86-64")
    assert python(sandbox, code).splitlines() == [str(["ENOSYS"] * 8), "0 0", "False []"]


def test_it_cannot_drop_from_memory_what_others_are_about_to_read(sandbox: Sandbox, folder: Path) -> None:
    shown = sandbox.stage.app / "system.py"
    drop = "import os; f = os.open('{}', os.O_RDONLY); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED); print('done')"
    with shown.open("rb") as stream:
        os.fsync(stream.fileno())
        assert _is_in_memory(stream)
        assert python(sandbox, drop.format("/app/system.py")) == "done\n"
        kept = _is_in_memory(stream)
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if _is_in_memory(stream):
            pytest.skip("NOT RUN: this file system keeps its pages in any case")
        assert kept


def _is_in_memory(stream: IO[bytes]) -> bool:
    """Whether the first page of a file is, which is seen without reading it."""
    libc, seen = ctypes.CDLL(None, use_errno=True), ctypes.c_ubyte()
    libc.mmap.restype = ctypes.c_void_p
    n_bytes = ctypes.c_size_t(mmap.PAGESIZE)
    place = ctypes.c_void_p(
        libc.mmap(None, n_bytes, mmap.PROT_READ, mmap.MAP_SHARED, stream.fileno(), ctypes.c_long(0))
    )
    try:
        assert libc.mincore(place, n_bytes, ctypes.byref(seen)) == 0
    finally:
        libc.munmap(place, n_bytes)
    return bool(seen.value & 1)


def test_calls_that_no_system_needs_are_refused(sandbox: Sandbox) -> None:
    code = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, arguments))
    return errno.errorcode.get(ctypes.get_errno())
import platform
assert platform.machine() == "x86_64"
NEWUSER = 0x10000000
print([call(n) for n in (165, 272, 308, 101, 321, 425, 428, 250, 155, 161, 298, 323, 438)])
print(call(435, 0, 0), call(470), call(600 - 1))
print(call(56, NEWUSER | 17, 0), call(41, 16, 3, 0), call(41, 1 << 32 | 16, 3, 0), call(41, 40, 1, 0))
print(call(135, 0x0040000), call(135, 0xffffffff))
print(call(16, 0, 0x5412, 0), call(16, 0, 1 << 32 | 0x5412, 0))
"""
    if os.uname().machine != "x86_64":
        pytest.skip("NOT RUN: the numbers of calls are those of x86-64")
    lines = python(sandbox, code).splitlines()
    assert lines == [
        str(["EPERM"] * 13),
        "ENOSYS ENOSYS ENOSYS",
        "EPERM EPERM EPERM EPERM",
        "EPERM None",
        "EPERM EPERM",
    ]


def test_a_call_of_another_architecture_kills(sandbox: Sandbox) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("NOT RUN: x32 is of x86-64")
    code = "import ctypes; print('before', flush=True); ctypes.CDLL(None).syscall(0x40000000 | 39); print('after')"
    assert python(sandbox, code) == "before\n"


def test_nothing_that_it_started_is_left_however_it_hid(sandbox: Sandbox, tmp_path: Path) -> None:
    mark = f"sleep-{time.monotonic_ns()}"
    code = f"""
import os, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, ["{mark}", "-c", "import time; time.sleep(600)"])
        os._exit(0)
print("ready", flush=True)
time.sleep(600)
"""
    process = sandbox.start(["python", "-c", code], 2)
    assert process.stdout.read(6) == b"ready\n"
    assert _wait(lambda: len(_named(mark)) == 3)
    process.end()
    assert _named(mark) == []
    process.end()  # a second time does nothing
    process.stdin.close()
    process.stdout.close()


def _named(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(mark.encode()):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _wait(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def test_it_can_be_ended_at_any_moment_of_its_start(sandbox: Sandbox) -> None:
    for n in range(12):
        process = sandbox.start(["python", "-c", "import time; time.sleep(600)"], 2)
        time.sleep(n * 0.003)
        process.end()
        process.stdin.close()
        process.stdout.close()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    commands = [Path(f"/proc/{number}/cmdline").read_bytes() for number in children]
    assert not [command for command in commands if b"bwrap" in command or command == b""]


def test_a_run_leaves_no_folder_and_no_cgroup(folder: Path) -> None:
    with open_sandbox(folder, {}, SMALL) as sandbox:
        stage, cgroups = sandbox.stage.folder, sandbox.cgroups
        assert stage.is_dir()
    assert not stage.exists()
    if cgroups is not None:
        assert not [path for path in cgroups.folders.values() if path.exists()]


def test_the_folder_that_a_killed_run_left_is_swept_by_the_next_and_that_of_a_living_one_stays(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir(mode=0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    stranger = place / "edu-rag-sandbox-link"
    stranger.symlink_to(folder)
    code = "import sys, time; from pathlib import Path; from harness.sandbox.staging import stage_of\n"
    code += "with stage_of(Path(sys.argv[1]), ()) as stage: print(stage.folder, flush=True); time.sleep(600)"
    given = os.environ | {"TMPDIR": str(place), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True, env=given
    ) as other:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        with stage_of(folder, ()) as stage:
            assert (left.is_dir(), stage.folder.is_dir()) == (True, True)
        other.kill()
        other.wait()
    assert left.is_dir()
    with stage_of(folder, ()):
        assert not left.exists()
    assert list(place.iterdir()) == [stranger]
    assert (folder / "system.py").is_file()


@pytest.mark.parametrize("where", ["inside", "around"])
def test_a_dataset_that_would_show_inside_is_refused(folder: Path, where: str) -> None:
    hidden = Path(sys.prefix) / "lib" if where == "inside" else Path(sys.prefix).parent
    refused = pytest.raises(SandboxError, match="which a system in the sandbox can read: move it")
    with refused, open_sandbox(folder, {}, SMALL, hidden=[hidden]):
        pytest.fail("it was opened")


def test_a_model_folder_is_shown_but_not_the_hub_s_datasets_or_token(folder: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub-home"
    for name in ("hub/models--org--m/blobs", "hub/datasets--org--gold", "datasets"):
        (hub / name).mkdir(parents=True)
        (hub / name / "file").write_text(name)
    (hub / "token").write_text("secret")
    models = tmp_path / "models"
    models.mkdir()
    (models / "m.gguf").write_text("weights")
    with open_sandbox(folder, {"HF_HOME": str(hub), "EDU_RAG_MODELS": str(models)}, SMALL) as sandbox:
        shown = out_of(sandbox, ["/bin/sh", "-c", 'find "$HF_HOME" "$EDU_RAG_MODELS" -type f'])
    assert shown.split() == [f"{hub}/hub/models--org--m/blobs/file", f"{models}/m.gguf"]


def test_vectors_that_were_computed_outside_are_read_inside(folder: Path, tmp_path: Path) -> None:
    publish(tmp_path / "models" / "embeddings.sqlite", [(b"key", b"vector")])
    code = """
from baselines.models import cache_folder, models_folder
from baselines.embed.vectors import FILE, open_store
store = open_store(cache_folder(), models_folder() / FILE)
store.write({b"new": b"one"})
print(sorted(store.read([b"key", b"new", b"none"]).items()))
"""
    with open_sandbox(folder, {"EDU_RAG_MODELS": str(tmp_path / "models")}, SMALL) as sandbox:
        assert python(sandbox, code) == "[(b'key', b'vector'), (b'new', b'one')]\n"
    assert dict(rows_of(tmp_path / "models" / "embeddings.sqlite")) == {b"key": b"vector"}


@pytest.mark.usefixtures("terminal_signals")
@pytest.mark.parametrize("step", ["before the chain goes on", "after the chain went on"])
def test_a_signal_while_the_sandbox_starts_leaves_no_process(
    sandbox: Sandbox, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal arrives when nobody holds the started process yet."""
    started: list[int] = []
    watch, begin = Guard.watch, BoxedProcess._begin

    def interrupted_watch(guard: Guard, group: int) -> None:
        watch(guard, group)
        started.append(group)
        if step == "before the chain goes on":
            signal.raise_signal(signal.SIGINT)

    def interrupted_begin(process: BoxedProcess) -> None:
        begin(process)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(Guard, "watch", interrupted_watch)
        patched.setattr(BoxedProcess, "_begin", interrupted_begin)
        with pytest.raises(KeyboardInterrupt):
            sandbox.start(["sleep", "1000"], 2)
    with pytest.raises(ProcessLookupError):
        os.killpg(started[0], 0)
    assert python(sandbox, "print('it starts again')") == "it starts again\n"


def go(folder: Path, dataset: Dataset, caps: Caps | None = SMALL, limits: Limits = LIMITS) -> dict[str, Prediction]:
    path = run_submission(open_submission(folder), dataset, "test", None, Manner(limits=limits, caps=caps))
    return read_predictions(path, [q.question_id for q in dataset.questions("test")])


def faults(predictions: dict[str, Prediction]) -> dict[str, tuple[str, str]]:
    return {i: (p.status, p.response or "") for i, p in predictions.items() if p.status != "ok"}


ONE_SHOT = [
    ("os._exit(3)", "crash", "exit code 3"),
    ("os.abort()", "crash", "signal 6"),
    ("time.sleep(600)", "timeout", "no answer within 1.5 s"),
    ("sys.stdout.write('x' * 5_000_000)", "output_cap", "wrote over 1,000,000 bytes"),
    ("os.write(1, b'\\xff\\xfe\\n'); continue", "protocol", "not a JSON answer"),
    ("os.write(1, b'\\0\\n'); continue", "protocol", "not a JSON answer"),
    ("say(id=q['id'], answer='b', confidence=float('nan')); continue", "protocol", "not a JSON answer"),
    (
        "print(json.dumps({'id': q['id'], 'answer': 'b', 'cost_usd': 7})[:-2] + '9' * 5000 + '}', flush=True); "
        "continue",
        "protocol",
        "",
    ),
    ("os.write(1, b'[' * 100_000 + b'\\n'); continue", "protocol", "not a JSON answer"),
    ("say(id='x' * 16, answer='b'); continue", "protocol", "not that of a question"),
    ("os.close(1); time.sleep(600)", "crash", "closed its output"),
    ("os.close(0); os._exit(0)", "crash", "exit code 0"),
    ("x = [bytearray(8 << 20) for _ in range(1000)]", "crash", "memory" if os.geteuid() == 0 else ""),
]


@pytest.mark.parametrize(("code", "status", "reason"), ONE_SHOT)
def test_a_fault_in_the_sandbox_costs_its_question_and_names_its_cause(
    write_system: Callable[..., Path], tiny: Dataset, code: str, status: str, reason: str
) -> None:
    folder = write_system(LOOP + f"    if n == 17:\n        {code}\n    say(id=q['id'], answer='b')\n")
    found = faults(go(folder, tiny, limits=Limits(time_s=1.5 if status == "timeout" else 20, start_s=30)))
    assert {i: said[0] for i, said in found.items()} == {"q017": status}
    assert reason in found["q017"][1]


def test_cpu_time_has_its_own_limit(write_system: Callable[..., Path], tiny: Dataset) -> None:
    burn = "[__import__('threading').Thread(target=lambda: sum(iter(int, 1)), daemon=True).start() for _ in range(1)]"
    folder = write_system(LOOP + f"    if n == 17: {burn}; time.sleep(600)\n    say(id=q['id'], answer='b')\n")
    found = faults(go(folder, tiny, Caps(memory_bytes=512 << 20, cpu_s=0.5), Limits(time_s=60, start_s=60)))
    assert found == {"q017": ("timeout", "took over 0.5 s of CPU time")}


def test_a_fork_bomb_costs_its_question(write_system: Callable[..., Path], tiny: Dataset) -> None:
    bomb = "while True:\n            try: os.fork()\n            except OSError: time.sleep(0.1)"
    folder = write_system(LOOP + f"    if n == 17:\n        {bomb}\n    say(id=q['id'], answer='b')\n")
    found = faults(go(folder, tiny, limits=Limits(time_s=2, start_s=30)))
    assert list(found) == ["q017"]
    if os.geteuid() == 0:
        assert "the cap of 48 processes was reached" in found["q017"][1]


def test_a_command_that_is_not_there_is_told_by_its_name(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("")
    toml = folder / "submission.toml"
    toml.write_text(toml.read_text().replace('"python", "system.py"', '"no-such-program-here"'))
    with pytest.raises(Exception, match=r"not a single question was answered: .*no-such-program-here"):
        go(folder, tiny)


def test_the_record_says_which_caps_were_in_force_and_other_caps_are_another_run(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system(LOOP + "    say(id=q['id'], answer='b')\n")
    path = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    go(folder, tiny)
    record = read_run_record(path)
    assert record is not None
    assert (record.caps["sandbox"], record.caps["n_processes"], record.caps["tmp_bytes"]) == ("bubblewrap", 48, 8 << 20)
    go(folder, tiny, None)
    unsafe = read_run_record(path)
    assert unsafe is not None
    assert unsafe.caps == {"sandbox": "none"}


def test_a_passed_variable_reaches_the_system_inside(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system(
        LOOP + "    say(id=q['id'], answer='b', response=os.environ.get('EDU_RAG_LLM_KEY', 'none'))\n"
    )
    manner = Manner(limits=LIMITS, caps=SMALL, environment={"EDU_RAG_LLM_KEY": "s3cret"})
    for passed, shown in (((), "none"), (("EDU_RAG_LLM_KEY",), "s3cret")):
        given = Manner(limits=LIMITS, caps=SMALL, environment=manner.environment, passed=passed)
        path = run_submission(open_submission(folder), tiny, "test", None, given)
        values = read_predictions(path, [q.question_id for q in tiny.questions("test")]).values()
        assert {p.response for p in values} == {shown}


def test_a_run_that_is_killed_takes_its_system_with_it(write_system: Callable[..., Path], tiny: Dataset) -> None:
    mark = f"left-{time.monotonic_ns()}"
    code = f"import os, sys; os.execv(sys.executable, ['{mark}', '-c', 'import time; time.sleep(600)'])"
    folder = write_system(code)
    words = [sys.executable, "-m", "edu_rag", "run", str(folder), "--dataset", str(tiny.folder), "--no-cache"]
    given = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    running = subprocess.Popen(words, env=given, stderr=subprocess.DEVNULL)
    assert _wait(lambda: len(_named(mark)) == 1)
    running.kill()
    running.wait()
    assert _wait(lambda: _named(mark) == [])
