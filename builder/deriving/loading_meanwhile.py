"""Loads the libraries that write a dataset while workers extract its pages: afterwards all but one core would wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread

LIBRARIES = ("pyarrow.parquet", "matplotlib.figure", "matplotlib.backends.backend_svg")


def _load() -> None:
    with suppress(ImportError):  # a library that is missing is named where it is used
        for library in LIBRARIES:
            import_module(library)
        import_module("pyarrow").array([""])  # pyarrow looks for pandas, and loads it, at its first array


@contextmanager
def loading_meanwhile() -> Iterator[None]:
    """While entered, load the libraries in a thread; the end waits for it."""
    thread = Thread(target=_load, name="load-libraries")
    thread.start()
    try:
        yield
    finally:
        thread.join()
