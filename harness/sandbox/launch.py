"""Start a system in the sandbox: cgroups, then user `nobody`, an empty environment, bubblewrap, and rlimits."""

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
"""Lower priority than the watcher, which must run first: otherwise a system fills memory before it is noticed."""
_LOCKED_BYTES = 8 << 20
_N_SIGNALS = 1_024
"""Pending signals and timers: outside they count against a quota of the whole user, too."""
_TRIAL_S = 30.0
_AFTER_THE_GUARD = "read -r _"
"""Wait until the guard watches; the end of input means that the harness is gone."""
_PIPES_ASIDE = 'exec "$@" 8<&0 9>&1 </dev/null >&2'
_PIPES_BACK = 'exec "$@" <&8 >&9 8<&- 9>&-'
"""Otherwise bubblewrap's own processes would keep the system's pipes open, and a closed pipe would go unnoticed."""
_LOOK = """
test -x "$0" && test -r "$1" && grep -e ^CapEff: -e ^NoNewPrivs: -e ^Seccomp: /proc/self/status && { read _ || :; }
"""
_SEEN = [b"CapEff:", b"0" * 16, b"NoNewPrivs:", b"1", b"Seccomp:", b"2"]
"""The values that the trial must report from inside, so that a program that just prints "success" is not believed."""
_SEEN_BYTES = 4_096
_FIRST_FREE = 10
_NO_DUMP_BYTES = 1
"""At 0 the kernel still starts the machine's program for core dumps, as root; 1 means "never"."""
_FIRST_TO_GO = "{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null || :"
"""When the machine runs out of memory, the kernel kills this process first; a value set by root cannot be lowered."""
_LATE = 64
"""How many processes the rlimit allows above the cap; the cgroup is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Starts the processes of one run in the sandbox; `facts` go to the run's record."""

    tools: Mapping[str, str]
    runtime: Runtime
    stage: StagedFolder
    caps: Caps
    cgroups: Cgroups | None
    guard: Guard
    filter: bytes
    facts: Mapping[str, Any]

    def start(self, command: Sequence[str], stderr_fd: int) -> Process:
        """Start a command in /app. Raises OSError if the machine lacks the resources."""
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
            # A new session inside: process 1 stays in the group that the guard kills, and the system cannot reach it.
            inside = [*self._limits(), self.tools["setsid"], "/bin/sh", "-c", _PIPES_BACK, "system", *command]
            chain += ["--args", str(words_fd), "--", *inside]
            passed = (filter_fd, info_writer, words_fd)
            try:
                return BoxedProcess(chain, stderr_fd, passed, info, self.cgroups, self.caps, self.guard)
            except BaseException:
                os.close(info)
                raise

    def _staged(self) -> dict[Path, Path]:
        """The places where root mounts folders that user `nobody` cannot reach, such as an environment below /root."""
        if os.geteuid() != 0:
            return {}
        sources = dict.fromkeys(mount.source for mount in self.runtime.mounts if not open_to_others(mount.source))
        return {source: self.stage.places / str(number) for number, source in enumerate(sources)}

    def _entry(self, staged: Mapping[Path, Path]) -> list[str]:
        """Join the cgroups and mount the staged folders, in a mount namespace that ends with the sandbox."""
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
        """Disable core dumps; done outside, since the filter forbids the change inside."""
        return [self.tools["prlimit"], f"--core={_at_most_ours('core', _NO_DUMP_BYTES)}", "--"]

    def _drop(self) -> list[str]:
        """Switch to user `nobody` before bubblewrap: started by root, it could still read root's own files."""
        if os.geteuid() != 0:
            return [self.tools["setpriv"], "--no-new-privs"]
        who = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--no-new-privs"]
        return [self.tools["setpriv"], *who]

    def _limits(self) -> list[str]:
        """Rlimits, set inside: there they count the sandbox's processes, outside they would count all of the user's.

        A cgroup that holds the caps acts first, since it reports that it did. With one, address space is not limited:
        some runtimes reserve a thousand times what they use.
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
        """Start a shell that checks itself and the interpreter; return whether its memory could be watched.

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
            said = f"user nobody cannot read {sys.executable} or {HOME / 'edu_rag'}: make them readable for others"
        if code != 0 or seen.split() != _SEEN:
            raise why_not(said)
        return is_watched


def _seen_of(process: BoxedProcess) -> tuple[int, bytes, bool]:
    """The trial's exit code, its report, and whether it was visible from outside while it waited."""
    try:
        ready, _, _ = select.select([process.stdout], [], [], _TRIAL_S)
        seen = process.stdout.read(_SEEN_BYTES) if ready else b""
        is_watched = process.is_seen()
        process.stdin.close()
        return process.wait(_TRIAL_S), seen, is_watched
    except subprocess.TimeoutExpired:
        return -1, b"", False


def _at_most_ours(name: str, value: int) -> int:
    """A limit, or our own hard limit if that is lower: it cannot be raised."""
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _above(stack: ExitStack, descriptor: int) -> int:
    """A duplicate of the descriptor under a number that the chain's shells do not use, until the stack is closed."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    finally:
        os.close(descriptor)
    stack.callback(os.close, moved)
    return moved


def _readable(stack: ExitStack, name: str, data: bytes) -> int:
    """A descriptor from which a program reads these bytes, until the stack is closed."""
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
    """A sandbox for the submission in `folder`, tried out; `hidden` are folders that must not be visible in it.

    Raises SandboxError, without running any of the submission, if a protection is missing or `hidden` is visible.
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
