"""Report which protections this machine can enforce, by starting a sandbox and looking at it from inside."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import SandboxError
from harness.sandbox.caps import GIB, Caps
from harness.sandbox.launch import OURS, Sandbox, open_sandbox

_LOOK = """
cat /proc/self/status
echo Links: $(ls /sys /run /home 2>/dev/null | wc -l)
echo Net: $(grep -c : /proc/net/dev)
echo Environment: $(tr '\\0' '\\n' < /proc/1/environ | wc -l)
(echo x > /written) 2>/dev/null && echo Root: writable || echo Root: read-only
(echo x > /app/written) 2>/dev/null && echo App: writable || echo App: read-only
(echo x > /tmp/written) 2>/dev/null && echo Tmp: writable || echo Tmp: read-only
unshare --user true 2>/dev/null && echo Userns: can || echo Userns: cannot
"""
_WAIT_S = 30.0
_NO_ANSWER = f"a shell inside gave no answer in {_WAIT_S:g} s"
_AGAIN = "try again when less is running"
_BY_CGROUP = "run as root, or as a user whom systemd has delegated a cgroup with memory and pids"


class SandboxCheck(NamedTuple):
    """One protection: whether it is in force here, by which means, and the remedy if it is not."""

    name: str
    in_force: bool
    detail: str
    remedy: str = ""


def _seen(sandbox: Sandbox) -> Mapping[str, str]:
    """The values that a shell inside reports, by name. Raises SandboxError if it does not end in time."""
    with Path(os.devnull).open("wb") as errors:
        process = sandbox.start(["/bin/sh", "-c", _LOOK], errors.fileno(), nice=OURS)
        try:
            said = process.stdout.read(65_536).decode("utf-8", "replace") if process.wait(_WAIT_S) == 0 else ""
        except subprocess.TimeoutExpired:
            raise SandboxError("sandbox", _NO_ANSWER, _AGAIN) from None
        finally:
            process.stdin.close()
            process.stdout.close()
            process.end()
    rows = (line.partition(":") for line in said.splitlines())
    return {name: value.strip() for name, _, value in rows}


def _looks(seen: Mapping[str, str]) -> Iterator[SandboxCheck]:
    """Each protection by the value that shows it from inside."""
    for name, key, wanted, detail in (
        ("no rights", "CapEff", "0000000000000000", "no capability"),
        ("no new rights", "NoNewPrivs", "1", "programs with setuid give nothing"),
        ("calls to the kernel", "Seccomp", "2", "a filter denies what no system needs"),
        ("no namespaces of its own", "Userns", "cannot", "unshare is refused"),
        ("no network", "Net", "1", "its own loopback alone"),
        ("no files of ours", "Links", "0", "no /sys, /run, /home"),
        ("no environment of ours", "Environment", "0", "/proc/1/environ is empty"),
        ("read-only root", "Root", "read-only", "nothing can be written"),
        ("read-only submission", "App", "read-only", "a copy, at /app"),
        ("room to write", "Tmp", "writable", "/tmp, gone with the process"),  # noqa: S108 - the sandbox's own
    ):
        found = seen.get(key, "nothing")
        remedy = "" if found == wanted else "report it with the output of `edu-rag sandbox --json`"
        yield SandboxCheck(name, found == wanted, detail if found == wanted else f"{key} is {found}", remedy)


def _caps(sandbox: Sandbox) -> Iterator[SandboxCheck]:
    caps, facts = sandbox.caps, sandbox.facts
    whole = sandbox.cgroups is not None or "watched" in facts["memory"]
    memory = f"{caps.memory_bytes / GIB:.3g} GiB ({facts['memory']})"
    yield SandboxCheck("memory as a whole", whole, memory, "" if whole else _BY_CGROUP)
    yield SandboxCheck("processes", True, f"{caps.n_processes} ({facts['processes']})")
    yield SandboxCheck(
        "CPU time a question", True, f"{caps.cpu_limit_s(1):g} s for each second of its limit ({facts['cpu']})"
    )
    yield SandboxCheck("room in /tmp and /dev/shm", True, f"{caps.tmp_bytes / GIB:.3g} GiB, {caps.shm_bytes >> 20} MiB")


def examine(caps: Caps, *, search_path: str | None = None) -> list[SandboxCheck]:
    """Check every protection of the sandbox on this machine; a single failed check if it cannot be started."""
    with tempfile.TemporaryDirectory(prefix="edu-rag-doctor-") as folder:
        try:
            with open_sandbox(Path(folder), {}, caps, search_path=search_path) as sandbox:
                started = SandboxCheck("sandbox", True, f"{sandbox.facts['version']}, user {sandbox.facts['user']}")
                return [started, *_looks(_seen(sandbox)), *_caps(sandbox)]
        except SandboxError as error:
            return [SandboxCheck("sandbox", False, error.what, error.remedy)]
