"""The sandbox's caps as a run's record states them: which were in force, how they were enforced, and their gaps."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from edu_rag.files.typed import to_plain
from harness.sandbox.caps import Caps
from harness.sandbox.cgroups import Cgroups
from harness.sandbox.memory_watch import LOOK_S

NONE = {"sandbox": "none"}
_NO_CGROUP = "there is no cgroup that this user may make"
_WATCHED = (
    f"{_NO_CGROUP}: memory as a whole is watched, at least every {LOOK_S * 1_000:.0f} ms, so that a burst is over the "
    "cap until the next look; what the kernel holds in sockets and pipes is estimated by their number, and there are "
    "no network sockets inside"
)
_UNWATCHED = (
    f"{_NO_CGROUP}, and its processes do not show from outside: memory is capped for each process, not for all "
    "together, and /tmp and /dev/shm come on top"
)


def wanted_caps(caps: Caps | None) -> dict[str, Any]:
    """The caps of a run without machine-specific parts, for comparisons; None without a sandbox."""
    return dict(NONE) if caps is None else {"sandbox": "bubblewrap", **to_plain(caps)}


def facts_of(caps: Caps, cgroups: Cgroups | None, bwrap: str, *, is_watched: bool) -> dict[str, Any]:
    """`wanted_caps`, with versions, means and gaps; `is_watched` matters only without a cgroup."""
    means = "rlimit" if cgroups is None else f"cgroup v{cgroups.version}"
    memory = "rlimit a process, watched as a whole" if is_watched else "rlimit a process"
    return {
        **wanted_caps(caps),
        "version": _version(bwrap),
        "user": "nobody" if os.geteuid() == 0 else "own",
        "memory": memory if cgroups is None else means,
        "processes": "rlimit" if cgroups is None else f"{means} and rlimit",
        "cpu": "watched" if cgroups is None else means,
        "gaps": [] if cgroups is not None else [_WATCHED if is_watched else _UNWATCHED],
    }


def _version(bwrap: str) -> str:
    done = subprocess.run([bwrap, "--version"], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)  # noqa: S603 - ours
    return done.stdout.strip()[:80]
