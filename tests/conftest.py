"""Fixtures that all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def cache_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test fills the user's caches, nor does a fixture of the whole session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDU_RAG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test data that lies beside the checkout; it is not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("NOT RUN: the real test data (shared/data beside the checkout) is not on this machine")
    return SHARED_DATA


@pytest.fixture
def terminal_signals() -> Iterator[None]:
    """Signals as a terminal leaves them for the processes that a test starts.

    A shell starts background jobs with SIGINT ignored, and nohup ignores SIGHUP; children inherit both.
    """
    kinds = (signal.SIGINT, signal.SIGHUP)
    before = [signal.getsignal(kind) for kind in kinds]
    for kind, handler in zip(kinds, before, strict=True):
        if handler is signal.SIG_IGN:
            signal.signal(kind, signal.default_int_handler)  # a handler becomes the default action in a child
    yield
    for kind, handler in zip(kinds, before, strict=True):
        signal.signal(kind, handler)
