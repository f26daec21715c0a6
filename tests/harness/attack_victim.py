"""A process of the machine that has nothing to do with the run: it holds a canary, and notes a signal that it gets.

Usage: CANARY=... attack_victim.py NOTE MARK CANARY    prints the address of its canary, then waits for its end
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

KEPT = ctypes.create_string_buffer(os.environ["CANARY"].encode())


def note(number: int, frame: object) -> None:
    """Write down that somebody reached us."""
    Path(sys.argv[1]).write_text(str(number))


def main() -> None:
    """Tell the address and wait."""
    signal.signal(signal.SIGUSR1, note)
    sys.stdout.write(f"{ctypes.addressof(KEPT)}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
