"""A small world to attack: a dataset with gold, a caller with secrets, servers, a victim, other teams' files.

Everything worth having carries a canary; what an attack says that it did counts only where the world agrees.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
ATTACKS = HERE / "attacks"
CAPS: Mapping[str, int] = {
    "memory_bytes": 384 << 20,
    "n_processes": 64,
    "file_bytes": 48 << 20,
    "n_files": 512,
    "tmp_bytes": 64 << 20,
    "shm_bytes": 16 << 20,
}
"""Small ones, so that going beyond them costs this machine little."""
STATED = {"lock_on_files_of_the_machine": "lock files"}
"""Attacks that succeed, and the words in SECURITY.md that say so."""
PACKAGES = ("edu_rag", "builder", "harness", "baselines", "leaderboard", "publishing")
PRIVATE = ("/tmp/", "/var/tmp/", "/dev/shm/")
"""Places of which a sandbox may have its own: what counts is whether the host has the file."""


def attack_names() -> list[str]:
    """All attacks, in the order of their modules."""
    found = re.compile(r"^@attack\ndef (\w+)", re.MULTILINE)
    return [name for path in sorted(ATTACKS.glob("*.py")) for name in found.findall(path.read_text())]


def canary() -> str:
    """A new one."""
    return f"CANARY-{secrets.token_hex(16)}"


@dataclass
class World:
    """One world; `uid` is the caller's, whose files are its own and 0600."""

    folder: Path
    uid: int
    mark: str
    canaries: list[str] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    targets: dict[str, Any] = field(default_factory=dict)
    python: str = sys.executable
    packages: str = ""
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def new_canary(self) -> str:
        """One that this world knows again."""
        self.canaries.append(canary())
        return self.canaries[-1]

    def plant(self, place: str, mode: int = 0o600, head: str = "") -> Path:
        """A file with a canary, the caller's own."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{self.new_canary()}\n")
        path.chmod(mode)
        return path


def _serve(world: World, server: socket.socket, said: bytes) -> None:
    """Answer everybody who comes with a canary."""

    def stream() -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = server.accept()
                with link, contextlib.suppress(OSError):
                    link.settimeout(2)
                    link.recv(100)
                    link.sendall(said)

    def datagram() -> None:
        with contextlib.suppress(OSError):
            while True:
                _, sender = server.recvfrom(500)
                if sender:  # none: the socket was shut down
                    server.sendto(said, sender)

    act = stream if server.type == socket.SOCK_STREAM else datagram
    if server.type == socket.SOCK_STREAM:
        server.listen()

    def close() -> None:  # a thread in accept() is only woken by a shutdown
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()

    threading.Thread(target=act, daemon=True).start()
    world.stack.callback(close)


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            link.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.2"
        return str(link.getsockname()[0])


def _servers(world: World) -> dict[str, Any]:
    abstract, path = f"edu-rag-{world.mark}", world.folder / "run" / "socket"
    path.parent.mkdir()
    made: dict[str, Any] = {"own_address": _own_address(), "abstract_socket": abstract, "path_socket": str(path)}
    for name, family, kind, address in (
        ("tcp_port", socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
        ("tcp6_port", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
        ("udp_port", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        ("", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
        ("", socket.AF_UNIX, socket.SOCK_STREAM, str(path)),
    ):
        server = socket.socket(family, kind)
        server.bind(address)
        if name:
            made[name] = server.getsockname()[1]
        _serve(world, server, world.new_canary().encode())
    path.chmod(0o777)
    return made


def as_user(uid: int, words: Sequence[str]) -> list[str]:
    """A command run by another user, where that is not root."""
    return (
        list(words)
        if uid == 0
        else [
            "setpriv",
            f"--reuid={uid}",
            f"--regid={uid}",
            "--clear-groups",
            *words,
        ]
    )


def _victim(world: World) -> dict[str, Any]:
    words = [world.python, str(world.folder / "victim.py"), str(world.folder / "victim.note"), world.mark]
    shutil.copy(HERE / "attack_victim.py", world.folder / "victim.py")
    process = subprocess.Popen(
        as_user(world.uid, [*words, world.new_canary()]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
        env={"CANARY": world.new_canary(), "PATH": os.environ["PATH"]},
        cwd="/",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    world.stack.callback(process.wait, 20)
    world.stack.callback(process.stdin.close)
    address = int(process.stdout.readline())
    world.stack.callback(process.stdout.close)
    return {"victim": process.pid, "address": address}


def _sysv(world: World) -> int:
    """A System V segment with a canary, readable for all."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = secrets.randbelow(1 << 30) + 1
    segment = libc.shmget(key, 4096, 0o1666)
    world.stack.callback(libc.shmctl, segment, 0, None)
    place = libc.shmat(segment, None, 0)
    ctypes.memmove(place, world.new_canary().encode(), 39)
    libc.shmdt(ctypes.c_void_p(place))
    return key


def _dataset(world: World, names: Sequence[str]) -> Path:
    from edu_rag.files.dataset_writer import write_dataset
    from edu_rag.gold import Gold
    from edu_rag.records import Question

    folder = world.folder / "dataset"
    choices = {"a": "yes", "b": "no"}
    questions = [
        Question(question_id=f"q{i:03}", text=f"attack {name}", choices=choices, kind="true_false", split="test")
        for i, name in enumerate(names)
    ]
    golds = [Gold(question_id=question.question_id, answer="a") for question in questions]
    write_dataset(
        folder,
        {"questions": {"test": questions}, "gold": {"test": golds}},
        name="attacks",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# attacks\n"},
    )
    return folder


