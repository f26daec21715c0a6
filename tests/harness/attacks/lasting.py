"""Attacks that outlive the run. The test looks afterwards whether a process with the mark is left."""

from __future__ import annotations

import os
import signal
import sys

from attack import TARGETS, attack

_SLEEP = [sys.executable, "-c", "import time; time.sleep(600)", f"survivor-{TARGETS['mark']}"]


@attack
def daemon() -> str | None:
    """Fork, a session of its own, fork again, every descriptor closed."""
    if (pid := os.fork()) == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            os.closerange(0, 1024)
            os.execv(_SLEEP[0], [*_SLEEP, "daemon"])
        os._exit(0)
    os.waitpid(pid, 0)
    return "a daemon"


@attack
def daemon_that_keeps_the_pipes() -> str | None:
    """It holds our stdout and stderr open: who waits for their end waits for it."""
    if (pid := os.fork()) == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(_SLEEP[0], [*_SLEEP, "pipes"])
        os._exit(0)
    os.waitpid(pid, 0)
    return "a daemon on our pipes"
