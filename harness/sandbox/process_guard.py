"""Ends the processes of a harness that is killed, even if it is killed while it starts them.

bubblewrap's own `--die-with-parent` comes into force late. If the harness is killed before that, bubblewrap goes on; if
bubblewrap is killed while it makes its process 1, that process waits for its parent for ever.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_SCRIPT = """
groups=
while read -r what group; do
    case $what in
        +) groups="$groups -$group " ;;
        -) groups="${groups%% -"$group" *}${groups#* -"$group" }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "$group"; done
"""
"""Reads to the end of its input, which means that the harness is gone: only the harness holds the pipe's other end."""


class Guard:
    """A shell in a separate session that kills the process groups it watches once we are gone."""

    def __init__(self, shell: subprocess.Popen[bytes]) -> None:
        self._shell = shell

    def watch(self, group: int) -> None:
        """Have a process group killed when the harness ends. Raises OSError if the guard itself is gone."""
        self._say(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """Stop watching a group. Call it before reaping its leader, since the number may be reused after that."""
        with contextlib.suppress(OSError):  # a guard that is gone watches nothing
            self._say(f"- {group}\n")

    def _say(self, line: str) -> None:
        if self._shell.stdin is None:
            raise TypeError("it is always a pipe")
        self._shell.stdin.write(line.encode())


@contextmanager
def guarded() -> Iterator[Guard]:
    """A guard until the end of the block."""
    with subprocess.Popen(  # noqa: S603 - our own words
        ["/bin/sh", "-c", _SCRIPT],
        cwd="/",
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    ) as shell:
        yield Guard(shell)
