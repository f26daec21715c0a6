"""A memory cap for a whole sandbox without a cgroup: a watcher polls, and ends a sandbox that exceeds the cap."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

from harness.sandbox.processes import Members, Taken

LOOK_S = 0.05
"""The longest pause between two checks, in seconds. A burst between two checks exceeds the cap until the second."""
_SHORTEST_S = 0.005
_FILL_BYTES_S = 16 << 30
"""No system allocates memory faster than this: it bounds how soon the cap can be reached, and so the next pause."""
_SHARE = 3
"""After a slow count of much memory, the watcher pauses this many times as long as the count took."""

_DOUBLE_S = 0.2


class MemoryWatch:
    """A thread that checks from the start of a process to its end, also between questions.

    `members` finds the processes, or None while there are none yet. `was_reached` is true once it has killed them all.
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
        """Stop checking."""
        self._stopped.set()

    def join(self) -> None:
        """Wait until the last check is over, after which `members` may be closed."""
        self._thread.join()

    def _watch(self) -> None:
        pause_s = _SHORTEST_S
        while not self._stopped.wait(pause_s):
            members = self._members()
            if members is not None:
                pause_s = self._look(members)

    def _look(self, members: Members) -> float:
        """End a sandbox that is over the cap; return the pause before the next check, in seconds.

        The quick sum is never too small. Only if it is over the cap, shared pages are counted once.
        """
        at_most = members.memory_at_most()
        if at_most <= self._cap_bytes:
            return min(LOOK_S, max(_SHORTEST_S, (self._cap_bytes - at_most) / _FILL_BYTES_S))
        # Pages that were shared at the last count are assumed to be shared for a while; new ones are counted at once.
        if at_most - self._shared_bytes > self._cap_bytes or time.monotonic() > self._count_again_at:
            began = time.monotonic()
            taken = self._counted_standing(members)
            self._shared_bytes = max(0, at_most - taken.n_bytes)
            self._count_again_at = time.monotonic() + _SHARE * (time.monotonic() - began)
        return _SHORTEST_S

    def _counted_standing(self, members: Members) -> Taken:
        """Count the memory in use while all processes are stopped: a system allocates faster than we count."""
        members.send(signal.SIGSTOP)
        try:
            taken = members.memory(self._stopped.is_set)
            if taken.n_bytes > self._cap_bytes and not self._may_be_a_double(taken):
                self._end(members)
        finally:
            members.send(signal.SIGCONT)
        return taken

    def _may_be_a_double(self, taken: Taken) -> bool:
        """Whether the excess may be a process counted twice after a vfork, which will soon run another program."""
        if taken.n_bytes - taken.twin_bytes > self._cap_bytes:
            return False
        now = time.monotonic()
        if taken.twins != self._twins:
            self._twins, self._twins_since = taken.twins, now
        return now - self._twins_since < _DOUBLE_S

    def _end(self, members: Members) -> None:
        if not self._stopped.is_set():
            self.was_reached = True  # set first, so that the reason is known once the end is noticed
            members.kill()
