"""What CI and the workflows install: the versions of constraints.txt, each with the hashes of its files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
FILES = ("locked-core.txt", "locked.txt", "locked-dev.txt", "locked-tools.txt", "locked-uv.txt")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
ELSEWHERE = {"colorama", "fasttext-predict-v2", "httpx2-jsfetch", "win32-setctime"}
"""For other machines and Pythons than ours, so that constraints.txt does not name them."""
OF_THE_BUILD = {"hatchling", "trove-classifiers"}
"""What builds our own wheel: in no environment that constraints.txt is about."""
EXTRAS = {"locked-core.txt": (), "locked.txt": ("board", "build"), "locked-dev.txt": ("dev",)}
OUR_OWN = {"edu-rag-bench"}
UNHASHED = {"torch"}
"""PyTorch's builds for CPU and GPU share one version number, so no hash fits all machines."""


def entries(name: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a file with what follows it, as pip reads continued lines."""
    lines = (ROOT / ".ci" / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            first, *hashes = re.split(r"\s+(?=--)", line.strip())
            yield Requirement(first), hashes


def locked(name: str) -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for requirement, _ in entries(name):
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def pinned() -> dict[str, set[str]]:
    """The versions that constraints.txt has of each package."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            found.setdefault(canonicalize_name(pin.name), set()).add(str(pin.specifier))
    return found


def wanted(requirement: Requirement, seen: set[str]) -> set[str]:
    """The names of a package and of all that it needs here, by what is installed."""
    for extra in requirement.extras or {""}:
        key = f"{canonicalize_name(requirement.name)}[{extra}]"
        if key in seen:
            continue
        seen.add(key)
        try:
            below = requires(requirement.name) or []
        except PackageNotFoundError:
            continue
        for one in map(Requirement, below):
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                wanted(one, seen)
    return {key.partition("[")[0] for key in seen}


def declared(extras: dict[str, list[str]], names: Iterable[str]) -> Iterator[str]:
    """The requirements of some extras, and of our extras that they name."""
    for name in names:
        for line in extras[name]:
            requirement = Requirement(line)
            yield from declared(extras, requirement.extras) if requirement.name in OUR_OWN else [line]


@pytest.mark.parametrize("name", FILES)
def test_every_line_pins_one_version_with_hashes_and_nothing_else(name: str) -> None:
    seen = list(entries(name))
    assert seen
    for requirement, hashes in seen:
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert requirement.url is None
        assert hashes, requirement
        assert [one for one in hashes if not HASH.fullmatch(one)] == [], requirement


@pytest.mark.parametrize("name", FILES)
def test_the_versions_are_those_of_constraints(name: str) -> None:
    pins = pinned()
    for package, requirements in locked(name).items():
        versions = {str(requirement.specifier) for requirement in requirements}
        assert versions <= pins.get(package, versions if package in ELSEWHERE | OF_THE_BUILD else set()), package


@pytest.mark.parametrize("name", EXTRAS)
def test_all_that_the_extras_need_is_locked(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = [*project["dependencies"], *declared(project["optional-dependencies"], EXTRAS[name])]
    have, seen = locked(name), set[str]()
    for requirement in map(Requirement, given):
        if requirement.name not in OUR_OWN | UNHASHED and (requirement.marker is None or requirement.marker.evaluate()):
            wanted(requirement, seen)
            held = have[canonicalize_name(requirement.name)]
            version = str(held[0].specifier).removeprefix("==")
            assert requirement.specifier.contains(version), f"{requirement}: run `make lock`"
    assert sorted({key.partition("[")[0] for key in seen} - set(have) - UNHASHED) == []


def test_our_own_wheel_is_built_by_what_is_locked() -> None:
    built_by = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert [str(locked("locked-tools.txt")[Requirement(one).name][0]) for one in built_by] == built_by


def test_ci_installs_by_hash_all_but_pytorch_and_our_own_code() -> None:
    environment = (ROOT / ".ci" / "environment").read_text(encoding="utf-8")
    assert "make_venv; install_locked; touch .venv/.ready-dev" in environment
    body = environment[environment.index("install_locked() {") :].partition("\n}\n")[0]
    run, wheel = ((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "wheel"))
    lines = [line.strip() for line in (body + "\n" + run + wheel).splitlines()]
    installs = [line for line in lines if line.startswith(".ci/pip ") or " -m pip " in line]
    assert sum("-r .ci/locked" in line for line in installs) == 6
    assert [line for line in installs if "--require-hashes" not in line and not line.startswith("check=")] == [
        ".ci/pip .venv/bin/python -c constraints.txt torch",
        ".ci/pip .venv/bin/python --no-build-isolation --no-deps -e .",
        '.ci/pip "$python" --no-deps "$scratch"/dist/*.whl',
    ]
    assert "pip install" not in run + wheel


def _pip(folder: Path, *settings: str, uv_works: bool = True) -> list[str]:
    """What `.ci/pip` calls, with a uv and a pip that write down their arguments and some of their variables."""
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "pip", folder / ".ci" / "pip")
    (folder / ".venv" / "bin").mkdir(parents=True)
    pip, uv = folder / "python", folder / ".venv" / "bin" / "uv"
    pip.write_text(
        '#!/bin/bash\nif [[ "$*" = *"config list" ]]; then cat config; else echo "pip: $*" >> calls; fi\n',
        encoding="utf-8",
    )
    says = 'echo "uv: $* $UV_DEFAULT_INDEX $UV_FIND_LINKS $UV_CONSTRAINT $SSL_CERT_FILE" >> calls'
    uv.write_text(f"#!/bin/bash\n{says}\nexit {0 if uv_works else 1}\n", encoding="utf-8")
    for program in (pip, uv):
        program.chmod(0o755)
    (folder / "config").write_text("".join(f"{line}\n" for line in settings), encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "SSL_"))}
    subprocess.run(["bash", ".ci/pip", "./python", "-r", "some.txt"], cwd=folder, check=True, env=own)
    return [" ".join(line.split()) for line in (folder / "calls").read_text(encoding="utf-8").splitlines()]


BY_UV = "uv: pip install --quiet --python ./python -r some.txt"
BY_PIP = "pip: -m pip --quiet --disable-pip-version-check install --no-compile -r some.txt"


def test_uv_installs_by_pips_settings_and_pip_where_uv_fails(tmp_path: Path) -> None:
    assert _pip(tmp_path / "plain") == [BY_UV]
    settings = (
        ":env:.find-links='/links /more'",
        "global.find-links='/others'",
        "install.index-url='http://files'",
        "global.index-url='http://common'",
        "global.cert='/c.pem'",
        "global.constraint='/most.txt'",
        "global.extra-index-url='\\nfile:///a\\nfile:///b'",
        ":env:.default-timeout='180'",
    )
    assert _pip(tmp_path / "settings", *settings) == [f"{BY_UV} http://files /links,/more /most.txt /c.pem"]
    assert _pip(tmp_path / "fails", uv_works=False) == [BY_UV, BY_PIP]


@pytest.mark.parametrize("name", ["no-index", "proxy", "trusted-host", "client-cert", "no-binary", "new"])
def test_pip_installs_where_it_has_a_setting_that_uv_does_not_get(tmp_path: Path, name: str) -> None:
    assert _pip(tmp_path / "env", f":env:.{name}='1'") == [BY_PIP]
    assert _pip(tmp_path / "file", f"install.{name}='1'") == [BY_PIP]
