"""The pinned versions, held against what pyproject.toml promises."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]


def pins(python: str) -> Iterator[Requirement]:
    """What constraints.txt pins for a version of Python."""
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            place = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
            if pin.marker is None or pin.marker.evaluate(place):
                yield pin


def test_every_version_that_is_pinned_installs_on_the_oldest_python_that_is_promised() -> None:
    """Debian 12 has 3.11.2; a pin that asks for 3.11.5 made `make demo` fail there."""
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = promised.removeprefix(">=") + ".0"
    refused, n_seen = [], 0
    for pin in pins(oldest):
        try:
            installed = metadata(pin.name)
        except PackageNotFoundError:
            continue
        if pin.specifier.contains(installed["Version"]):  # another version is pinned for an older Python
            n_seen += 1
            if not SpecifierSet(installed["Requires-Python"] or "").contains(oldest):
                refused.append(f"{pin}: {installed['Requires-Python']}")
    assert refused == []
    assert n_seen > 50


def test_each_package_is_pinned_once_for_any_python() -> None:
    for python in ("3.11.0", "3.11.2", "3.11.9", "3.12.4", "3.13.0"):
        names = [pin.name.lower().replace("_", "-") for pin in pins(python)]
        assert len(names) == len(set(names))


def test_the_page_to_ask_systems_is_tested_with_the_versions_that_its_users_get() -> None:
    """`pip install '.[try]' -c constraints.txt` once found no Gradio for the pinned Pillow."""
    lines = (ROOT / ".ci" / "frameworks-try.txt").read_text().splitlines()
    tested = {pin.name: str(pin.specifier) for pin in map(Requirement, lines[1:])}
    pinned = {pin.name.lower().replace("_", "-"): str(pin.specifier) for pin in pins("3.11.0")}
    assert {name: version for name, version in tested.items() if pinned.get(name) != version} == {}
    assert "gradio" in tested
