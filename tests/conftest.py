"""Fixtures that all tests share, and the markers that say what a test needs."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import gc
import inspect
import linecache
import os
import re
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from real_browser import SharedBrowser

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


SLOW_TESTS = Path(__file__).with_name("slow_tests.txt")
"""Tests that took a fifth of a second or more when they were last measured: bench/slow_tests.py writes it."""
LONG_FILES = Path(__file__).with_name("long_files.txt")
"""Seconds that the tests of a file took together, of files that took long: bench/slow_tests.py writes it."""
FIXTURES = {
    "browser": "browser",
    "sandbox_here": "sandbox",
    "terminal_signals": "process",
    "encoder": "model",
    "in_models": "model",
    "smollm2": "model",
    "by_numpy": "model",
    "by_openvino": "model",
    "qwen2": "model",
    "by_transformers": "model",
}
"""Fixtures that need something, and the marker of each."""
WORDS = {
    "process": ("subprocess.", "Popen(", "multiprocessing", "os.fork"),
    "model": (
        "LocalModel(",
        "local_model(",
        "LlamaCppModel(",
        "OpenVinoModel(",
        "Encoder(",
        "Encoder.default",
        "SentenceTransformer(",
        "fine_tuned(",
    ),
    "browser": ("chromium",),
}
"""What in the text of a test function shows a need."""
NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
"""Whether the exhaustive forms of tests run too: `make nightly`."""
N_EXAMPLES = 200 if NIGHTLY else 50
"""Examples that hypothesis draws where a test does not say how many."""
# Tests import PyTorch themselves too, before our code can say how its threads wait (baselines.models).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# No test fails because the machine is busy.
hypothesis.settings.register_profile(
    "tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], max_examples=N_EXAMPLES
)
hypothesis.settings.load_profile("tests")


LONG = ("browser", "sandbox", "model", "process", "slow")
"""Markers of tests that take long. Files with such tests run first, so that no core waits for the last of them."""
LONG_TEST_S = 0.5
"""What such a test is taken to need where its file is not among LONG_FILES."""


def pytest_xdist_auto_num_workers() -> int:
    """Three processes more than there are cores: while some wait for a browser, a server or a sandbox, others work.

    With one more, a quarter of two cores was idle, with two more still a sixth. The one with models takes 1.7 GB.
    """
    return (os.cpu_count() or 1) + 3


WITH_PYTORCH = {
    *(f"tests/baselines/test_baselines_{name}.py" for name in ("chunk", "classify", "embed", "embed_back_ends")),
    *(
        f"tests/baselines/test_baselines_{name}.py"
        for name in ("graph", "language_models", "openvino", "rerank", "verify")
    ),
    *("tests/test_batch_server.py", "tests/test_paper_training.py"),
    *("tests/builder/test_builder_embedded_support.py", "tests/builder/test_builder_evidence_methods.py"),
}
"""Files whose tests import PyTorch, most of them sentence-transformers too. One process runs them all: the imports take
each process that needs them six to nine seconds of processor time and 300 MB."""


@functools.cache
def _opens_pages(file: Path) -> bool:
    """Whether tests of a file open pages in a browser. One process runs all such files, with one browser."""
    return "browser: Any" in file.read_text(encoding="utf-8")


_IMPORTS_SCIPY = re.compile(r"^ +(?:from|import) (?:scipy|sklearn|statsmodels)\b", re.MULTILINE)


@functools.cache
def _compares_with_scipy(file: Path) -> bool:
    """Whether tests of a file compare numbers with those of libraries whose import takes one to three seconds."""
    return _IMPORTS_SCIPY.search(file.read_text(encoding="utf-8")) is not None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where files are given out, give those with PyTorch to one process, those with a browser and those with SciPy."""
    from xdist.scheduler import LoadFileScheduling  # it runs in the process that gives out files

    class FilesScheduling(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist's has no types
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file in WITH_PYTORCH:
                return "with PyTorch"
            if _opens_pages(config.rootpath / file):
                return "with a browser"
            return "with SciPy" if _compares_with_scipy(config.rootpath / file) else file

    return FilesScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@functools.cache
def _text(function: Callable[..., object]) -> str:
    """The lines of a function; inspect.getsource reads them token by token, which takes seconds over all tests."""
    code = inspect.unwrap(function).__code__
    last = max(line for *_, line in code.co_lines() if line is not None)
    return "".join(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : last])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is imported and collected out of the garbage collector.

    Each of its full runs would walk a million objects that stay until the end, in this process and in all its forks.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the markers of its needs: by its fixtures, by its own text, and by the measured list."""
    slow = frozenset(SLOW_TESTS.read_text(encoding="utf-8").split())
    for item in items:
        found = {FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES}
        if isinstance(item, pytest.Function):
            text = _text(item.function)
            found |= {marker for marker, words in WORDS.items() if any(word in text for word in words)}
        if item.nodeid.partition("[")[0] in slow:
            found.add("slow")
        for marker in sorted(found):
            item.add_marker(marker)
        if item.get_closest_marker("nightly") and not NIGHTLY:
            item.add_marker(pytest.mark.skip(reason="an exhaustive form: `make nightly` runs it"))
    _with_models.update(item.path for item in items if item.get_closest_marker("model"))
    seconds = _seconds(items)
    items.sort(key=lambda item: -seconds[item.path])


def _seconds(items: Sequence[pytest.Item]) -> Counter[Path]:
    """About how long the tests of each file take, as measured or by their markers."""
    root = Path(__file__).parents[1]
    lines = (line.split() for line in LONG_FILES.read_text(encoding="utf-8").splitlines())
    measured = {root / name: float(said) for said, name in lines}
    long = [item.path for item in items if any(item.get_closest_marker(marker) for marker in LONG)]
    found = Counter({path: LONG_TEST_S * n for path, n in Counter(long).items()})
    return found | Counter(measured)


_with_models: set[Path] = set()
"""Files with tests that load models."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After a file with models, give their memory back: later forks would copy the tables of all its pages.

    A bounded child of a process of 1.4 GB takes 54 ms of processor time, of one of 300 MB 14 ms.
    """
    if item.path in _with_models and nextitem is not None and nextitem.path != item.path:
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
        if trim is not None:
            trim(0)


@pytest.fixture(scope="session", autouse=True)
def cache_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test fills the user's caches, nor does a fixture of the whole session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDU_RAG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


_shared_browser = SharedBrowser()


@pytest.fixture(scope="session")
def browsers() -> Iterator[SharedBrowser]:
    yield _shared_browser
    _shared_browser.close()


@pytest.fixture(scope="module")
def browser(browsers: SharedBrowser) -> Iterator[Any]:
    """A browser without pages."""
    found = browsers.open()
    yield found
    for context in found.contexts if found.is_connected() else ():
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Close the browser behind the files that need it: other tests cannot have an event loop while it is open."""
    try:
        return (yield)
    finally:
        if _opens_pages(item.path) and nextitem is not None and not _opens_pages(nextitem.path):
            _shared_browser.close()


