"""Kill -9 of `edu-rag run` while it sets its sandbox up, aimed at a moment; and what of it is left afterwards.

Orphans of the killed run become our children (as their subreaper), so that none is missed and nobody else's is counted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 120.0
"""Only a safety net: the run is waited for until it comes to its moment."""
GONE_S = 60.0
"""What is still there so long after the kill has been left behind: it would wait for ever.

On a busy machine the kernel may take seconds to end a killed process with namespaces of its own.
"""
FINER_S = 0.0005
"""Of the kills that freeze nothing, each comes so much later after its moment than the one before."""
MOMENTS = (("sh",), ("bwrap",), ("bwrap", "bwrap"), ("bwrap",), ("bwrap", "bwrap"))
"""Programs that run below the run when it is killed: its first shell, bubblewrap, and with it its process 1."""


def children(number: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{number}/task").iterdir():
            found += [int(name) for name in (task / "children").read_text().split()]
    return found


def below(number: int) -> Iterator[int]:
    """All processes below one."""
    for child in children(number):
        yield child
        yield from below(child)


def named(number: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{number}/comm").read_text().strip()
    return ""


def described(number: int) -> str:
    """A process by its name and its state, such as `bwrap-Z`."""
    with contextlib.suppress(OSError, IndexError):
        return f"{named(number)}-{Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()[0]}"
    return named(number)


def _send(numbers: Sequence[int], what: signal.Signals) -> None:
    for number in numbers:
        with contextlib.suppress(OSError):
            os.kill(number, what)


def _reap() -> bool:
    """Wait for the children that have ended; whether any is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def killed_at(programs: Sequence[str], words: Sequence[str], wait_s: float | None) -> list[str]:
    """Kill a command `wait_s` after these programs run below it; the names of the processes that stay.

    Without `wait_s` the programs stand still until the kill is done, so that the moment is not missed.
    """
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + WAIT_S
    found: list[int] = []
    while len(found) < len(programs):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"the run ended before it came to {programs}")
        found = [number for number in below(process.pid) if named(number) == programs[0]]
    if wait_s is None:
        _send(found, signal.SIGSTOP)
    else:
        time.sleep(wait_s)
    process.kill()
    process.wait()
    _send(found, signal.SIGCONT)
    return left_below()


def left_below() -> list[str]:
    """Names and states of our children that do not end; they are killed then."""
    deadline = time.monotonic() + GONE_S
    while _reap():
        if time.monotonic() > deadline:
            left = [described(number) for number in below(os.getpid())]
            while _reap():
                _send(list(below(os.getpid())), signal.SIGKILL)
            return left
        time.sleep(0.005)
    return []


def leftovers(n: int, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What each of n kills aimed at and what it left; to be run in a process that has no other children."""
    from harness.sandbox.sandboxed_process import subreaper

    with subreaper():
        for i in range(n):
            aim, turn = MOMENTS[i % len(MOMENTS)], i // len(MOMENTS)
            wait_s = None if i % len(MOMENTS) < 3 else FINER_S * turn
            yield f"{' + '.join(aim)}{', frozen' if wait_s is None else ''}", killed_at(aim, words, wait_s)


def main() -> None:
    """`aimed_kills.py N WORDS...`: one line a kill, `aim: what was left`."""
    sys.path.insert(0, str(ROOT))
    for aim, left in leftovers(int(sys.argv[1]), sys.argv[2:]):
        sys.stdout.write(f"{aim}: {' '.join(left)}".strip() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