def _submission(world: World) -> Path:
    folder = world.folder / "submissions" / "attacker"
    (folder / "predictions" / "attacks-1.0.0").mkdir(parents=True)
    for path in ATTACKS.glob("*.py"):
        shutil.copy(path, folder / path.name)
    settings = 'name = "Attacker"\nteam = "strangers"\ncommand = ["python", "system.py"]\n'
    (folder / "submission.toml").write_text(settings)
    return folder


def _repository(world: World) -> Path:
    """The checkout itself for root; another user gets a copy that it can read."""
    if world.uid == 0:
        return REPOSITORY
    copy = world.folder / "repository"
    leave = shutil.ignore_patterns("__pycache__", "results", "*.pyc")
    for name in PACKAGES:
        shutil.copytree(REPOSITORY / name, copy / name, ignore=leave)
    for name in ("attack_callers.py", "attack_world.py"):
        (copy / "tests" / "harness").mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / name, copy / "tests" / "harness" / name)
    return copy


@contextlib.contextmanager
def a_world(uid: int = 0, names: Sequence[str] | None = None) -> Iterator[World]:
    """A world for one run; all of it is gone afterwards."""
    mark = secrets.token_hex(6)
    folder = Path(tempfile.mkdtemp(prefix=f"attacked-{mark}-"))
    folder.chmod(0o755)
    world = World(folder, uid, mark)
    found = python_for(uid)
    if found is None:
        raise RuntimeError(f"user {uid} can start no Python {sys.version_info.major}.{sys.version_info.minor}")
    world.python, world.packages = found
    with world.stack as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        dataset = _dataset(world, names or attack_names())
        home, shared = world.folder / "home", Path("/dev/shm") / f"{mark}-shared"
        shared.write_text(world.new_canary())
        stack.callback(shared.unlink, missing_ok=True)
        beside = Path("/tmp") / f"{mark}-beside"
        beside.write_text(world.new_canary())
        stack.callback(beside.unlink, missing_ok=True)
        world.plant("home/.cache/huggingface/token", head="hf_")
        world.plant("desk/note.txt")
        world.targets = {
            "mark": mark,
            "dataset": str(dataset),
            "gold": str(next((dataset / "gold").glob("*.parquet"))),
            "secret": str(world.plant("secret.txt")),
            "home": str(home),
            "walk": "/",
            "other_submission": str(world.plant("submissions/another-team/predictions/d-1.0.0/test.jsonl")),
            "results": str(world.plant("results/another-team.json")),
            "submission": str(_submission(world)),
            "repository": str(_repository(world)),
            "sysv_key": _sysv(world),
            "only_known": False,
            "pids": [],
            "setuid_program": str(_setuid(folder)),
            **CAPS,
            **_servers(world),
            **_victim(world),
        }
        (folder / "tmp").mkdir()
        _give(folder, uid)
        stack.callback(_clean, mark)
        yield world


def _setuid(folder: Path) -> Path:
    path = folder / "setuid-sleep"
    shutil.copy("/usr/bin/sleep", path)
    path.chmod(0o4755)
    return path


def _give(folder: Path, uid: int) -> None:
    """Make everything in the world the caller's, but the setuid program, which is root's."""
    if uid == 0:
        return
    for path in [folder, *folder.rglob("*")]:
        if path.name != "setuid-sleep":
            os.chown(path, uid, uid, follow_symlinks=False)


PLACES = (
    "/",
    "/usr",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/lib",
    "/lib",
    "/etc",
    "/etc/cron.d",
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/dev",
    "/run",
    "/var",
    "/var/lib",
    "/home",
    "/root",
    "/opt",
    "/srv",
    "/mnt",
)


def _clean(mark: str) -> None:
    """Remove what attacks that came through have left on the machine."""
    import site

    runtime = [sys.prefix, sys.base_prefix, *site.getsitepackages(), str(Path(os.__file__).parent)]
    for place in [*PLACES, *runtime, *(str(REPOSITORY / name) for name in ("", "harness", "edu_rag", "tests"))]:
        with contextlib.suppress(OSError):
            Path(place, f"attack-{mark}").unlink()
    for pid, _ in marked_processes(mark):
        with contextlib.suppress(OSError):
            os.kill(pid, 9)


def marked_processes(mark: str) -> list[tuple[int, str]]:
    """The pid and the words of every process that has the mark among its words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if mark in words and int(entry.name) != os.getpid():
                    found.append((int(entry.name), words))
    return found


def python_for(uid: int) -> tuple[str, str] | None:
    """A Python that a user can start, with the packages on its path: ours, else the machine's of the same version."""
    import click

    packages = str(Path(click.__file__).resolve().parents[1])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python, path in ((sys.executable, ""), (f"/usr/bin/python{version}", packages)):
        # By a shell: setpriv itself still has root's rights when it starts a program.
        start = ["/bin/sh", "-c", 'exec "$@"', "sh", python, "-c", "import click, msgspec, pyarrow, numpy"]
        words = as_user(uid, start)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path}
        with contextlib.suppress(OSError):
            if not subprocess.run(words, capture_output=True, check=False, cwd="/", env=environment).returncode:
                return python, path
    return None


def left_in_temp(world: World) -> list[str]:
    """What a finished run has left in its folder for temporary files."""
    return sorted(str(path.relative_to(world.folder)) for path in (world.folder / "tmp").rglob("*"))


def survivors(world: World) -> list[tuple[int, str]]:
    """Marked processes but the victim, which is the world's own."""
    return [(pid, words) for pid, words in marked_processes(world.mark) if pid != world.targets["victim"]]
