"""What the workflows install: the versions of constraints.txt, each with the hashes of its files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
FILES = ("locked.txt", "locked-tools.txt")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
ELSEWHERE = {"colorama", "fasttext-predict-v2", "httpx2-jsfetch"}
"""For other machines and Pythons than ours, so that constraints.txt does not name them."""
OF_THE_BUILD = {"hatchling", "trove-classifiers"}
"""What builds our own wheel: in no environment that constraints.txt is about."""
EXTRAS = ("board", "build")


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


@pytest.mark.parametrize("name", FILES)
def test_every_line_pins_one_version_with_hashes_and_nothing_else(name: str) -> None:
    seen = list(entries(name))
    assert len(seen) > 4
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


def test_all_that_the_extras_of_the_workflows_need_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    have, seen = locked("locked.txt"), set[str]()
    for requirement in map(Requirement, given):
        if requirement.marker is None or requirement.marker.evaluate():
            wanted(requirement, seen)
            held = have[canonicalize_name(requirement.name)]
            version = str(held[0].specifier).removeprefix("==")
            assert requirement.specifier.contains(version), f"{requirement}: run `make lock`"
    assert sorted({key.partition("[")[0] for key in seen} - set(have)) == []


def test_our_own_wheel_is_built_by_what_is_locked() -> None:
    built_by = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert [str(locked("locked-tools.txt")[Requirement(one).name][0]) for one in built_by] == built_by
