"""The programs that the sandbox is made of, and the reasons why one of them may not work on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from edu_rag.errors import SandboxError

OTHERWISE = "see docs/operators.md; or `edu-rag run --unsafe-no-sandbox` for a system that you trust"
_PACKAGES = {
    "bwrap": "bubblewrap",
    "setpriv": "util-linux",
    "prlimit": "util-linux",
    "env": "coreutils",
    "nice": "coreutils",
    "setsid": "util-linux",
}
_PACKAGES_ROOT = {"unshare": "util-linux", "mount": "mount"}
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_SWITCHES = {
    Path("/proc/sys/kernel/unprivileged_userns_clone"): "kernel.unprivileged_userns_clone=1",
    Path("/proc/sys/user/max_user_namespaces"): "user.max_user_namespaces=10000",
}


def find_tools(search_path: str | None = None, *, platform: str = sys.platform) -> Mapping[str, str]:
    """The full paths of the programs, by name. Raises SandboxError naming missing programs and their packages."""
    if not platform.startswith("linux"):
        what = f"works on Linux only, and this is {platform}"
        raise SandboxError("sandbox", what, "use a Linux machine or container, or give --unsafe-no-sandbox")
    wanted = _PACKAGES | (_PACKAGES_ROOT if os.geteuid() == 0 else {})
    said = os.environ.get("PATH", os.defpath) if search_path is None else search_path
    # An empty part, or ".", is the current folder: perhaps an untrusted one that contains a fake `bwrap`.
    safe = os.pathsep.join(part for part in said.split(os.pathsep) if part.startswith("/"))
    found = {name: shutil.which(name, path=safe) for name in wanted}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        packages = " ".join(sorted({wanted[name] for name in missing}))
        what = f"not installed: {', '.join(missing)}"
        raise SandboxError("sandbox", what, f"apt-get install {packages}; {OTHERWISE}")
    return {name: path for name, path in found.items() if path is not None}


def why_not(said: str) -> SandboxError:
    """The error for a failed trial, from its text on stderr."""
    last = (said.strip().splitlines() or ["it said nothing"])[-1][:300]
    if "disable-userns" in said or "Unknown option" in said:
        what = f"this bubblewrap is older than 0.8.0: {last}"
        return SandboxError("sandbox", what, f"install bubblewrap 0.8.0 or newer; {OTHERWISE}")
    if _read(_APPARMOR) == "1" and ("ermission denied" in said or "not permitted" in said):
        what = f"AppArmor keeps programs from making user namespaces here: {last}"
        return SandboxError("sandbox", what, f"install its profile for bwrap (docs/operators.md); {OTHERWISE}")
    for path, setting in _SWITCHES.items():
        if _read(path) == "0":
            return SandboxError("sandbox", f"user namespaces are off: {last}", f"sysctl -w {setting}; {OTHERWISE}")
    if "namespace" in said or "not permitted" in said or "mount proc" in said:
        what = f"user namespaces cannot be used here, as in many containers: {last}"
        return SandboxError("sandbox", what, f"start the container so that it allows them; {OTHERWISE}")
    return SandboxError("sandbox", f"cannot be started: {last}", OTHERWISE)


def _read(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""
