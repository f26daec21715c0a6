"""Attacks on other processes: seeing, tracing, reading, signalling, slowing them."""

# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from pathlib import Path

from attack import TARGETS, attack, call, canary_in, known, name_of, strangers

PTRACE, PROCESS_VM_READV, PIDFD_OPEN, PIDFD_GETFD, KCMP, PIDFD_SEND_SIGNAL = 101, 310, 434, 438, 312, 424
SEIZE, PRLIMIT64, PROCESS_MADVISE = 0x4206, 302, 440


@attack
def see_other_processes() -> str | None:
    for pid in known():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if TARGETS["mark"].encode() in words:
            return f"{pid}: {words[:80]!r}"
    return None


@attack
def see_the_harness() -> str | None:
    for pid in strangers():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        # By whole names: a checkout in a folder "edu-rag" shows in the words of our own processes too.
        names = {word.rsplit(b"/", 1)[-1] for word in words.split(b"\0")}
        if names & {b"edu_rag", b"edu-rag"} or b"attack_callers" in words:
            return f"{pid}: {words[:80]!r}"
    return None


@attack
def trace_other_processes() -> str | None:
    for pid in strangers():
        if call(PTRACE, SEIZE, pid, 0, 0) == 0:
            return f"traces {pid}"
    return None


@attack
def trace_own_child() -> str | None:
    """Harmless by itself, but the tracer's code is where kernels were broken."""
    pid = os.fork()
    if pid == 0:
        time.sleep(5)
        os._exit(0)
    result = call(PTRACE, SEIZE, pid, 0, 0)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return f"traces {pid}" if result == 0 else None


def _read_memory(pid: int, address: int, n_bytes: int) -> bytes | None:
    buffer = ctypes.create_string_buffer(n_bytes)
    here = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), n_bytes)
    there = (ctypes.c_uint64 * 2)(address, n_bytes)
    n = call(PROCESS_VM_READV, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return buffer.raw[:n] if n > 0 else None


@attack
def read_memory_by_call() -> str | None:
    return canary_in(_read_memory(TARGETS["victim"], TARGETS["address"], 100) or b"")


@attack
def read_memory_of_the_first_process_by_call() -> str | None:
    """The monitor of the sandbox holds what the caller told it."""
    for pid in strangers():
        try:
            low = int(Path(f"/proc/{pid}/maps").read_text().split("-")[0], 16)
        except (OSError, ValueError):
            continue
        if _read_memory(pid, low, 16):
            return f"memory of {pid} at {low:#x}"
    return None


@attack
def signal_other_processes() -> str | None:
    """The victim notes the signal in a file, at which the test looks."""
    try:
        os.kill(TARGETS["victim"], signal.SIGUSR1)
    except OSError:
        return None
    return f"signal to {TARGETS['victim']}"


@attack
def signal_by_pidfd() -> str | None:
    for pid in known():
        if (handle := call(PIDFD_OPEN, pid, 0)) >= 0 and call(PIDFD_SEND_SIGNAL, handle, 0, None, 0) == 0:
            return f"may signal {pid}"
    return None


@attack
def descriptor_of_another_process_by_pidfd() -> str | None:
    for pid in strangers():
        handle = call(PIDFD_OPEN, pid, 0)
        for number in range(64) if handle >= 0 else ():
            if (taken := call(PIDFD_GETFD, handle, number, 0)) >= 0:
                return f"descriptor {number} of {pid} is ours as {taken}"
    return None


@attack
def compare_with_other_processes() -> str | None:
    for pid in [os.getppid(), *strangers()]:
        if (result := call(KCMP, os.getpid(), pid, 1, 0, 0)) >= 0:
            return f"kcmp with {pid}: {result}"
    return None


@attack
def slow_other_processes_down() -> str | None:
    for pid in known():
        try:
            os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))
        except OSError:
            continue
        return f"may set the priority of {pid}"
    return None


@attack
def limit_other_processes() -> str | None:
    for pid in known():
        limits = (ctypes.c_uint64 * 2)()
        if call(PRLIMIT64, pid, resource.RLIMIT_CORE, None, ctypes.byref(limits)) == 0:
            return f"limits of {pid}: {limits[0]}"
    return None


@attack
def raise_own_limits() -> str | None:
    """Memory may be capped otherwise (`fill_memory` tries); processes and files have no other cap everywhere."""
    for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_AS"):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY:
            if name == "RLIMIT_AS":
                continue
            return f"{name} has no limit"
        try:
            resource.setrlimit(kind, (hard + 1, hard + 1))
        except (OSError, ValueError):
            continue
        return f"{name} is now {hard + 1}"
    return None


@attack
def priority_over_others() -> str | None:
    try:
        os.nice(-5)
    except OSError:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            return None
    return f"nice {os.nice(0)}, policy {os.sched_getscheduler(0)}"


@attack
def kernels_answer_about_the_host() -> str | None:
    """Who else is there, by the numbers of processes."""
    for pid in known():
        result = call(62, pid, 0)  # kill with no signal: EPERM would say that it exists
        if result in (0, -1):
            return f"{pid}: {name_of(result)}"
    return None


@attack
def write_to_the_harness_output() -> str | None:
    """An answer put into somebody's mouth: the descriptors of whoever reads us, and of the caller."""
    written = []
    for pid in strangers():
        for handle in (1, 2):
            try:
                with open(f"/proc/{pid}/fd/{handle}", "wb", buffering=0) as stream:
                    stream.write(f"INJECTED-{TARGETS['mark']}\n".encode())
            except OSError:
                continue
            written.append(f"{pid}/{handle}")
    return " ".join(written) or None
