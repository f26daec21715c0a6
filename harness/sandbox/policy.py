"""The sandbox's policy: bubblewrap options, and the calls to the kernel that a system may not make."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import SandboxError
from harness.sandbox.caps import Caps
from harness.sandbox.runtime import APP, Mount, Runtime
from harness.sandbox.staging import NOBODY, StagedFolder

_NAMESPACES = (
    "--unshare-user",
    "--unshare-all",
    "--disable-userns",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--uid",
    str(NOBODY),
    "--gid",
    str(NOBODY),
    "--hostname",
    "sandbox",
    "--clearenv",
)
_MASKED = tuple(
    f"/proc/{name}"
    for name in (
        "kcore",
        "keys",
        "key-users",
        "kallsyms",
        "timer_list",
        "sched_debug",
        "cmdline",
        "config.gz",
        "interrupts",
        "softirqs",
        "latency_stats",
        "locks",
        "iomem",
        "ioports",
        "diskstats",
    )
)
"""Kernel files about the whole machine; empty inside."""
_MASKED_FOLDERS = ("/proc/pressure", "/proc/bus", "/proc/irq", "/proc/acpi", "/proc/scsi", "/proc/driver")
_COVER_BYTES = 4_096


def words(
    runtime: Runtime, stage: StagedFolder, caps: Caps, environment: Mapping[str, str], *, staged: Mapping[Path, Path]
) -> list[str]:
    """All arguments of bubblewrap except descriptors and the command, in the order in which it applies them.

    `staged` are sources that root has mounted elsewhere because user `nobody` cannot reach them.
    """

    def source(mount: Mount) -> str:
        return str(staged.get(mount.source, mount.source))

    said = list(_NAMESPACES)
    for name, value in sorted(environment.items()):
        said += ["--setenv", name, value]
    said += _sized("/tmp", caps.tmp_bytes)  # noqa: S108 - the sandbox's own
    said += ["--ro-bind", str(stage.etc), "/etc", "--ro-bind", str(stage.app), str(APP)]
    for place, target in runtime.links:
        said += ["--symlink", target, str(place)]
    # Outer before inner: a covered folder may be inside a mounted one, and a mounted one inside a covered one.
    steps = [(mount.place, ["--ro-bind", source(mount), str(mount.place)]) for mount in runtime.mounts]
    steps += [(place, _sized(str(place), _COVER_BYTES, "0555")) for place in runtime.covered]
    for _, step in sorted(steps, key=lambda pair: len(pair[0].parts)):
        said += step
    for place in runtime.covered:
        said += ["--remount-ro", str(place)]
    # Some settings belong to the sandbox's own namespaces, whose owner may write them: pid_max, hostname.
    said += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    # Process 1 has no rlimits and runs as the same user: a system that wrote to its memory would escape the caps.
    for folder in ("/proc/1", *(path for path in _MASKED_FOLDERS if Path(path).is_dir())):
        said += [*_sized(folder, _COVER_BYTES, "0555"), "--remount-ro", folder]
    for path in _MASKED:
        if Path(path).exists():
            said += ["--ro-bind", str(stage.empty), path]
    # Terminals are counted over the whole machine, and no system needs one.
    said += [*_sized("/dev/pts", _COVER_BYTES, "0555"), "--remount-ro", "/dev/pts"]
    # --dev makes a writable tmpfs of half the machine's memory.
    said += ["--remount-ro", "/dev", *_sized("/dev/shm", caps.shm_bytes), "--remount-ro", "/", "--chdir", str(APP)]  # noqa: S108
    return said


def _sized(place: str, n_bytes: int, mode: str = "1777") -> list[str]:
    return ["--perms", mode, "--size", str(n_bytes), "--tmpfs", place]


DENIED = (
    # mounts and roots, by the old calls and the new
    "mount", "umount", "umount2", "pivot_root", "chroot", "swapon", "swapoff",
    # other namespaces, other processes
    "unshare", "setns", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "process_madvise",
    # large parts of the kernel that no such system needs, where most of its faults were found
    "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "modify_ldt", "fanotify_init",
    "lookup_dcookie", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "quotactl", "acct", "vhangup", "vm86",
    "vm86old", "name_to_handle_at", "open_by_handle_at", "remap_file_pages",
    # the machine
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module",
    "get_kernel_syms", "reboot", "syslog", "settimeofday", "clock_settime", "clock_settime64", "clock_adjtime",
    "clock_adjtime64", "adjtimex", "stime", "iopl", "ioperm", "sethostname", "setdomainname", "mknod", "mknodat",
    "move_pages", "migrate_pages", "mbind", "set_mempolicy", "ioprio_set",
)  # fmt: skip
"""Answered with EPERM. A name that this machine does not know is ignored."""
DENIED_NUMBERS = (
    425, 426, 427,  # io_uring
    428, 429, 430, 431, 432, 433, 442,  # open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr
    438,  # pidfd_getfd
    440, 443, 448, 450,  # process_madvise, quotactl_fd, process_mrelease, set_mempolicy_home_node
    451,  # cachestat: which files of the machine were read lately
)  # fmt: skip
"""Answered with EPERM. From 424 on a call has the same number on all machines; libraries may be older than the call."""
ABSENT = (
    "inotify_init",
    "inotify_init1",  # watches files that others use, and takes from a quota of the whole user
    "io_setup",
    "io_submit",
    "io_getevents",
    "io_pgetevents",
    "io_cancel",
    "io_destroy",  # from one of the machine
)
"""Answered with ENOSYS, so that libraries fall back to something else, such as polling."""
WITHOUT_EFFECT = ("sync", "syncfs")
"""Answered as if done: they would flush the disks of the whole machine, as often as the system likes."""
_CLONE3 = 435
"""Its flags are in memory, which a filter cannot read. It answers ENOSYS, and libraries fall back to clone."""
_FIRST_NEW, _LAST_NEW = 452, 600
_KNOWN_NEW = frozenset({452, 453, 454, 455, 456, 462})
"""fchmodat2, map_shadow_stack, futex_wake, futex_wait, futex_requeue, mseal; the other new ones answer ENOSYS."""
UNCOUNTED = ("memfd_create", "memfd_secret", "shmget", "msgget", "semget")
"""Memory that belongs to no process, so that only a cgroup counts it: denied if there is none."""
_NAMESPACE_FLAGS = (0x00000080, 0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEW: time, mount, cgroup, uts, ipc, user, pid, net."""
_TERMINAL = (0x5412, 0x541C, 0x5423)
"""TIOCSTI and TIOCLINUX type into our terminal; TIOCSETD loads kernel modules."""
_WATCHING = (1024, 1026)
"""F_SETLEASE and F_NOTIFY: they would delay, or reveal, programs outside that use the same files."""
_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: they reach only the sandbox's own loopback."""
_UDP = 17
"""The last protocol that a system needs among those whose sockets need no rights; TCP is 6."""
_DATAGRAM_CONGESTION = 6
"""SOCK_DCCP. It, and protocols such as SCTP, are modules that the kernel loads on anybody's request."""
_LARGE_PAGES = 41
"""prctl: PR_SET_THP_DISABLE."""
_CORE = 4
"""RLIMIT_CORE, which is 1 so that no dump is made; 0 would allow the machine's own dump program to start."""
_DROPS_PAGES = 4
"""POSIX_FADV_DONTNEED: it would drop cached files that other programs are about to read again."""
_INTERNET = (2, 10)
_SOCKET_LEVEL, _BUFFER_SIZES = 1, (7, 8)
"""SO_SNDBUF and SO_RCVBUF: without a cgroup that counts socket buffers, the number of sockets must bound them."""
_SET_PIPE_SIZE = 1031
_LOW = 0xFFFF_FFFF


