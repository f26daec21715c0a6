"""The sandbox's policy as bubblewrap options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
