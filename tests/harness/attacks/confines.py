"""Out of the caps, and at what the machine does by itself: process 1, core dumps, modules, files that others use."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import socket
import sys
from pathlib import Path

from attack import attack, call, name_of

F_SETLEASE, CACHESTAT = 1024, 451
RARE = (
    (socket.SOCK_STREAM, 262),
    (socket.SOCK_DGRAM, 136),
    (socket.SOCK_SEQPACKET, 132),
    (6, 33),
    (socket.SOCK_STREAM, 256),
)
"""MPTCP, UDP-Lite, SCTP, DCCP and SMC: kernels load their modules for whoever asks."""


@attack
def memory_of_the_first_process_for_writing() -> str | None:
    """Process 1 of a sandbox may have no rlimits, and code that is written into it runs without them."""
    with Path("/proc/1/mem").open("r+b", buffering=0) as memory:
        return f"opened as {memory.fileno()}"


@attack
def the_first_process_stopped_at() -> str | None:
    return Path("/proc/1/syscall").read_text().strip() or None


@attack
def spared_when_memory_runs_out() -> str | None:
    handle = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(handle, b"-1000")
    return "-1000"


@attack
def core_dump_for_the_machines_own_program() -> str | None:
    """A program in core_pattern is started by the kernel as root, outside, at any limit but 1."""
    for wanted in ((0, 0), (1 << 20, 1 << 20)):
        try:
            resource.setrlimit(resource.RLIMIT_CORE, wanted)
        except (OSError, ValueError):
            continue
    found = resource.getrlimit(resource.RLIMIT_CORE)
    # A caller whose own hard limit is 0 cannot give 1; that is harmless where dumps go to no program.
    is_harmless = found == (0, 0) and not Path("/proc/sys/kernel/core_pattern").read_text().startswith(("|", "@"))
    return None if found == (1, 1) or is_harmless else f"the limit of core dumps is {found}"


@attack
def protocols_that_load_modules() -> str | None:
    asked = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind, protocol in RARE:
            try:
                socket.socket(family, kind, protocol).close()
            except OSError as error:
                if error.errno == errno.EPERM:
                    continue
            asked.append(f"{family}/{kind}/{protocol}")
    return " ".join(asked) or None


@attack
def lease_on_the_callers_files() -> str | None:
    """Whoever opens the file for writing waits for us, for 45 seconds."""
    for path in (sys.executable, os.__file__, __file__):
        with Path(path).open("rb") as stream:
            try:
                fcntl.fcntl(stream, F_SETLEASE, fcntl.F_RDLCK)
            except OSError:
                continue
            return path
    return None


@attack
def what_the_machine_read_lately() -> str | None:
    result = call(CACHESTAT, 0, 0, 0, 0)
    return None if result in (-errno.EPERM, -errno.ENOSYS) else name_of(result)


@attack
def what_the_machine_is_doing() -> str | None:
    found = []
    for name in ("cmdline", "interrupts", "softirqs", "diskstats", "locks", "pressure/cpu"):
        try:
            with Path(f"/proc/{name}").open("rb") as stream:
                found += [name] if stream.read(10) else []
        except OSError:
            continue
    return " ".join(found) or None
