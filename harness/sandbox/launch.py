"""Start a system in the sandbox: cgroups, then user `nobody`, an empty environment, bubblewrap, and rlimits.

Also here: the programs that the sandbox needs on this machine, and the caps in force as a run's record states them.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edu_rag.errors import SandboxError
from edu_rag.files.typed import to_plain
from harness.named_network import bridge
from harness.named_network.forward_proxy import NO_NETWORK, NetworkGrant, proxy_in
from harness.own_packages.package_environment import PackageEnvironment
from harness.sandbox.caps import Caps
from harness.sandbox.cgroups import Cgroups, make_cgroups
from harness.sandbox.memory_watch import LOOK_S
from harness.sandbox.policy import program, words
from harness.sandbox.runtime import (
    HOME,
    NETWORK,
    Runtime,
    require_hidden,
    runtime_of,
    with_network,
    with_packages,
    with_vectors,
)
from harness.sandbox.sandboxed_process import BoxedProcess, Guard, guarded, subreaper
from harness.sandbox.staging import NOBODY, StagedFolder, open_to_others, stage_of
from harness.sandbox.system_process import Process, own_python

OTHERWISE = "see docs/operators.md; or `edu-rag run --unsafe-no-sandbox` for a system that you trust"
_PACKAGES = {
    "bwrap": "bubblewrap",
    "setpriv": "util-linux",
    "prlimit": "util-linux",
    "env": "coreutils",
    "nice": "coreutils",
    "setsid": "util-linux",
}
_PACKAGES_ROOT = {"unshare": "util-linux", "mount": "mount"}
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_SWITCHES = {
    Path("/proc/sys/kernel/unprivileged_userns_clone"): "kernel.unprivileged_userns_clone=1",
    Path("/proc/sys/user/max_user_namespaces"): "user.max_user_namespaces=10000",
}


def find_tools(search_path: str | None = None, *, platform: str = sys.platform) -> Mapping[str, str]:
    """The full paths of the programs, by name. Raises SandboxError naming missing programs and their packages."""
    if not platform.startswith("linux"):
        what = f"works on Linux only, and this is {platform}"
        raise SandboxError("sandbox", what, "use a Linux machine or container, or give --unsafe-no-sandbox")
    wanted = _PACKAGES | (_PACKAGES_ROOT if os.geteuid() == 0 else {})
    said = os.environ.get("PATH", os.defpath) if search_path is None else search_path
    # An empty part, or ".", is the current folder: perhaps an untrusted one that contains a fake `bwrap`.
    safe = os.pathsep.join(part for part in said.split(os.pathsep) if part.startswith("/"))
    found = {name: shutil.which(name, path=safe) for name in wanted}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        packages = " ".join(sorted({wanted[name] for name in missing}))
        what = f"not installed: {', '.join(missing)}"
        raise SandboxError("sandbox", what, f"apt-get install {packages}; {OTHERWISE}")
    return {name: path for name, path in found.items() if path is not None}


def why_not(said: str) -> SandboxError:
    """The error for a failed trial, from its text on stderr."""
    last = (said.strip().splitlines() or ["it said nothing"])[-1][:300]
    if "disable-userns" in said or "Unknown option" in said:
        what = f"this bubblewrap is older than 0.8.0: {last}"
        return SandboxError("sandbox", what, f"install bubblewrap 0.8.0 or newer; {OTHERWISE}")
    if _read(_APPARMOR) == "1" and ("ermission denied" in said or "not permitted" in said):
        what = f"AppArmor keeps programs from making user namespaces here: {last}"
        return SandboxError("sandbox", what, f"install its profile for bwrap (docs/operators.md); {OTHERWISE}")
    for path, setting in _SWITCHES.items():
        if _read(path) == "0":
            return SandboxError("sandbox", f"user namespaces are off: {last}", f"sysctl -w {setting}; {OTHERWISE}")
    if "namespace" in said or "not permitted" in said or "mount proc" in said:
        what = f"user namespaces cannot be used here, as in many containers: {last}"
        return SandboxError("sandbox", what, f"start the container so that it allows them; {OTHERWISE}")
    return SandboxError("sandbox", f"cannot be started: {last}", OTHERWISE)


def _read(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""


NONE = {"sandbox": "none"}
_NO_CGROUP = "there is no cgroup that this user may make"
_WATCHED = (
    f"{_NO_CGROUP}: memory as a whole is watched, at least every {LOOK_S * 1_000:.0f} ms, so that a burst is over the "
    "cap until the next look; what the kernel holds in sockets and pipes is estimated by their number"
)
_NO_SOCKETS = ", and there are no network sockets inside"
_UNWATCHED = (
    f"{_NO_CGROUP}, and its processes do not show from outside: memory is capped for each process, not for all "
    "together, and /tmp and /dev/shm come on top"
)


def wanted_caps(caps: Caps | None) -> dict[str, Any]:
    """The caps of a run without machine-specific parts, for comparisons; None without a sandbox."""
    return dict(NONE) if caps is None else {"sandbox": "bubblewrap", **to_plain(caps)}


def facts_of(caps: Caps, cgroups: Cgroups | None, bwrap: str, *, is_watched: bool) -> dict[str, Any]:
    """`wanted_caps`, with versions, means and gaps; `is_watched` matters only without a cgroup."""
    means = "rlimit" if cgroups is None else f"cgroup v{cgroups.version}"
    memory = "rlimit a process, watched as a whole" if is_watched else "rlimit a process"
    return {
        **wanted_caps(caps),
        "version": _version(bwrap),
        "user": "nobody" if os.geteuid() == 0 else "own",
        "memory": memory if cgroups is None else means,
        "processes": "rlimit" if cgroups is None else f"{means} and rlimit",
        "cpu": "watched" if cgroups is None else means,
        "gaps": [] if cgroups is not None else [_WATCHED + _NO_SOCKETS if is_watched else _UNWATCHED],
    }


def _version(bwrap: str) -> str:
    done = subprocess.run([bwrap, "--version"], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)  # noqa: S603 - ours
    return done.stdout.strip()[:80]


_CPU_S = 86_400
NICE = 10
"""Lower priority than the watcher, which must run first: otherwise a system fills memory before it is noticed."""
OURS = 0
"""The priority of our own looks inside: with a system's, they get no time within their limit on a busy machine."""
_LOCKED_BYTES = 8 << 20
_N_SIGNALS = 1_024
"""Pending signals and timers: outside they count against a quota of the whole user, too."""
_TRIAL_S = 30.0
_NO_END = -1
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
    before: Sequence[str] = ()
    """Words in front of the system's command: what leads to the proxy, where a network is granted."""

    def start(self, command: Sequence[str], stderr_fd: int, *, nice: int = NICE) -> Process:
        """Start a command in /app. Raises OSError if the machine lacks the resources."""
        return self._start([*self.before, *own_python(command)], self.runtime.environment, stderr_fd, nice)

    def _start(self, command: Sequence[str], environment: Mapping[str, str], stderr_fd: int, nice: int) -> BoxedProcess:
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
                *(self.tools["nice"], "-n", str(nice)),
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
                process = self._start(command, {"PATH": self.runtime.environment["PATH"]}, writer, OURS)
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
        if code == _NO_END and not said:
            said = f"its trial did not end in {_TRIAL_S:g} s: try again when less is running"
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
        return _NO_END, b"", False


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
    packages: PackageEnvironment | None = None,
    network: NetworkGrant = NO_NETWORK,
    vectors: Path | None = None,
) -> Iterator[Sandbox]:
    """A sandbox for the submission in `folder`, tried out; `hidden` are folders that must not be visible in it,
    `packages` are the system's own, `network` is what it may reach, and `vectors` a folder of sentence vectors.

    Raises SandboxError, without running any of the submission, if a protection is missing or `hidden` is visible.
    """
    tools, runtime = find_tools(search_path), runtime_of(environment)
    if packages is not None:
        runtime = with_packages(runtime, packages.site)
    require_hidden(runtime, hidden, folder)
    if vectors is not None:  # after the check: they are inside the dataset's folder, which is hidden
        runtime = with_vectors(runtime, vectors)
    with ExitStack() as stack:
        cgroups = make_cgroups(caps)
        if cgroups is not None:
            stack.callback(cgroups.remove)
        counts_sockets = cgroups is not None and cgroups.counts_sockets
        program_bytes = program(counted=cgroups is not None, counts_sockets=counts_sockets or bool(network.hosts))
        stage = stack.enter_context(stage_of(folder, runtime.mounts))
        if network.hosts:
            runtime = with_network(runtime, _proxy_folder(stage))
            owner = NOBODY if os.geteuid() == 0 else None
            stack.enter_context(proxy_in(_proxy_folder(stage), network, owner))
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
        facts = facts_of(caps, cgroups, tools["bwrap"], is_watched=sandbox.try_out())
        facts |= {} if packages is None else packages.facts
        if not network.hosts:
            yield replace(sandbox, facts=facts)
            return
        gaps = [gap.removesuffix(_NO_SOCKETS) for gap in facts["gaps"]]
        gaps += [] if counts_sockets else [_UNCOUNTED_SOCKETS]
        before = [sys.executable, "-I", "-S", str(NETWORK / _BRIDGE)]
        yield replace(sandbox, facts={**facts, **network.facts, "gaps": gaps}, before=before)


_BRIDGE = "bridge.py"
_UNCOUNTED_SOCKETS = "a network is granted, and no cgroup counts the memory that the kernel holds in its sockets"


def _proxy_folder(stage: StagedFolder) -> Path:
    """The folder of a run that is mounted at /network: the program that leads to the proxy, later its socket."""
    folder = stage.folder / "network"
    if not folder.is_dir():
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
        program_file = folder / _BRIDGE
        program_file.write_bytes(Path(bridge.__file__).read_bytes())
        program_file.chmod(0o444)
    return folder
