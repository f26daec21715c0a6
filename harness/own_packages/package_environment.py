"""An environment of a submission's pinned packages: made once, kept in the cache, compared with its wheels at each use.

The requirements file names the hashes of the wheels, and the wheels hold the files. The cache keeps the wheels next to
the files, so that any change of a cached file is found.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from edu_rag.errors import ConfigError, EduRagError, FaultsError, SubmissionError
from edu_rag.files.manifest import file_sha256
from edu_rag.progress import say
from harness.own_packages.fetch_wheels import FetchWheels, pip_download, too_large
from harness.own_packages.requirements_file import PinnedPackage, read_requirements
from harness.own_packages.wheel_files import WheelFile, files_of

GIB = 1 << 30
FORMAT = "packages-v1"
_CHUNK = 1 << 20
_OTHERS_MAY_WRITE = 0o022


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageCaps:
    """Caps on the packages of one system: bytes of the wheels, and bytes and number of the unpacked files."""

    wheel_bytes: int = 2 * GIB
    unpacked_bytes: int = 4 * GIB
    n_files: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageEnvironment:
    """The folder of a system's packages, how many they are, and the key of the requirements on this Python."""

    site: Path
    n_packages: int
    key: str

    @property
    def facts(self) -> Mapping[str, Any]:
        """The packages as a run's record names them."""
        return {"n_packages": self.n_packages, "packages_sha256": self.key}


def key_of(pins: Sequence[PinnedPackage]) -> str:
    """SHA-256 over the pins, the version and kind of Python, and the platform."""
    python = (FORMAT, sys.implementation.cache_tag or "", sys.version, sysconfig.get_platform())
    lines = "".join(f"{one}\n" for one in (*python, *(pin.requirement for pin in pins)))
    return hashlib.sha256(lines.encode()).hexdigest()


@contextmanager
def environment_of(
    requirements: Path,
    cache: Path | None,
    *,
    fetch: FetchWheels = pip_download,
    caps: PackageCaps | None = None,
) -> Iterator[PackageEnvironment]:
    """The environment of a requirements file, from the cache's folder or made there; without one it is temporary.

    Raises FaultsError or SubmissionError for the file, its packages and their wheels, ConfigError for the folder.
    """
    pins = read_requirements(requirements)
    work = _Work(requirements, pins, fetch, caps or PackageCaps())
    with contextlib.ExitStack() as stack:
        root = (
            _root(cache)
            if cache
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edu-rag-packages-")))
        )
        key = key_of(pins)
        entry = root / key
        with _locked(root / f"{key}.lock"):
            use = _opened(stack, root / f"{key}.used") if os.path.lexists(entry) else None
            if use is not None and (changed := work.changed(entry)):
                _require_unused(use, entry, changed)
                say(f"{entry}: {changed}: made again")
                _remove(entry)
            if not entry.exists():
                work.make(entry)
            fcntl.flock(_opened(stack, root / f"{key}.used") if use is None else use, fcntl.LOCK_SH)
        yield PackageEnvironment(site=entry / "site", n_packages=len(list((entry / "wheels").iterdir())), key=key)


def _root(cache: Path) -> Path:
    """The folder of the environments. Raises ConfigError if others may write to it."""
    root = cache / FORMAT
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o755)
        found = root.lstat()
    except OSError as error:
        raise ConfigError(root, error.strerror or str(error), "set EDU_RAG_CACHE to a folder of yours") from None
    if root.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE:
        what = "belongs to another user, or others may write to it"
        raise ConfigError(root, what, "remove it, or set EDU_RAG_CACHE to a folder of yours")
    return root


def _opened(stack: contextlib.ExitStack, path: Path) -> int:
    """A file to lock, until the stack is closed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


def _require_unused(use: int, entry: Path, changed: str) -> None:
    """Raise ConfigError if a run uses the environment: it must not be removed under it."""
    try:
        fcntl.flock(use, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        what = f"{changed}, and another run uses these packages"
        raise ConfigError(entry, what, "wait until it has ended, then run this again") from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """While entered, no other run makes or checks the same environment; a second one waits, and finds it made."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{path}: another run makes or checks these packages: waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove(entry: Path) -> None:
    """Remove what is at a place; of a link the link alone."""
    if entry.is_symlink() or not entry.is_dir():
        entry.unlink()
    else:
        shutil.rmtree(entry)


class _Wheel(NamedTuple):
    """A wheel, the pin that names its hash, and its files."""

    path: Path
    pin: PinnedPackage
    files: Sequence[WheelFile]


