"""Copies, to change as a test likes, of what its module built once.

The module's own fixture `made` is a folder with `web` (sites, questions) and the dataset `ds` built from it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builder.store.store_folder import store_folder


@pytest.fixture
def web(made: Path, tmp_path: Path) -> Path:
    """The web's folder."""
    return Path(shutil.copytree(made / "web", tmp_path / "web"))


@pytest.fixture
def ds(made: Path, tmp_path: Path) -> Path:
    """The built dataset's folder, its crawl store beside it."""
    shutil.copytree(store_folder(made / "ds"), store_folder(tmp_path / "ds"))
    return Path(shutil.copytree(made / "ds", tmp_path / "ds"))
