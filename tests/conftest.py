"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test data that lies beside the checkout; it is not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("NOT RUN: the real test data (shared/data beside the checkout) is not on this machine")
    return SHARED_DATA
