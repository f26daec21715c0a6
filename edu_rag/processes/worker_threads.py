"""Work on many items by threads, for requests that wait on a server; the results come in the order of the items.

After Ctrl-C the requests in flight are waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
MAX_WORKERS = 64


def in_order(work: Callable[[T], R], items: Sequence[T], n_workers: int = 1) -> Iterator[R]:
    """The result of each item, in order. After an error or Ctrl-C no further item is begun."""
    if n_workers == 1:  # in this thread, so that Ctrl-C need not wait for a reply
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor  # here, since commands that use no thread import this module

    pool = ThreadPoolExecutor(n_workers)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)


class KeyLocks:
    """One lock a key: of threads with the same request, one asks and the others find its reply."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, threading.Lock] = {}
        self._turn = threading.Lock()

    def of(self, key: Hashable) -> threading.Lock:
        """The lock of a key."""
        with self._turn:
            return self._locks.setdefault(key, threading.Lock())