class _Rule(NamedTuple):
    call: str | int
    errno: int = errno.EPERM
    conditions: tuple[tuple[int, str, int, int], ...] = ()


def _by_argument() -> Iterator[_Rule]:
    for flag in _NAMESPACE_FLAGS:
        yield _Rule("clone", conditions=((0, "MASKED_EQ", flag, flag),))
    for request in _TERMINAL:
        yield _Rule("ioctl", conditions=((1, "MASKED_EQ", _LOW, request),))
    for command in _WATCHING:
        yield _Rule("fcntl", conditions=((1, "MASKED_EQ", _LOW, command),))
    for call in ("socket", "socketpair"):
        for family in sorted(set(range(max(_FAMILIES))) - set(_FAMILIES)):
            yield _Rule(call, conditions=((0, "EQ", family, 0),))
        # Compared in all 64 bits: the kernel reads the low half only, and a set high bit would avoid the match.
        yield _Rule(call, conditions=((0, "GT", max(_FAMILIES), 0),))
        yield _Rule(call, conditions=((1, "MASKED_EQ", 0xF, _DATAGRAM_CONGESTION),))
        yield _Rule(call, conditions=((2, "GT", _UDP, 0),))
    # Answered as if done: a system that asks for no dump gets none anyway.
    yield _Rule("setrlimit", 0, ((0, "MASKED_EQ", _LOW, _CORE),))
    yield _Rule("prlimit64", 0, ((1, "MASKED_EQ", _LOW, _CORE), (2, "NE", 0, 0)))
    yield _Rule("personality", conditions=((0, "NE", _LOW, 0),))  # may be read, never set
    yield _Rule("fadvise64", 0, ((3, "MASKED_EQ", _LOW, _DROPS_PAGES),))


