"""Download the wheels of pinned packages with pip, which runs nothing of them: wheels only, each by its hash."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import EduRagError, FaultsError, SubmissionError
from harness.own_packages.requirements_file import PinnedPackage, normalised

FetchWheels = Callable[[Sequence[PinnedPackage], Path, Path, int], None]
"""Puts the wheels of pins into a folder; the path of the requirements file, for errors; the most bytes of all."""
MAX_S = 900.0
_LOOK_S = 0.2
_MAX_MISSING = 20
_SAID_BYTES = 200_000
_TAKEN_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PIP_REQUIREMENT", "PIP_TARGET", "PIP_NO_BINARY")
_OPTIONS = (
    "--no-deps", "--require-hashes", "--no-binary=:none:", "--only-binary=:all:", "--no-cache-dir", "--no-input",
    "--disable-pip-version-check", "--progress-bar=off", "--no-color", "--retries=1", "--timeout=30", "--quiet",
)  # fmt: skip
_NO_WHEEL = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)==")
_OTHER_HASH = re.compile(r"^ {4}([A-Za-z0-9._-]+)==\S+ from ", re.MULTILINE)
_OFFLINE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|Name or service not known"
    r"|Temporary failure in name resolution|Network is unreachable|Connection refused|connection broken"
)
_CRASHED = "ERROR: Exception:"
_ADDRESS = re.compile(r"\S*(?:://|file:)\S*")


def pip_download(
    pins: Sequence[PinnedPackage], folder: Path, file: Path, most_bytes: int, max_s: float = MAX_S
) -> None:
    """As FetchWheels, from the index that the person who runs this has set for pip, within `max_s` in all.

    Raises FaultsError naming each package without a wheel, and SubmissionError for all other failures.
    """
    left, missing, time_left = list(pins), list[EduRagError](), _TimeLeft(max_s, time.monotonic() + max_s)
    while True:
        code, said = _pip(left, folder, file, most_bytes, time_left)
        if code == 0 and not missing:
            return
        bad = _packages_at_fault(said, left) if code else []
        if code and not bad:
            raise _failure(said, file)
        missing += [_fault_of(said, pin, file) for pin in bad]
        left = [pin for pin in left if pin not in bad]
        if not (code and left) or len(missing) >= _MAX_MISSING:
            raise FaultsError(missing)


class _TimeLeft(NamedTuple):
    """The seconds that all starts of pip may take together, and their end."""

    max_s: float
    ends_at: float


def _pip(
    pins: Sequence[PinnedPackage], folder: Path, file: Path, most_bytes: int, time_left: _TimeLeft
) -> tuple[int, str]:
    """The exit code of pip and what it wrote; its processes are ended if they take too long or download too much."""
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=folder.parent) as scratch:
        written = Path(scratch, "requirements.txt")
        written.write_text("".join(f"{pin.requirement}\n" for pin in pins), encoding="ascii")
        output = Path(scratch, "output")
        command = [*_pip_command(), "download", *_OPTIONS, "--dest", str(folder), "-r", str(written)]
        with output.open("wb") as stream:
            child = subprocess.Popen(  # noqa: S603 - our own words
                command,
                cwd=scratch,
                env=_environment(os.environ, Path(scratch)),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
            try:
                _wait(child, folder.parent, file, most_bytes, time_left)
            except BaseException:  # it is not waited for yet, so its number is still its own
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                raise
        with output.open("rb") as stream:
            return child.returncode, stream.read(_SAID_BYTES).decode("utf-8", "replace")


def _wait(child: subprocess.Popen[bytes], folder: Path, file: Path, most_bytes: int, time_left: _TimeLeft) -> None:
    """Wait for pip. Raises SubmissionError if it takes too long or fills the folder."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_LOOK_S)
            return
        if time.monotonic() > time_left.ends_at:
            what = f"its packages were not there within {time_left.max_s:,.0f} s"
            raise SubmissionError(file, what, "pin fewer or smaller ones")
        if _size(folder) > 2 * most_bytes:  # pip has each file twice for a moment
            raise too_large(file, most_bytes)


def too_large(file: Path, most_bytes: int) -> SubmissionError:
    """The error for wheels that are larger than they may be."""
    what = f"its wheels are larger than {most_bytes / 2**30:.3g} GiB together"
    return SubmissionError(file, what, "pin fewer or smaller ones")


def _size(folder: Path) -> int:
    """The bytes of all files below a folder, while pip writes, renames and removes them."""
    n_bytes = 0
    for parent, _, files in os.walk(folder):  # which passes over folders that are gone, where rglob raises
        for name in files:
            with contextlib.suppress(OSError):
                n_bytes += Path(parent, name).lstat().st_size
    return n_bytes


def _environment(given: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """The environment of pip: the index, proxy and certificates of the person who runs it, no other requirements.

    Constraints are for that person's own packages; they would refuse a system's versions.
    """
    kept = {name: value for name, value in given.items() if name not in _TAKEN_OUT}
    return {**kept, "PIP_CONSTRAINT": os.devnull, "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}


def _pip_command() -> list[str]:
    """The words that start pip: that of this Python, or the one inside its ensurepip. Raises SubmissionError."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-I", "-m", "pip"]
    places = [Path(sysconfig.get_path("stdlib"), "ensurepip", "_bundled"), Path("/usr/share/python-wheels")]
    found = sorted(wheel for place in places if place.is_dir() for wheel in place.glob("pip-*.whl"))
    if not found:
        where = "[environment] requirements"
        raise SubmissionError(where, "this Python has no pip to download wheels with", "python -m ensurepip")
    start = f"import runpy, sys; sys.path.insert(0, {str(found[-1])!r}); runpy.run_module('pip', run_name='__main__')"
    return [sys.executable, "-I", "-c", start]


def _packages_at_fault(said: str, pins: Sequence[PinnedPackage]) -> list[PinnedPackage]:
    """The packages that pip names as the reason; none if there is no connection, where it would name the first."""
    if _OFFLINE.search(said):
        return []
    names = {normalised(name) for name in [*_NO_WHEEL.findall(said), *_OTHER_HASH.findall(said)]}
    return [pin for pin in pins if pin.name in names]


def _fault_of(said: str, pin: PinnedPackage, file: Path) -> SubmissionError:
    where, named = f"{file}:{pin.line}", f"{pin.name}=={pin.version}"
    if "DO NOT MATCH THE HASHES" in said:
        return SubmissionError(where, f"the file of {named} on the index has another hash", "pin the hashes again")
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    what = f"{named} has no wheel for {python} on {sysconfig.get_platform()}, or the index does not have it"
    return SubmissionError(where, what, "pin a version that has one: packages are never built here")


def _failure(said: str, file: Path) -> SubmissionError:
    """The error for a failure that names no package. Addresses in it are left out: they may hold a password."""
    if _OFFLINE.search(said):
        what = "its packages cannot be downloaded: the package index does not answer"
        return SubmissionError(file, what, "is this machine online? pip's settings name the index")
    errors = [line for line in said.splitlines() if line.startswith("ERROR:")] or said.splitlines()[-1:]
    if errors and errors[-1].strip() == _CRASHED:  # the reason is the last line of the traceback that follows
        errors = [line for line in said.splitlines() if line.strip()][-1:]
    last = _ADDRESS.sub("(address)", errors[-1] if errors else "pip wrote no reason")[:300]
    return SubmissionError(file, f"its packages cannot be downloaded: {last}", "check the pins with pip")
