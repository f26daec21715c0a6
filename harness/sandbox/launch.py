"""Starting a system in the sandbox: cgroups, then nobody, then an empty environment, then bubblewrap, then rlimits."""

from __future__ import annotations

import fcntl
import os
import resource
import select
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.sandbox.boxed import BoxedProcess, subreaper
from harness.sandbox.caps import Caps
from harness.sandbox.caps_in_force import facts_of
from harness.sandbox.cgroups import Cgroups, make_cgroups
from harness.sandbox.host_programs import find_tools, why_not
from harness.sandbox.policy import words
from harness.sandbox.process_guard import Guard, guarded
from harness.sandbox.runtime import HOME, Runtime, require_hidden, runtime_of
from harness.sandbox.seccomp import program
from harness.sandbox.staging import NOBODY, StagedFolder, open_to_others, stage_of
from harness.sandbox.system_process import Process, own_python

_CPU_S = 86_400
_NICE = 10
"""Who watches a system must get the processor before it does: else what fills memory is done before it is seen."""
_LOCKED_BYTES = 8 << 20
_N_SIGNALS = 1_024
"""Signals that wait and timers: they count against a quota of the whole user outside, too."""
_TRIAL_S = 30.0
_AFTER_THE_GUARD = "read -r _"
"""Nothing is done before the guard watches: an end of input says that the harness is gone."""
_PIPES_ASIDE = 'exec "$@" 8<&0 9>&1 </dev/null >&2'
_PIPES_BACK = 'exec "$@" <&8 >&9 8<&- 9>&-'
"""Else bubblewrap's own processes hold the system's pipes open, and nobody is told that it closed one."""
_LOOK = """
test -x "$0" && test -r "$1" && grep -e ^CapEff: -e ^NoNewPrivs: -e ^Seccomp: /proc/self/status && { read _ || :; }
"""
_SEEN = [b"CapEff:", b"0" * 16, b"NoNewPrivs:", b"1", b"Seccomp:", b"2"]
"""What the trial must see of itself, lest a program that only says that all is well be believed."""
_SEEN_BYTES = 4_096
_FIRST_FREE = 10
_NO_DUMP_BYTES = 1
"""At 0 the kernel still starts the machine's program for core dumps, as root; 1 is "never"."""
_FIRST_TO_GO = "{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null || :"
"""Where the machine runs out of memory, this is what it kills first; what root has set, nobody can lower."""
_LATE = 64
"""Processes by which the rlimit is above the cap; the cgroup is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What starts the processes of one run in the sandbox; `facts` go to the run's record."""

    tools: Mapping[str, str]
    runtime: Runtime
    stage: StagedFolder
    caps: Caps
    cgroups: Cgroups | None
    guard: Guard
    filter: bytes
    facts: Mapping[str, Any]

    def start(self, command: Sequence[str], stderr_fd: int) -> Process:
        """Start a command in /app. Raises OSError if the machine has no room for it."""
        return self._start(own_python(command), self.runtime.environment, stderr_fd)

    def _start(self, command: Sequence[str], environment: Mapping[str, str], stderr_fd: int) -> BoxedProcess:
        staged = self._staged()
        said = words(self.runtime, self.stage, self.caps, environment, staged=staged)
        with ExitStack() as stack:
            filter_fd = _readable(stack, "filter", self.filter)
            info, first_writer = os.pipe()
            info_writer = _above(stack, first_writer)
            said += ["--seccomp", str(filter_fd), "--info-fd", str(info_writer)]
            words_fd = _readable(stack, "words", b"".join(os.fsencode(word) + b"\0" for word in said))
            chain = [
                *self._entry(staged),
                *self._no_dump(),
                *self._drop(),
                *(self.tools["nice"], "-n", str(_NICE)),
                *(self.tools["env"], "-i"),
                self.tools["bwrap"],
            ]
            # A session of its own inside: process 1 stays in the group that the guard kills, and out of reach.
            inside = [*self._limits(), self.tools["setsid"], "/bin/sh", "-c", _PIPES_BACK, "system", *command]
            chain += ["--args", str(words_fd), "--", *inside]
            passed = (filter_fd, info_writer, words_fd)
            try:
                return BoxedProcess(chain, stderr_fd, passed, info, self.cgroups, self.caps, self.guard)
            except BaseException:
                os.close(info)
                raise

    def _staged(self) -> dict[Path, Path]:
        """Where root mounts what nobody cannot reach by its own way, such as an environment below /root."""
        if os.geteuid() != 0:
            return {}
        sources = dict.fromkeys(mount.source for mount in self.runtime.mounts if not open_to_others(mount.source))
        return {source: self.stage.places / str(number) for number, source in enumerate(sources)}

    def _entry(self, staged: Mapping[Path, Path]) -> list[str]:
        """Join the cgroups and mount what is staged, in a mount namespace that ends with the sandbox."""
        joined = self.cgroups.joined if self.cgroups else []
        joins = [_AFTER_THE_GUARD, *(f"echo $$ > {shlex.quote(str(path))}" for path in joined), _FIRST_TO_GO]
        for source, place in staged.items():
            if source.is_dir():
                place.mkdir(exist_ok=True)
            else:
                place.touch()
            joins.append(shlex.join([self.tools["mount"], "--bind", str(source), str(place)]))
        script = " && ".join([*joins, _PIPES_ASIDE])
        private = [self.tools["unshare"], "--mount", "--propagation", "private"] if staged else []
        return [*private, "/bin/sh", "-c", script, "sandbox"]

    def _no_dump(self) -> list[str]:
        """Set outside, since the filter lets nobody change it inside."""
        return [self.tools["prlimit"], f"--core={_at_most_ours('core', _NO_DUMP_BYTES)}", "--"]

    def _drop(self) -> list[str]:
        """Become nobody before bubblewrap: started by root, it would still read root's own files."""
        if os.geteuid() != 0:
            return [self.tools["setpriv"], "--no-new-privs"]
        who = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--no-new-privs"]
        return [self.tools["setpriv"], *who]

    def _limits(self) -> list[str]:
        """Rlimits, set inside: there the count of processes is the sandbox's own, outside it is all of the user's.

        Where a cgroup holds the caps it acts first, since it tells that it did; and address space is not limited there,
        of which some runtimes reserve a thousand times what they use.
        """
        caps, late = self.caps, 0 if self.cgroups is None else _LATE
        limits = {
            "cpu": _CPU_S,
            "data": caps.memory_bytes * (1 if self.cgroups is None else 2),
            "fsize": caps.file_bytes,
            "nofile": caps.n_files,
            "nproc": caps.n_processes + late,
            "memlock": _LOCKED_BYTES,
            "msgqueue": 0,
            "sigpending": _N_SIGNALS,
        }
        if self.cgroups is None:
            limits["as"] = caps.memory_bytes
        said = (f"--{name}={_at_most_ours(name, value)}" for name, value in limits.items())
        return [self.tools["prlimit"], *said, "--"]

    def try_out(self) -> bool:
        """Start a shell that looks at itself and for the interpreter; return whether its memory could be watched.

        Raises SandboxError with reason and remedy.
        """
        command = ["/bin/sh", "-c", _LOOK, sys.executable, str(HOME / "edu_rag/serve.py")]
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as errors:
            try:
                process = self._start(command, {"PATH": self.runtime.environment["PATH"]}, writer)
            finally:
                os.close(writer)
            try:
                code, seen, is_watched = _seen_of(process)
            finally:
                process.close()
                process.end()
            said = errors.read(65_536).decode("utf-8", "replace")
        if code == 1 and not said:
            said = f"nobody can read {sys.executable} or {HOME / 'edu_rag'}: make them readable for others"
        if code != 0 or seen.split() != _SEEN:
            raise why_not(said)
        return is_watched


