"""Attacks that want to be somebody else, or to see another file system."""

# ruff: noqa: PTH102, PTH106, PTH123

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from attack import TARGETS, attack, call, name_of

MOUNT, UMOUNT2, PIVOT_ROOT, UNSHARE, SETNS, CLONE, CLONE3 = 165, 166, 155, 272, 308, 56, 435
FSOPEN, OPEN_TREE, MOUNT_SETATTR = 430, 428, 442
NEWNS, NEWUSER, NEWPID, NEWNET, NEWUTS, NEWIPC = 0x20000, 0x10000000, 0x20000000, 0x40000000, 0x4000000, 0x8000000


def _in_child(act: Callable[[], int]) -> int:
    """The result of an act in a child of its own, as an exit code: 0 is success."""
    pid = os.fork()
    if pid == 0:
        os._exit(min(255, abs(act())))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@attack
def become_root() -> str | None:
    if os.getuid() and os.geteuid():
        try:
            os.setresuid(0, 0, 0)
        except OSError:
            return None
    return f"uids {os.getresuid()}"


@attack
def become_another_user() -> str | None:
    try:
        os.setresuid(12345, 12345, 12345)
    except OSError:
        return None
    return f"uids {os.getresuid()}"


@attack
def groups_of_root() -> str | None:
    try:
        os.setgroups([0, 42])
        os.setresgid(0, 0, 0)
    except OSError:
        return None
    return f"groups {os.getgroups()}"


@attack
def setuid_program() -> str | None:
    """Start programs that carry the setuid bit, and look whom they run as."""
    if os.geteuid() == 0:
        return None  # nothing to gain
    for words in ([TARGETS["setuid_program"], "20"], ["/usr/bin/su", "-c", "true"], ["/usr/bin/passwd"]):
        try:
            child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:
            continue
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired:
            status = Path(f"/proc/{child.pid}/status").read_text()
            uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
            child.kill()
            child.wait()
            if uids[1] == "0":
                return f"{words[0]} runs as {uids}"
    return None


@attack
def capabilities() -> str | None:
    lines = Path("/proc/self/status").read_text().splitlines()
    held = [line for line in lines if line.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb")) and int(line[8:], 16)]
    return " ".join(held) or None


@attack
def capabilities_of_the_first_process() -> str | None:
    """A process that may act on the first one inherits what it can."""
    if TARGETS["only_known"]:
        return None  # the machine's own
    lines = Path("/proc/1/status").read_text().splitlines()
    held = [line for line in lines if line.startswith("CapEff") and int(line[8:], 16)]
    reach = os.access("/proc/1/mem", os.R_OK) and os.access("/proc/1/root/", os.X_OK)
    return " ".join(held) + " and within reach" if held and reach else None


@attack
def mount_a_file_system() -> str | None:
    place = tempfile.mkdtemp()
    result = call(MOUNT, b"none", place.encode(), b"tmpfs", 0, None)
    if result == 0:
        call(UMOUNT2, place.encode(), 2)
    os.rmdir(place)
    return f"mounted {place}" if result == 0 else None


@attack
def mount_a_folder_elsewhere() -> str | None:
    place = tempfile.mkdtemp()
    result = call(MOUNT, b"/etc", place.encode(), None, 0x1000, None)
    if result == 0:
        call(UMOUNT2, place.encode(), 2)
    os.rmdir(place)
    return f"mounted {place}" if result == 0 else None


@attack
def unmount() -> str | None:
    """The first call with MNT_EXPIRE only marks: EAGAIN and EBUSY say that we may."""
    with open("/proc/self/mountinfo") as table:
        places = [words[4] for words in map(str.split, table)]
    for place in ["/proc"] if TARGETS["only_known"] else places:
        result = call(UMOUNT2, place.encode(), 4)
        if result in (0, -errno.EAGAIN, -errno.EBUSY):
            return f"{place}: {name_of(result)}"
    return None


@attack
def remount_for_writing() -> str | None:
    with open("/proc/self/mountinfo") as table:
        places = [words[4] for words in map(str.split, table) if "ro" in words[5].split(",")]
    for place in places if not TARGETS["only_known"] else []:
        result = call(MOUNT, None, place.encode(), None, 0x1020, None)  # MS_REMOUNT | MS_BIND
        if result == 0 and not os.statvfs(place).f_flag & os.ST_RDONLY:
            return f"{place} is writable"
    return None


def _pivot() -> int:
    if (result := call(UNSHARE, NEWNS)) and (result := call(UNSHARE, NEWUSER | NEWNS)):
        return result
    place = tempfile.mkdtemp().encode()
    call(MOUNT, None, b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE, in our own mount namespace only
    if result := call(MOUNT, b"none", place, b"tmpfs", 0, None):
        return result
    os.chdir(place)
    os.mkdir("old")
    return call(PIVOT_ROOT, b".", b"old")


@attack
def pivot_the_root() -> str | None:
    return "another root" if _in_child(_pivot) == 0 else None


@attack
def change_the_root() -> str | None:
    """The classic way out of a changed root needs another one."""
    try:
        os.chroot(tempfile.gettempdir())
    except OSError:
        return None
    return "another root"


def _clone3() -> int:
    arguments = (ctypes.c_uint64 * 8)(NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call(CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
    if pid == 0:
        os._exit(0)
    return min(pid, 0)


def _clone() -> int:
    pid = call(CLONE, NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return min(pid, 0)


@attack
def user_namespace_by_unshare() -> str | None:
    return "root in a user namespace" if _in_child(lambda: call(UNSHARE, NEWUSER)) == 0 else None


@attack
def user_namespace_by_clone() -> str | None:
    return "root in a user namespace" if _in_child(_clone) == 0 else None


@attack
def user_namespace_by_clone3() -> str | None:
    return "root in a user namespace" if _in_child(_clone3) == 0 else None


@attack
def other_namespaces() -> str | None:
    for flag in (NEWNS, NEWPID, NEWNET, NEWUTS, NEWIPC, 0x2000000):
        if _in_child(lambda flag=flag: call(UNSHARE, flag)) == 0:
            return f"a namespace of its own: {flag:#x}"
    return None


def _join(path: str) -> int:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        return error.errno or 1
    return call(SETNS, handle, 0)


@attack
def join_namespaces() -> str | None:
    for pid in ("self", os.getppid(), *TARGETS["pids"], *([] if TARGETS["only_known"] else [1])):
        for kind in ("net", "mnt", "pid", "ipc", "uts", "cgroup", "user"):
            if _in_child(lambda pid=pid, kind=kind: _join(f"/proc/{pid}/ns/{kind}")) == 0:
                return f"namespace {kind} of {pid}"
    return None


@attack
def new_mount_calls() -> str | None:
    """Filters that know only mount(2) let these through."""
    for number, words in ((FSOPEN, (b"tmpfs", 0)), (OPEN_TREE, (-100, b"/", 1)), (OPEN_TREE, (-100, b"/", 0x8001))):
        if (handle := call(number, *words)) >= 0:
            os.close(handle)
            return f"call {number} gave descriptor {handle}"
    return None
