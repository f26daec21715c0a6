"""What the tests of the site share: a real browser, Debian's Chromium driven by playwright, and two sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_site import build_hostile
from real_browser import launched
from whole_site import build_whole

BuiltOnce = Callable[[str, Callable[[Path], object]], Path]


# Not of the whole session: while playwright's loop runs, no other test of the process can start one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from launched()


@pytest.fixture(scope="session")
def whole_site(built_once: BuiltOnce) -> Path:
    """A site with every kind of page."""
    return built_once("whole", build_whole) / "site"


@pytest.fixture(scope="session")
def enemy_site(built_once: BuiltOnce) -> Path:
    """A site with an enemy's texts in every field."""
    return built_once("enemy", build_hostile) / "site"