@pytest.fixture(scope="session")
def built_once(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Callable[[str, Callable[[Path], object]], Path]:
    """Gives a folder that no test changes: the first process that needs it builds it for all."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if hasattr(pytestconfig, "workerinput") else own  # pytest-xdist's processes have one parent

    def built(name: str, build: Callable[[Path], object]) -> Path:
        with (shared / f"{name}.lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                if not (shared / name).exists():
                    new = own / f"new-{name}"
                    shutil.rmtree(new, ignore_errors=True)  # of a build that failed
                    build(new)
                    new.rename(shared / name)
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)  # a child that still has the file open would keep the lock
        return shared / name

    return built


@pytest.fixture(scope="session")
def bundled_build(built_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The bundled mini benchmark as a build makes it: `dataset`, and its crawl store beside it."""

    def build_bundled(folder: Path) -> None:
        from builder.build import build
        from builder.config import read_config
        from edu_rag.bundled import MINI

        folder.mkdir()
        build([MINI / "questions.jsonl"], folder / "dataset", read_config(MINI / "build.toml", {}))

    return built_once("bundled", build_bundled)


_before: set[threading.Thread] = set()
"""The threads that were there before the test: pytest-xdist's own, and what libraries leave behind."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Remember the threads that are not the test's."""
    _before.clear()
    _before.update(threading.enumerate())


@pytest.fixture(scope="session", autouse=True)
def fork_beside_other_threads() -> Iterator[None]:
    """Bounded children are forks, as in real use, although pytest-xdist has a thread that waits for the next test.

    Such threads wait, and hold no lock that a child takes. A fresh interpreter would cost each child 0.3 s.
    """
    from edu_rag.processes import bounded_child

    def can_fork() -> bool:
        return sys.platform == "linux" and _before.issuperset(threading.enumerate())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_child, "can_fork", can_fork)
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