def _uncounted() -> Iterator[_Rule]:
    """Rules for machines where no cgroup counts all memory: memory that belongs to no process is denied, or small."""
    for name in UNCOUNTED:
        yield _Rule(name)
    yield _Rule(
        "prctl", conditions=((0, "MASKED_EQ", _LOW, _LARGE_PAGES),)
    )  # stay off: see harness.sandbox.sandboxed_process
    yield _Rule("fcntl", conditions=((1, "MASKED_EQ", _LOW, _SET_PIPE_SIZE),))
    for option in _BUFFER_SIZES:
        yield _Rule("setsockopt", 0, ((1, "MASKED_EQ", _LOW, _SOCKET_LEVEL), (2, "MASKED_EQ", _LOW, option)))


def _rules(*, counted: bool, counts_sockets: bool) -> Iterator[_Rule]:
    for name in DENIED:
        yield _Rule(name)
    for name in ABSENT:
        yield _Rule(name, errno.ENOSYS)
    for name in WITHOUT_EFFECT:
        yield _Rule(name, 0)
    if not counted:
        yield from _uncounted()
    if not counts_sockets:
        for family in _INTERNET:
            yield _Rule("socket", errno.EAFNOSUPPORT, ((0, "MASKED_EQ", _LOW, family),))
    for number in DENIED_NUMBERS:
        yield _Rule(number)
    yield _Rule(_CLONE3, errno.ENOSYS)
    for number in range(_FIRST_NEW, _LAST_NEW):
        if number not in _KNOWN_NEW:
            yield _Rule(number, errno.ENOSYS)
    yield from _by_argument()


def _imported() -> Any:
    import pyseccomp  # type: ignore[import-untyped]

    return pyseccomp


def _library() -> Any:
    try:
        return _imported()
    except ImportError:
        remedy = "pip install pyseccomp, or give --unsafe-no-sandbox for a system that you trust"
        raise SandboxError("sandbox", "the Python package pyseccomp is not installed", remedy) from None
    except (RuntimeError, OSError):  # pyseccomp raises these if libseccomp is missing
        remedy = "apt-get install libseccomp2, or give --unsafe-no-sandbox for a system that you trust"
        raise SandboxError("sandbox", "the library libseccomp.so.2 is not installed", remedy) from None


def program(*, counted: bool, counts_sockets: bool) -> bytes:
    """The filter as BPF. Raises SandboxError without libseccomp.

    `counted`: a cgroup counts all memory. `counts_sockets`: it counts the buffers of TCP and UDP too; otherwise such
    sockets are denied.

    Calls of another architecture (x32 and i386 on x86-64) kill the process: their numbers mean other calls.
    """
    library = _library()
    made = library.SyscallFilter(library.ALLOW)
    made.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
    for rule in _rules(counted=counted, counts_sockets=counts_sockets):
        number = _number(library, rule.call)
        if number is not None:
            conditions = [library.Arg(n, getattr(library, op), a, b) for n, op, a, b in rule.conditions]
            made.add_rule(library.ERRNO(rule.errno), number, *conditions)
    return _exported(made)


def _number(library: Any, call: str | int) -> int | None:
    """A call's number, or None if this machine has no such call (libseccomp's own numbers are below zero)."""
    if isinstance(call, int):
        return call
    try:
        number = int(library.resolve_syscall(library.Arch.NATIVE, call))
    except OSError:
        return None
    return number if number >= 0 else None


def _exported(made: Any) -> bytes:
    with os.fdopen(os.memfd_create("seccomp"), "w+b") as stream:
        made.export_bpf(stream)
        stream.seek(0)
        return stream.read()
