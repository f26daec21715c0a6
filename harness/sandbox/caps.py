"""Caps on the resources that a system in the sandbox may use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from edu_rag.errors import RecordError

GIB = 1 << 30
_MEMORY_BYTES = 6 * GIB
_N_PROCESSES = 64
CPU_FACTOR = 4
"""CPU seconds that a question may take for each second of its time limit, unless `Caps.cpu_s` is set."""


def _memory_bytes() -> int:
    """6 GiB, or three quarters of the memory of a smaller machine."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(_MEMORY_BYTES, machine * 3 // 4)


def _n_processes() -> int:
    """64, or four for each core: libraries start threads by the core, and more processes take longer to kill."""
    return max(_N_PROCESSES, 4 * (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Caps on all processes of a system together; `file_bytes` and `n_files` hold for each file and process.

    `cpu_s` is in CPU seconds a question; None is CPU_FACTOR times its time limit. Invariant: all are above zero.
    """

    memory_bytes: int = field(default_factory=_memory_bytes)
    n_processes: int = field(default_factory=_n_processes)
    file_bytes: int = GIB
    n_files: int = 1_024
    tmp_bytes: int = GIB
    shm_bytes: int = 64 << 20
    cpu_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("memory_bytes", "n_processes", "file_bytes", "n_files", "tmp_bytes", "shm_bytes", "cpu_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise RecordError(name, f"{value} is not above zero")

    def cpu_limit_s(self, time_s: float) -> float:
        """CPU seconds that a question with this time limit may take."""
        return self.cpu_s if self.cpu_s is not None else CPU_FACTOR * time_s
