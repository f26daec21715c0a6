"""A system as a child process: one JSON line in, one out, within limits; started again when it has ended."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from edu_rag.files.jsonl import parse_json
from edu_rag.processes.budget import CPU_VARIABLE
from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Prediction
from harness.running.replies import TEXT_CAP, Reply, prediction_of, without_ids
from harness.running.system_log import SystemLog, fit_to_print
from harness.running.task import question_line
from harness.running.withheld_keys import NO_KEYS, WithheldKeys, is_secret
from harness.sandbox.system_process import Launcher, Process
from harness.submission.folder import Limits

MAX_OUTPUT_BYTES = 1_000_000
"""The most a system may write for one question."""
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
_KEPT_PREFIXES = ("HF_", "EDU_RAG_", "OMP_", "CUDA_")
_OURS = ("EDU_RAG_JUDGE_", CPU_VARIABLE)
"""How answers are read and graded does not concern a system, and must not make it another one."""
_CHUNK = 65_536
_LOOKED_AT, _SHOWN = 1_000, 80
"""The bytes of a faulty line that are searched for ids, and the bytes of it that a fault quotes."""
_QUIET_S, _SETTLE_S = 0.05, 0.25
"""A system is silent that says nothing for so long, and is given so long to fall silent."""
_OF_CAPS: Mapping[int, str] = {
    signal.SIGXFSZ: " (a file grew beyond its cap)",
    signal.SIGXCPU: " (CPU time)",
    signal.SIGSYS: " (a call that the sandbox does not know)",
}
_REFUSED = re.compile(r"MemoryError|Cannot allocate memory|bad_alloc|[Oo]ut of memory|ENOMEM")
"""Messages of programs whose memory request was refused: no kernel counts refusals."""
_LOOK_S = 0.25
"""How often the CPU time of a question is looked at."""


class FaultError(Exception):
    """A question that got no answer: status is one of STATUSES, the reason, whether the process ended.

    `is_known`: the cause is sure, and nothing that the system said adds to it.
    """

    def __init__(self, status: str, reason: str, *, ended: bool, is_known: bool = False) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason
        self.ended = ended
        self.is_known = is_known


def _is_kept(name: str) -> bool:
    return name in _KEPT or (name.startswith(_KEPT_PREFIXES) and not name.startswith(_OURS) and not is_secret(name))


def child_environment(environment: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """The part of our environment that a system gets: variables that programs need to start, and `passed` ones.

    Credentials are included only if passed by name; edu_rag stays importable.
    """
    kept = {name: value for name, value in environment.items() if name in passed or _is_kept(name)}
    package_home = Path(__file__).resolve().parents[2]
    if package_home.name not in ("site-packages", "dist-packages"):
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(package_home), kept.get("PYTHONPATH", ""))))
    return kept


def _exit_in_words(code: int) -> str:
    """An exit code in words; the names of some signals tell which cap was reached."""
    return f"signal {-code}{_OF_CAPS.get(-code, '')}" if code < 0 else f"exit code {code}"


class _CpuWatch:
    """Compares the CPU time of a question with its limit, if CPU time is counted."""

    def __init__(self, process: Process, limit_s: float | None) -> None:
        self._process = process
        self._limit_s = limit_s
        self._begun_s = None if limit_s is None else process.cpu_s()
        self._looked_at = time.monotonic()

    def look(self) -> bool:
        """Raise FaultError if the limit is passed; looks only so often, and says whether it did."""
        if time.monotonic() - self._looked_at < _LOOK_S:
            return False
        self._looked_at = time.monotonic()
        if self._begun_s is not None and self._limit_s is not None:
            taken = (self._process.cpu_s() or 0.0) - self._begun_s
            if taken > self._limit_s:
                raise FaultError("timeout", f"took over {self._limit_s:g} s of CPU time", ended=True)
        return True


class ChildSystem:
    """One running system, spoken to in lines; a context manager that leaves none of its processes behind.

    `cpu_limit_s` is in CPU seconds a question, where its processes are counted; `keys` are what it must not reveal.
    """

    def __init__(
        self,
        launcher: Launcher,
        command: Sequence[str],
        log: SystemLog,
        cpu_limit_s: float | None = None,
        keys: WithheldKeys = NO_KEYS,
    ) -> None:
        self._buffer = b""
        self._unsent = memoryview(b"")
        self._asked: set[str] = set()
        self._log = log
        self._cpu_limit_s = cpu_limit_s
        self._keys = keys
        self._name = command[0]
        errors = log.open_pipe()
        try:
            self._process = launcher.start(command, errors)
        except (OSError, ValueError) as error:
            raise FaultError("crash", f"cannot start {command[0]!r}: {error}", ended=True) from None
        finally:
            os.close(errors)
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)

    def __enter__(self) -> ChildSystem:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(grace_s=5.0 if kind is None else 0.0)

    def end(self, grace_s: float = 0.0) -> None:
        """Close its stdin, give it `grace_s` to leave by itself, then kill all that it started."""
        for stream in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            if grace_s:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(grace_s)
        finally:  # a second Ctrl-C cuts the grace short, and must not leave the system behind
            self._process.end()
        self._log.drain()

    def was_refused_memory(self, words: str) -> bool:
        """Whether its last words say that there is no more memory for it, where there is a cap on that."""
        return bool(self._process.memory_cap() and _REFUSED.search(words))

    def memory_cap(self) -> str:
        """The reason given for a process that took more memory than its cap, however it ended."""
        return self._process.memory_cap()

    def last_words(self, question_id: str) -> str:
        """Its last line on stderr, once it has ended, fit to be published; or nothing."""
        return fit_to_print(self._log.last_words(), question_id, Path.home())

    def ask(self, question_id: str, line: bytes, limit_s: float) -> Reply:
        """Send one question line and wait for the answer with its id. Raises FaultError.

        Answers to earlier ids (late or repeated ones) are passed over; an id that was never asked is a fault.
        """
        started = time.monotonic()
        self._asked.add(question_id)
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stdin, selectors.EVENT_WRITE)
            cpu = _CpuWatch(self._process, self._cpu_limit_s)
            # After a protocol fault part of the line before may still be unsent: without it this one would be torn.
            self._unsent, n_read = memoryview(bytes(self._unsent) + line), 0
            while True:
                left = started + limit_s - time.monotonic()
                values = self._next_values_or_unsay(question_id, len(line))
                if values is not None:
                    self._require_memory()
                    return Reply(values, time.monotonic() - started)
                if left <= 0:
                    raise self._fault("timeout", f"no answer within {limit_s:g} s")
                if cpu.look():
                    self._require_memory()
                for key, _ in selector.select(min(left, _LOOK_S)):
                    if key.fileobj is self._stdin:
                        self._send()
                        if not self._unsent:
                            selector.unregister(self._stdin)
                    else:
                        n_read += self._receive()
                        if n_read > MAX_OUTPUT_BYTES:
                            raise FaultError("output_cap", f"wrote over {MAX_OUTPUT_BYTES:,} bytes", ended=True)

    def settles(self) -> bool:
        """Whether it falls silent soon; its output until then answers nothing and is thrown away."""
        deadline, n_read = time.monotonic() + _SETTLE_S, len(self._buffer)
        self._buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            while selector.select(_QUIET_S):
                try:
                    n_read += self._receive()
                except FaultError:
                    return False
                self._buffer = b""
                if n_read > MAX_OUTPUT_BYTES or time.monotonic() > deadline:
                    return False
        return True

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[self._stdin.write(self._unsent[:_CHUNK]) or 0 :]
        except BlockingIOError:
            return
        except OSError:
            raise self._fault("crash", self._exit()) from None

    def _receive(self) -> int:
        chunk = self._stdout.read(_CHUNK)
        if chunk == b"":
            raise self._fault("crash", self._exit())
        self._buffer += chunk or b""
        return len(chunk or b"")

    def _exit(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1.0)
            return f"the process ended with {_exit_in_words(code)}"
        return "the process closed its output"

    def _fault(self, status: str, reason: str) -> FaultError:
        """A fault that ends the process, with the caps that it reached."""
        if self._process.is_out_of_memory():
            return FaultError("crash", self._process.memory_cap(), ended=True, is_known=True)
        return FaultError(status, "; ".join(filter(None, [reason, self._process.caps_hit()])), ended=True)

    def _require_memory(self) -> None:
        """Raise FaultError if one of its processes was killed at the memory cap, even if others go on.

        Otherwise the outcome would depend on chance.
        """
        if self._process.is_out_of_memory():
            raise self._fault("crash", "")

    def _next_values_or_unsay(self, question_id: str, n_bytes: int) -> dict[str, Any] | None:
        """As `_next_values`; where that is a fault, and no byte of this question was sent yet, it never will be.

        Else a system that writes lines faster than it reads would pile up the whole dataset here.
        """
        try:
            return self._next_values(question_id)
        except FaultError:
            if len(self._unsent) >= n_bytes:
                self._unsent = self._unsent[: len(self._unsent) - n_bytes]
            raise

    def _shown(self, line: bytes) -> bytes:
        """The start of a line, without ids and keys: cut first, a line would keep a part of one."""
        start = b"".join(self._keys.filtered([line[:_LOOKED_AT]]))
        plain: str = without_ids(start.decode("latin-1"), self._asked, "")
        return plain.encode("latin-1")[:_SHOWN]

    def _next_values(self, question_id: str) -> dict[str, Any] | None:
        """The next answer to this id among the whole lines that were read."""
        while b"\n" in self._buffer:
            line, self._buffer = self._buffer.split(b"\n", 1)
            try:
                values = parse_json(line)
            except ValueError as error:
                raise FaultError(
                    "protocol", f"line is not a JSON answer: {error}: {self._shown(line)!r}", ended=False
                ) from None
            found = values.pop("id", None) if isinstance(values, dict) else None
            if found == question_id and isinstance(values, dict):
                return values
            if not isinstance(found, str) or found not in self._asked:
                raise FaultError(
                    "protocol", f"the line's id is not that of a question: {self._shown(line)!r}", ended=False
                )
        return None


MAX_BARREN_STARTS = 5
"""After so many processes in a row that ended without answering anything, the rest of the questions has failed."""
_FIRST_ANSWER = (
    " (the first answer of a process: is stdout flushed after each line, and is limits.start_s long enough?)"
)


def _reason(fault: FaultError, reason: str, system: ChildSystem | None, random_id: str, *, first: bool) -> str:
    """The fault's reason; for a process that ended by itself, with its last line on stderr."""
    if fault.is_known:
        return reason
    if fault.status == "crash" and system is not None:
        said = system.last_words(random_id)
        if system.was_refused_memory(said):
            return system.memory_cap()
        return f"{reason}: {said}" if said else reason
    return reason + (_FIRST_ANSWER if first and fault.status == "timeout" else "")


