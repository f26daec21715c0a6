"""Keeps the passages of a page for the next question that has this page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from edu_rag.serve import SystemPage

T = TypeVar("T")
MOST_WEIGHT = 64_000_000
"""Of the pages whose results are kept: five times the real TQA build, and some 200 MB as passages."""
SENTENCE = 60
"""The cost of a sentence in addition to its characters, about its mean length on a real page: a page of a hundred
thousand sentences of one letter must not take ten times as much memory as its length suggests."""


def weight(page: SystemPage) -> int:
    """A cut page's cost in memory: its characters, and SENTENCE more for each sentence."""
    return len(page.text) + SENTENCE * len(page.sentences) + 1


def per_page(make: Callable[[SystemPage], T], most: int = MOST_WEIGHT) -> Callable[[SystemPage], T]:
    """The same function, keeping its results for the pages asked for last, of at most this `weight` in all.

    A page is the same only if all of it is: a system may be shown two texts under one page id. `make` may run in
    several threads, and twice for one page.
    """
    kept: OrderedDict[SystemPage, T] = OrderedDict()
    lock = threading.Lock()
    held = 0

    def made(page: SystemPage) -> T:
        nonlocal held
        with lock:
            if page in kept:
                kept.move_to_end(page)
                return kept[page]
        result = make(page)
        with lock:
            held += 0 if page in kept else weight(page)
            kept[page] = result
            while held > most:
                held -= weight(kept.popitem(last=False)[0])
        return result

    return made
