"""An engine's pace: the time between the starts of two requests, across all threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Sleep = Callable[[float], None]


class Pace:
    """Lets one request start every `pause_s` seconds; a request that comes earlier waits for its turn."""

    def __init__(
        self, pause_s: float, sleep: Sleep = time.sleep, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._pause_s = pause_s
        self._sleep = sleep
        self._monotonic = monotonic
        self._turn = threading.Lock()
        self._last: float | None = None

    def turn(self) -> None:
        """Return when a request may start."""
        if not self._pause_s:
            return
        with self._turn:
            if self._last is not None:
                wait_s = self._last + self._pause_s - self._monotonic()
                if wait_s > 0:
                    self._sleep(wait_s)
            self._last = self._monotonic()
