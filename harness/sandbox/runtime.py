"""What a system sees outside its folder: programs, the interpreter, models, and our code for systems."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import SandboxError
from edu_rag.files.sentence_vectors import FILES, VARIABLE
from harness.named_network.bridge import PORT

HOME = Path(__file__).resolve().parents[2]
"""The folder of our packages."""
FOR_SYSTEMS = ("edu_rag", "baselines")
NOT_FOR_SYSTEMS = ("harness", "builder", "leaderboard", "publishing")
WITH_GOLD = "edu_rag/mini"
"""The demo's questions with their answers."""
APP = Path("/app")
ETC = Path("/etc")
_ALTERNATIVES = ETC / "alternatives"
"""Debian's /usr/bin/awk leads there."""
_OF_PYTHON = ("bin", "lib", "lib32", "lib64", "libexec", "include", "share", "ssl", "pyvenv.cfg")
_OF_USR = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share", "include")
"""Not /usr/src, where some images keep their working files."""
_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PLACES = ("EDU_RAG_CACHE", "TMPDIR", "PATH", "HOME", "PYTHONPATH", "EDU_RAG_MODELS", VARIABLE, "HF_HOME")
"""Variables that name a place outside the sandbox; inside, the place is another or does not exist."""


class Mount(NamedTuple):
    """A folder or file outside and its place inside, where it can only be read."""

    source: Path
    place: Path


class Runtime(NamedTuple):
    """`mounts` in the order of mounting, `links` inside as (place, target), `covered` folders that appear empty."""

    mounts: tuple[Mount, ...]
    links: tuple[tuple[Path, str], ...]
    covered: tuple[Path, ...]
    environment: Mapping[str, str]


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _both(path: Path) -> Iterator[Mount]:
    """A folder or file at the path given and at its real path: links lead to either."""
    real = path.resolve()
    if real.exists():
        yield from dict.fromkeys((Mount(real, path), Mount(real, real)))


def _top() -> tuple[list[Mount], list[tuple[Path, str]]]:
    """The parts of /usr with their links in /; on machines that have folders there instead, those."""
    mounts, links = [], []
    if _ALTERNATIVES.is_dir():
        mounts.append(Mount(_ALTERNATIVES.resolve(), _ALTERNATIVES))
    for folder in (Path("/usr"), Path("/usr/local")):
        mounts += [Mount(path, path) for path in (folder / name for name in _OF_USR) if path.is_dir()]
    for path in (Path("/") / name for name in _TOP):
        if path.is_symlink():
            links.append((path, str(path.readlink())))
        elif path.is_dir():
            mounts.append(Mount(path, path))
    return mounts, links


def _prefixes() -> Iterator[Mount]:
    """Python's own files in its folders: a checkout, a home or the whole machine may be next to them (`/`)."""
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        for name in _OF_PYTHON if Path(prefix) != Path("/") else ():  # there its parts are those of `_top`
            yield from _both(Path(prefix) / name)


def _model_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, Path, list[Path]]]:
    """The variable that names a folder of models, the folder, and the parts of it that are mounted.

    Only models of the Hub's cache: datasets, perhaps this one with its gold, and the user's token are next to them.
    """
    cache = Path(environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "/nonexistent")) / ".cache")
    models = Path(environment.get("EDU_RAG_MODELS") or cache / "edu-rag" / "models")
    hub = Path(environment.get("HF_HOME") or cache / "huggingface")
    for name, folder, shown in (
        ("EDU_RAG_MODELS", models, [models]),
        ("HF_HOME", hub, sorted((hub / "hub").glob("models--*")) if hub.is_dir() else []),
    ):
        if folder.is_dir():
            yield name, Path(os.path.abspath(folder)), [Path(os.path.abspath(path)) for path in shown]  # noqa: PTH100


def _ours(mounted: Collection[Path]) -> tuple[list[Mount], list[Path]]:
    """Our packages that systems may import, and our other files that must be covered.

    A checkout inside a mounted folder (an image that works in /usr/src) is covered as a whole first.
    """
    # Our own first: an editable install may find the package by a hook, so that sys.path does not name its folder.
    places = (HOME, *(Path(entry or ".").resolve() for entry in sys.path))
    covered = [place / WITH_GOLD for place in places if (place / WITH_GOLD).is_dir()]
    mine = [HOME / name for name in FOR_SYSTEMS]
    if not _within(HOME, mounted):
        return [Mount(path, path) for path in mine], covered
    if HOME.name in ("site-packages", "dist-packages"):
        return [], [*covered, *(HOME / name for name in NOT_FOR_SYSTEMS if (HOME / name).is_dir())]
    return [Mount(path, path) for path in mine], [HOME, *covered]


