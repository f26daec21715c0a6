"""How slow this machine is now: processor time that a test may take is stated for a quiet core and scaled by it."""

from __future__ import annotations

import time

QUIET_S = 0.08
"""Processor seconds of `_work` on a quiet core of the machines that the limits were measured on."""


def _work() -> int:
    total = 0
    for number in range(1_000_000):
        total += number * number % 7
    return total


def slowdown() -> float:
    """Processor time that work takes here and now, as a multiple (>= 1) of what it takes on a quiet core.

    Processor time grows under load too: two busy threads share one core's caches and execution units.
    """
    started = time.process_time()
    _work()
    return max(1.0, (time.process_time() - started) / QUIET_S)
