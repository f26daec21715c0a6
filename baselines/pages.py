"""What is made of a page is made once: the same page comes with many questions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from edu_rag.serve import SystemPage

T = TypeVar("T")
MOST_CHARACTERS = 32_000_000
"""Of the pages whose results are kept: five times the text of the real TQA build, and some 200 MB as passages."""


def per_page(make: Callable[[SystemPage], T], most_characters: int = MOST_CHARACTERS) -> Callable[[SystemPage], T]:
    """The same function, keeping its results for the pages asked for last, of at most `most_characters` in all.

    A page is the same only if all of it is: a system may be shown two texts under one page id. `make` may run in
    several threads, and twice for one page.
    """
    kept: OrderedDict[SystemPage, T] = OrderedDict()
    lock = threading.Lock()
    n_characters = 0

    def made(page: SystemPage) -> T:
        nonlocal n_characters
        with lock:
            if page in kept:
                kept.move_to_end(page)
                return kept[page]
        result = make(page)
        with lock:
            n_characters += 0 if page in kept else len(page.text) + 1
            kept[page] = result
            while n_characters > most_characters:
                n_characters -= len(kept.popitem(last=False)[0].text) + 1
        return result

    return made