def _at_all_places(covered: Iterable[Path], mounts: Collection[Mount]) -> Iterator[Path]:
    """The covered folders under all their names: a folder that is reached by a link is mounted there too."""
    for folder in covered:
        yield folder
        for mount in mounts:
            if _within(folder, [mount.source]):
                yield mount.place / folder.relative_to(mount.source)


def _path_inside() -> str:
    own = [str(Path(sys.prefix) / "bin")]
    return os.pathsep.join([*own, "/usr/local/bin", "/usr/bin", "/bin"])


def runtime_of(environment: Mapping[str, str]) -> Runtime:
    """The mounts for a system that gets `environment`, and the environment inside."""
    mounts, links = _top()
    for mount in _prefixes():
        if not _within(mount.place, [m.place for m in mounts]):
            mounts.append(mount)
    inside = {name: value for name, value in environment.items() if name not in _PLACES}
    for variable, folder, shown in _model_folders(environment):
        inside[variable] = str(folder)
        mounts += [
            mount for path in shown for mount in _both(path) if not _within(mount.place, [m.place for m in mounts])
        ]
    packages, covered = _ours([mount.place for mount in mounts])
    inside |= {"PATH": _path_inside(), "HOME": "/tmp", "HF_HUB_OFFLINE": "1"}  # noqa: S108 - the sandbox's own
    if packages:
        inside["PYTHONPATH"] = str(HOME)
    everywhere = dict.fromkeys(_at_all_places(covered, [*mounts, *packages]))
    return Runtime((*mounts, *packages), tuple(links), tuple(everywhere), inside)


PACKAGES = Path("/packages")
"""Where a system's own packages are mounted."""


def with_packages(runtime: Runtime, site: Path) -> Runtime:
    """A runtime with a system's own packages: before the packages of our environment, after our own code."""
    path = os.pathsep.join(filter(None, (runtime.environment.get("PYTHONPATH", ""), str(PACKAGES))))
    inside = {**runtime.environment, "PYTHONPATH": path}
    return runtime._replace(mounts=(*runtime.mounts, Mount(site, PACKAGES)), environment=inside)


VECTORS_PLACE = Path("/vectors")
"""Where a dataset's sentence vectors are mounted."""


def with_vectors(runtime: Runtime, folder: Path) -> Runtime:
    """A runtime that shows the files of sentence vectors in a dataset's folder, and nothing else of that folder."""
    names = [Path(name).name for name in FILES]
    mounts = [Mount(folder.resolve() / name, VECTORS_PLACE / name) for name in names]
    inside = {**runtime.environment, VARIABLE: str(VECTORS_PLACE)}
    return runtime._replace(mounts=(*runtime.mounts, *mounts), environment=inside)


NETWORK = Path("/network")
"""Where the socket of the proxy to granted hosts is mounted, with the program that leads to it."""
_DIRECT = "127.0.0.1,localhost,::1"


def with_network(runtime: Runtime, folder: Path) -> Runtime:
    """A runtime that leads to a proxy's folder: programs find the proxy by the usual variables, in both spellings."""
    proxy = f"http://127.0.0.1:{PORT}"
    given = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": _DIRECT}
    inside = {**runtime.environment, **given, **{name.lower(): value for name, value in given.items()}}
    return runtime._replace(mounts=(*runtime.mounts, Mount(folder, NETWORK)), environment=inside)


def _shows(runtime: Runtime, place: Path) -> bool:
    """Whether a place inside is visible. The innermost folder decides: packages are mounted in a covered checkout."""
    steps = [(len(mount.place.parts), 0) for mount in runtime.mounts if _within(place, [mount.place])]
    steps += [(len(cover.parts), 1) for cover in runtime.covered if _within(place, [cover])]
    return bool(steps) and max(steps)[1] == 0


def require_hidden(runtime: Runtime, hidden: Iterable[Path], submission: Path | None = None) -> None:
    """Raise SandboxError if a folder that holds answers would be visible inside, or in the copy of a submission."""
    for folder in hidden:
        real = folder.resolve()
        if submission is not None and _within(real, [submission.resolve()]):
            raise SandboxError(folder, "is inside the submission, which gets a copy of it", "move it elsewhere")
        for mount in runtime.mounts:
            if _within(real, [mount.source]) and _shows(runtime, mount.place / real.relative_to(mount.source)):
                what = f"is inside {mount.source}, which a system in the sandbox can read"
                raise SandboxError(folder, what, "move it elsewhere, such as next to the submission")
            if _within(mount.source, [real]):
                what = f"holds {mount.source}, which a system in the sandbox can read"
                raise SandboxError(folder, what, "move it to a separate folder")
