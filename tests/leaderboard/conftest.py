"""What the tests of the site share: a real browser, Debian's Chromium driven by playwright, and two sites."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_site import build_hostile
from real_browser import launched
from whole_site import build_whole


# Not of the whole session: while playwright's loop runs, no other test of the process can start one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from launched()


def _built_once(paths: pytest.TempPathFactory, name: str, build: Callable[[Path], Path]) -> Path:
    """A site that no test changes: the first process that needs it builds it for all."""
    folder = paths.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / f"{name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / name / "site").exists():
            build(folder / name)
    return folder / name / "site"


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with every kind of page."""
    return _built_once(tmp_path_factory, "whole", build_whole)


@pytest.fixture(scope="session")
def enemy_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with an enemy's texts in every field."""
    return _built_once(tmp_path_factory, "enemy", build_hostile)