class Runner:
    """Asks one question after another, starting the system again when it has ended."""

    def __init__(
        self,
        start: Callable[[], ChildSystem],
        limits: Limits,
        new_id: Callable[[], str],
        keys: WithheldKeys = NO_KEYS,
    ) -> None:
        self._keys = keys
        self._start = start
        self._limits = limits
        self._new_id = new_id
        self._system: ChildSystem | None = None
        self._answered = False
        self._barren = 0
        self._given: set[str] = set()

    @property
    def given_up(self) -> bool:
        """Whether the system is broken: too many processes ended without a single answer."""
        return self._barren >= MAX_BARREN_STARTS

    def warm_up(self) -> None:
        """Start the process before its first question; a process that cannot be started fails that question."""
        if self._system is None:
            self._answered = False
            with contextlib.suppress(FaultError):
                self._system = self._start()

    def predict(self, question: Question, pages: Sequence[WebPage]) -> Prediction:
        """The prediction for one question; a fault of the system becomes its status."""
        first = self._system is None or not self._answered
        random_id = self._new_id()
        self._given.add(random_id)
        try:
            if self._system is None:
                self._answered = False  # before it, for a start may fail: that process answered nothing either
                self._system = self._start()
            limit_s = self._limits.start_s if first else self._limits.time_s
            reply = self._system.ask(random_id, question_line(question, pages, random_id), limit_s)
            self._answered, self._barren = True, 0
            # An echo of the id would make the predictions of two runs differ, and their hashes with them.
            values = self._keys.out_of(reply.values)  # predictions are published
            reply = Reply(without_ids(values, self._given, random_id), reply.latency_s)
            return prediction_of(question.question_id, reply, first=first)
        except FaultError as fault:
            # A line that answers nothing may be the first of many: a flood, or guesses at answers to come. What has
            # answered before is in step again only after a restart; a banner at the start is skipped.
            system = self._system
            if fault.ended or self._answered or not (system and system.settles()):
                self._barren += not self._answered
                self.close()
            reason = _reason(
                fault,
                without_ids(self._keys.out_of(fault.reason), self._given, random_id)[:TEXT_CAP],
                system,
                random_id,
                first=first,
            )
            return Prediction(question_id=question.question_id, answer=None, status=fault.status, response=reason)

    def close(self, grace_s: float = 0.0) -> None:
        """End the process, if there is one."""
        if self._system is not None:
            self._system.end(grace_s)
            self._system = None
