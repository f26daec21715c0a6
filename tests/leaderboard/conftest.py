"""The two sites that tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_site import build_hostile
from whole_site import build_whole

BuiltOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def whole_site(built_once: BuiltOnce) -> Path:
    """A site with every kind of page."""
    return built_once("whole", build_whole) / "site"


@pytest.fixture(scope="session")
def enemy_site(built_once: BuiltOnce) -> Path:
    """A site with an enemy's texts in every field."""
    return built_once("enemy", build_hostile) / "site"
