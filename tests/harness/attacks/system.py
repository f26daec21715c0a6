"""A system that answers the question `attack NAME` with the evidence of that attack. Each runs in a child of its own,
so that one that is killed for what it tries costs no other.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys

import confines
import filling
import kernel
import lasting
import network
import privileges
import processes
import quotas
import reading
import writing
from attack import ATTACKS

LIMIT_S = 12.0
MODULES = (reading, network, writing, privileges, processes, kernel, filling, lasting, confines, quotas)


def _perform(name: str, writer: int) -> None:
    signal.alarm(int(LIMIT_S))
    try:
        evidence = ATTACKS[name]()
    except OSError:
        evidence = None
    except Exception as error:  # an attack of ours that breaks must not look refused
        evidence = None
        os.write(writer, f"!{type(error).__name__}: {error}".encode()[:2000])
    if evidence:
        os.write(writer, evidence.encode()[:2000])
    os._exit(0)


def evidence_of(name: str) -> dict[str, str | None]:
    """The evidence, or what went wrong with the attack itself."""
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        return {"evidence": None, "ended": f"no process for it: {error}"}
    if pid == 0:
        os.close(reader)
        _perform(name, writer)
    os.close(writer)
    said = b""
    while select.select([reader], [], [], LIMIT_S)[0] and (chunk := os.read(reader, 4096)):
        said += chunk
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break  # a daemon of the attack may hold the pipe
    os.close(reader)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = said.decode("utf-8", "replace")
    if text.startswith("!"):
        return {"evidence": None, "broken": text[1:]}
    return {"evidence": text or None, "ended": f"signal {-code}" if code < 0 else None}


def main() -> None:
    """The loop."""
    for line in sys.stdin:
        question = json.loads(line)
        name = question["text"].removeprefix("attack ")
        said = evidence_of(name) if name in ATTACKS else {"evidence": None, "broken": "no such attack"}
        sys.stdout.write(json.dumps({"id": question["id"], "answer": None, "response": json.dumps(said)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