def _seen_of(process: BoxedProcess) -> tuple[int, bytes, bool]:
    """The trial's exit code, what it saw, and whether it could be seen itself while it waited."""
    try:
        ready, _, _ = select.select([process.stdout], [], [], _TRIAL_S)
        seen = process.stdout.read(_SEEN_BYTES) if ready else b""
        is_watched = process.is_seen()
        process.stdin.close()
        return process.wait(_TRIAL_S), seen, is_watched
    except subprocess.TimeoutExpired:
        return -1, b"", False


def _at_most_ours(name: str, value: int) -> int:
    """A limit, or our own hard one where that is lower: nobody may raise it."""
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _above(stack: ExitStack, descriptor: int) -> int:
    """The same file under a number that the shells of the chain do not use, until the stack is left."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    finally:
        os.close(descriptor)
    stack.callback(os.close, moved)
    return moved


def _readable(stack: ExitStack, name: str, data: bytes) -> int:
    """A descriptor that a program reads these bytes from, until the stack is left."""
    descriptor = _above(stack, os.memfd_create(name))
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@contextmanager
def open_sandbox(
    folder: Path,
    environment: Mapping[str, str],
    caps: Caps,
    *,
    hidden: Iterable[Path] = (),
    search_path: str | None = None,
) -> Iterator[Sandbox]:
    """A sandbox for the submission in `folder`, tried out; `hidden` are folders that must not show in it.

    Raises SandboxError, with nothing of the submission run, where a protection is missing or `hidden` would show.
    """
    tools, runtime = find_tools(search_path), runtime_of(environment)
    require_hidden(runtime, hidden, folder)
    with ExitStack() as stack:
        cgroups = make_cgroups(caps)
        if cgroups is not None:
            stack.callback(cgroups.remove)
        counts_sockets = cgroups is not None and cgroups.counts_sockets
        program_bytes = program(counted=cgroups is not None, counts_sockets=counts_sockets)
        stage = stack.enter_context(stage_of(folder, runtime.mounts))
        stack.enter_context(subreaper())
        guard = stack.enter_context(guarded())
        sandbox = Sandbox(
            tools=tools,
            runtime=runtime,
            stage=stage,
            caps=caps,
            cgroups=cgroups,
            guard=guard,
            filter=program_bytes,
            facts={},
        )
        is_watched = sandbox.try_out()
        yield replace(sandbox, facts=facts_of(caps, cgroups, tools["bwrap"], is_watched=is_watched))
