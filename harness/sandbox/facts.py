"""What a run's record says of the sandbox: which caps were in force, by what means, and what they leave open."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from edu_rag.typed import to_plain
from harness.sandbox.caps import Caps
from harness.sandbox.cgroups import Cgroups

NONE = {"sandbox": "none"}
_GAP = (
    "memory is capped for each process, not for all together, and /tmp and /dev/shm come on top: there is no cgroup "
    "that this user may make"
)


def wanted_caps(caps: Caps | None) -> dict[str, Any]:
    """What makes one run's caps differ from another's, whatever the machine; None is no sandbox."""
    return dict(NONE) if caps is None else {"sandbox": "bubblewrap", **to_plain(caps)}


def facts_of(caps: Caps, cgroups: Cgroups | None, bwrap: str) -> dict[str, Any]:
    """`wanted_caps`, with versions, means and gaps."""
    means = "rlimit" if cgroups is None else f"cgroup v{cgroups.version}"
    return {
        **wanted_caps(caps),
        "version": _version(bwrap),
        "user": "nobody" if os.geteuid() == 0 else "own",
        "memory": f"{means}, a process" if cgroups is None else means,
        "processes": "rlimit" if cgroups is None else f"{means} and rlimit",
        "cpu": "process tree" if cgroups is None else means,
        "gaps": [_GAP] if cgroups is None else [],
    }


def _version(bwrap: str) -> str:
    done = subprocess.run([bwrap, "--version"], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)  # noqa: S603 - ours
    return done.stdout.strip()[:80]
