"""Cgroups for one run, where this machine allows them: memory and processes capped as a whole, CPU time metered."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.caps import Caps

ROOT = Path("/sys/fs/cgroup")
_PREFIX = "edu-rag-"
_OWN_PROCESSES = 4
"""Processes that the sandbox needs in addition to the system's: bubblewrap outside and inside, and its starters."""
_GONE_S = 2.0
_SOCKETS_V1, _SOCKET_BYTES, _SOCKET_PART = "memory.kmem.tcp.limit_in_bytes", 64 << 20, 16
"""Version 1 counts the buffers of TCP and UDP separately, so a part of the cap is reserved for them."""


@dataclass(frozen=True, slots=True)
class Cgroups:
    """The folders of one run by controller (`memory`, `pids`, `cpuacct`; all the same folder in version 2)."""

    version: int
    folders: Mapping[str, Path]

    @property
    def counts_sockets(self) -> bool:
        """Whether the cap includes the buffers of TCP and UDP; a kernel can be booted without that."""
        if self.version == 1:
            return (self.folders["memory"] / _SOCKETS_V1).exists()
        return "nosocket" not in _text(Path("/proc/cmdline"))

    @property
    def joined(self) -> list[Path]:
        """The files that a process writes its number to in order to join."""
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values())]

    def cpu_s(self) -> float:
        """CPU seconds of all processes that ever ran in the group."""
        if self.version == 1:
            return int((self.folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
        return _counted(self.folders["cpuacct"] / "cpu.stat", "usage_usec") / 1e6

    def n_killed_for_memory(self) -> int:
        """How many processes the kernel has killed at the memory cap."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return _counted(self.folders["memory"] / name, "oom_kill")

    def n_refused_forks(self) -> int:
        """How many forks the kernel has refused at the cap of processes."""
        return _counted(self.folders["pids"] / "pids.events", "max")

    def share(self, *, dying: bool) -> None:
        """Limit the group to the CPU share of one program; give it everything once its processes are being killed.

        However many processes there are, the harness gets to run in time, and killed processes end quickly.
        """
        with contextlib.suppress(OSError, KeyError):
            name, normal, most = ("cpu.shares", 1024, 1 << 18) if self.version == 1 else ("cpu.weight", 100, 10_000)
            (self.folders["cpu"] / name).write_text(str(most if dying else normal))

    def kill(self) -> None:
        """Kill the processes that are left in the group."""
        with contextlib.suppress(OSError):
            (self.folders["pids"] / "cgroup.kill").write_text("1")
        for path in self.joined:
            for number in _numbers(path):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)

    def remove(self) -> None:
        """Kill what is left and remove the folders; the kernel needs a moment to release dead processes."""
        deadline = time.monotonic() + _GONE_S
        left = list(dict.fromkeys(self.folders.values()))
        while left and time.monotonic() < deadline:
            self.kill()
            for folder in list(left):
                with contextlib.suppress(OSError):
                    folder.rmdir()
                if not folder.exists():
                    left.remove(folder)
            if left:
                time.sleep(0.005)


def _counted(path: Path, name: str) -> int:
    """A number from a file of `name number` lines; 0 if the file does not have it."""
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            first, _, value = line.partition(" ")
            if first == name:
                return int(value)
    return 0


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def _numbers(path: Path) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(number) for number in path.read_text().split()]
    return []


def _own_places(own: str) -> dict[str, str]:
    """The harness's own group by controller; '' is version 2."""
    rows = (line.split(":", 2) for line in own.splitlines())
    return {name: place for _, names, place in rows for name in names.split(",")}


def _parents_v1(controller: str, own: Mapping[str, str], root: Path) -> Iterator[Path]:
    """Below our own group first, so that our own limits hold for the system too."""
    base = root / controller
    if controller in own and base.is_dir():
        for place in dict.fromkeys((own[controller], "/")):
            folder = base / place.lstrip("/")
            if folder.is_dir():
                yield folder


def _make(parents: Iterator[Path], settings: Mapping[str, int | str]) -> Path | None:
    """Make a folder with these settings below the first parent that accepts it. Settings with '?' may be missing."""
    for parent in parents:
        folder = parent / f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            for name, value in settings.items():
                if not name.startswith("?") or (folder / name[1:]).exists():
                    (folder / name.removeprefix("?")).write_text(str(value))
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        return folder
    return None


def _make_v1(caps: Caps, own: Mapping[str, str], root: Path) -> Cgroups | None:
    sockets = min(_SOCKET_BYTES, caps.memory_bytes // _SOCKET_PART)
    wanted: dict[str, dict[str, int | str]] = {
        "memory": {
            "memory.limit_in_bytes": caps.memory_bytes - sockets,
            "?memory.memsw.limit_in_bytes": caps.memory_bytes - sockets,
            f"?{_SOCKETS_V1}": sockets,
        },
        "pids": {"pids.max": caps.n_processes + _OWN_PROCESSES},
        "cpuacct": {},
    }
    folders: dict[str, Path] = {}
    for controller, settings in wanted.items():
        folder = _make(_parents_v1(controller, own, root), settings)
        if folder is None:
            _remove_all(folders)
            return None
        folders[controller] = folder
    share = _make(_parents_v1("cpu", own, root), {})
    return Cgroups(1, folders if share is None else {**folders, "cpu": share})


def _remove_all(folders: Mapping[str, Path]) -> None:
    for folder in folders.values():
        with contextlib.suppress(OSError):
            folder.rmdir()


def _parents_v2(own: str, root: Path) -> Iterator[Path]:
    """The nearest group above us that delegates memory and pids. Ours holds processes, so it cannot have subgroups."""
    folder = root / own.lstrip("/")
    for parent in (folder, *folder.parents):
        if parent != root and root not in parent.parents:
            return
        with contextlib.suppress(OSError):
            if {"memory", "pids"} <= set((parent / "cgroup.subtree_control").read_text().split()):
                yield parent


def _make_v2(caps: Caps, own: Mapping[str, str], root: Path) -> Cgroups | None:
    settings: dict[str, int | str] = {
        "memory.max": caps.memory_bytes,
        "?memory.swap.max": 0,
        "?memory.oom.group": 1,  # all of it ends, not the one process that the kernel would choose
        "pids.max": caps.n_processes + _OWN_PROCESSES,
    }
    folder = _make(_parents_v2(own.get("", "/"), root), settings)
    return None if folder is None else Cgroups(2, dict.fromkeys(("memory", "pids", "cpuacct", "cpu"), folder))


def make_cgroups(caps: Caps, *, root: Path = ROOT, own: str | None = None) -> Cgroups | None:
    """Make the groups for a run; None if this machine allows none. `own` is the text of /proc/self/cgroup."""
    if own is None:
        path = Path("/proc/self/cgroup")
        own = path.read_text() if path.is_file() else ""
    places = _own_places(own)
    _sweep(root, places)
    made = _make_v1(caps, places, root) if "memory" in places else _make_v2(caps, places, root)
    if made is None or _can_join(made):
        return made
    made.remove()
    return None


def _can_join(made: Cgroups) -> bool:
    """Whether a process can move itself into the groups: some machines allow making a group but not joining it."""
    script = " && ".join(f"echo $$ > '{path}'" for path in made.joined)
    done = subprocess.run(  # noqa: S603 - our own words
        ["/bin/sh", "-c", script], check=False, stdin=subprocess.DEVNULL, capture_output=True, close_fds=True
    )
    return done.returncode == 0


def _sweep(root: Path, own: Mapping[str, str]) -> None:
    """Remove the empty folders of runs that were killed before they could."""
    for controller, place in own.items():
        base = root / controller if controller else root
        for parent in {base, base / place.lstrip("/"), (base / place.lstrip("/")).parent}:
            for folder in parent.glob(f"{_PREFIX}*-*"):
                number = folder.name.removeprefix(_PREFIX).partition("-")[0]
                if number.isdigit() and not Path(f"/proc/{number}").exists():
                    with contextlib.suppress(OSError):
                        folder.rmdir()
