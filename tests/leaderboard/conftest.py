"""What the tests of the site share: a real browser, Debian's Chromium driven by playwright."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from real_browser import launched


# Not of the whole session: while playwright's loop runs, no other test of the process can start one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from launched()
