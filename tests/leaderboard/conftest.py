"""What the tests of the site share: a real browser, Debian's Chromium driven by playwright, and a whole site."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_browser import launched
from whole_site import build_whole


# Not of the whole session: while playwright's loop runs, no other test of the process can start one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from launched()


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with every kind of page, which no test changes: the first process that needs it builds it for all."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "whole.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole" / "site").exists():
            build_whole(folder / "whole")
    return folder / "whole" / "site"