class _Work:
    """Making and checking the environment of one requirements file."""

    def __init__(self, file: Path, pins: Sequence[PinnedPackage], fetch: FetchWheels, caps: PackageCaps) -> None:
        self._file, self._pins, self._fetch, self._caps = file, pins, fetch, caps

    def make(self, entry: Path) -> None:
        """Download, check and unpack under a temporary name; renamed at the end, so that it is whole or missing."""
        say(f"{self._file}: downloading {len(self._pins):,} package(s); their code is not run")
        for left in entry.parent.glob(f".{entry.name}.*"):  # of a run that was killed: we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=entry.parent))
        try:
            (made / "wheels").mkdir()
            self._fetch(self._pins, made / "wheels", self._file, self._caps.wheel_bytes)
            if sum(path.lstat().st_size for path in (made / "wheels").iterdir()) > self._caps.wheel_bytes:
                raise too_large(self._file, self._caps.wheel_bytes)
            self._unpack(made)
            _open_to_readers(made)
            made.rename(entry)
        except OSError as error:
            raise ConfigError(
                entry.parent, error.strerror or str(error), "free space there, or set EDU_RAG_CACHE"
            ) from None
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def changed(self, entry: Path) -> str:
        """How a cached environment differs from its wheels, and these from the pins; '' if it does not."""
        try:
            if any(path.is_symlink() or not path.is_dir() for path in (entry, entry / "site", entry / "wheels")):
                return "is not a folder of packages"
            listed = self._listed(entry)
            places = {str(path) for wheel in listed for file in wheel.files for path in _with_parents(file.place)}
            odd = next((name for name in _names_below(entry / "site") if name not in places), None)
            if odd is not None:
                return f"{odd[:80]!a} is not in any of its wheels"
            return next((f"{file.place[:80]!a} was changed" for file in _changed_files(entry / "site", listed)), "")
        except (EduRagError, OSError, zipfile.BadZipFile, zlib.error) as error:
            return str(error).replace("\n", "; ")

    def _listed(self, folder: Path) -> list[_Wheel]:
        """The wheels of a folder that the pins name, with their files. Raises SubmissionError or FaultsError."""
        by_hash = {one: pin for pin in self._pins for one in pin.sha256}
        pinned: list[tuple[Path, PinnedPackage]] = []
        for wheel in sorted((folder / "wheels").iterdir()):
            pin = None if wheel.is_symlink() or not wheel.is_file() else by_hash.get(file_sha256(wheel))
            if pin is None or wheel.suffix != ".whl" or pin in (one for _, one in pinned):
                raise SubmissionError(self._file, f"{wheel.name[:80]!a} is not a wheel that it pins", "pin it again")
            pinned.append((wheel, pin))
        here = {pin.name for _, pin in pinned}
        missing = [pin for pin in self._pins if pin.name not in here and not pin.marker]
        if missing:
            raise FaultsError(
                [
                    SubmissionError(f"{self._file}:{pin.line}", f"{pin.name} is missing", "pin it again")
                    for pin in missing
                ]
            )
        listed = files_of(pinned, self._file)
        self._require_small([file for files in listed for file in files])
        return [_Wheel(wheel, pin, files) for (wheel, pin), files in zip(pinned, listed, strict=True)]

    def _require_small(self, files: Sequence[WheelFile]) -> None:
        n_bytes = sum(file.n_bytes for file in files)
        if len(files) > self._caps.n_files:
            what = f"its packages have {len(files):,} files, and {self._caps.n_files:,} is the most"
            raise SubmissionError(self._file, what, "pin fewer or smaller ones")
        if n_bytes > self._caps.unpacked_bytes:
            what = (
                f"its packages take {n_bytes / GIB:.3g} GiB, and {self._caps.unpacked_bytes / GIB:.3g} GiB is the most"
            )
            raise SubmissionError(self._file, what, "pin fewer or smaller ones")

    def _unpack(self, folder: Path) -> None:
        """Write the files of all wheels below `site`. Raises SubmissionError if two differ about a file."""
        site = folder / "site"
        site.mkdir()
        for wheel in self._listed(folder):
            with zipfile.ZipFile(wheel.path) as archive:
                for file in wheel.files:
                    self._unpack_file(archive, file, site / file.place, wheel.pin)

    def _unpack_file(self, archive: zipfile.ZipFile, file: WheelFile, path: Path, pin: PinnedPackage) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(file.member) as source:
                # Several wheels may bring the same file, such as an empty tests/__init__.py.
                if path.is_file() and _is_same(source, path):
                    return
                with path.open("xb") as target:
                    shutil.copyfileobj(source, target, _CHUNK)
            path.chmod(0o755 if file.is_program else 0o644)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            what = f"the wheel of {pin.name} would write over another package's {file.place[:80]!a}"
            raise SubmissionError(f"{self._file}:{pin.line}", what, "pin only one of the two packages") from None
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, zlib.error) as error:
            what = f"the wheel of {pin.name} is damaged: {str(error)[:80]}"
            raise SubmissionError(f"{self._file}:{pin.line}", what, "pin another version") from None


def _open_to_readers(folder: Path) -> None:
    """Let every user enter its folders: started by root, a system runs as user `nobody`."""
    for parent, _, _ in os.walk(folder):
        Path(parent).chmod(0o755)


def _with_parents(place: str) -> Iterator[PurePosixPath]:
    yield PurePosixPath(place)
    yield from PurePosixPath(place).parents


def _names_below(site: Path) -> Iterator[str]:
    """Everything below a folder, by relative name."""
    for parent, folders, files in os.walk(site):
        for name in [*files, *folders]:
            yield str(Path(parent, name).relative_to(site))


def _changed_files(site: Path, listed: Sequence[_Wheel]) -> Iterator[WheelFile]:
    """The files that are not, byte by byte, those of the wheels."""
    for wheel in listed:
        with zipfile.ZipFile(wheel.path) as archive:
            for file in wheel.files:
                path = site / file.place
                if path.is_symlink() or not path.is_file():
                    yield file
                    continue
                with archive.open(file.member) as source:
                    if not _is_same(source, path):
                        yield file


def _is_same(source: IO[bytes], path: Path) -> bool:
    """Whether a stream holds exactly the bytes of a file."""
    with path.open("rb") as stream:
        while True:
            expected = source.read(_CHUNK)
            if stream.read(len(expected) or 1) != expected:
                return False
            if not expected:
                return True
