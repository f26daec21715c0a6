"""The cap on the memory of a whole sandbox without a cgroup: a watcher polls, and ends a sandbox that is over it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

from harness.sandbox.processes import Members, Taken

LOOK_S = 0.05
"""The longest pause between two looks. What a system takes between two is over the cap until the second."""
_SHORTEST_S = 0.005
_FILL_BYTES_S = 16 << 30
"""No system takes memory faster: so soon after a look the cap may be reached, and is looked again."""
_SHARE = 3
"""A count that takes long, for there is much to count, is paid by a pause of so many times what it took."""

_DOUBLE_S = 0.2


class MemoryWatch:
    """A thread that looks from the start of a process to its end, also between questions.

    `members` finds the processes, or None while there are none yet. `was_reached` says that it has killed them all.
    """

    def __init__(self, members: Callable[[], Members | None], cap_bytes: int) -> None:
        self.was_reached = False
        self._members = members
        self._cap_bytes = cap_bytes
        self._stopped = threading.Event()
        self._twins: tuple[str, ...] = ()
        self._twins_since = 0.0
        self._shared_bytes = 0
        self._count_again_at = 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def join(self) -> None:
        """Wait until the last look is over, after which `members` may be closed."""
        self._thread.join()

    def _watch(self) -> None:
        pause_s = _SHORTEST_S
        while not self._stopped.wait(pause_s):
            members = self._members()
            if members is not None:
                pause_s = self._look(members)

    def _look(self, members: Members) -> float:
        """End what is over the cap; return how soon to look again.

        The quick sum is never too small. Only if it is over the cap, shared pages are counted once.
        """
        at_most = members.memory_at_most()
        if at_most <= self._cap_bytes:
            return min(LOOK_S, max(_SHORTEST_S, (self._cap_bytes - at_most) / _FILL_BYTES_S))
        # What was shared at the last count is taken to be so still, for a while: what is new is looked at at once.
        if at_most - self._shared_bytes > self._cap_bytes or time.monotonic() > self._count_again_at:
            began = time.monotonic()
            taken = self._counted_standing(members)
            self._shared_bytes = max(0, at_most - taken.n_bytes)
            self._count_again_at = time.monotonic() + _SHARE * (time.monotonic() - began)
        return _SHORTEST_S

    def _counted_standing(self, members: Members) -> Taken:
        """What is taken, counted while all stand still: the counting takes longer than to take more, and to be done."""
        members.send(signal.SIGSTOP)
        try:
            taken = members.memory(self._stopped.is_set)
            if taken.n_bytes > self._cap_bytes and not self._may_be_a_double(taken):
                self._end(members)
        finally:
            members.send(signal.SIGCONT)
        return taken

    def _may_be_a_double(self, taken: Taken) -> bool:
        """Whether it is over by a process that may be another's double, which soon becomes another program."""
        if taken.n_bytes - taken.twin_bytes > self._cap_bytes:
            return False
        now = time.monotonic()
        if taken.twins != self._twins:
            self._twins, self._twins_since = taken.twins, now
        return now - self._twins_since < _DOUBLE_S

    def _end(self, members: Members) -> None:
        if not self._stopped.is_set():
            self.was_reached = True  # first: who sees the end shall find the reason
            members.kill()
