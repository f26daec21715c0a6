"""TOML that people write: unknown keys are errors, and all faults of a file are reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from edu_rag.errors import ConfigError, FaultsError
from edu_rag.typed import faults_and_record

R = TypeVar("R")
MAX_BYTES = 1_000_000
MAX_FAULTS = 50
_MAX_SHOWN = 200
MAX_DOTS = 400
"""Dots on one line: `a.a.a…` of 100 kB keeps the parser busy for hours, since it looks at each part of a key by all."""


def read_toml(path: Path, record_type: type[R], *, max_bytes: int = MAX_BYTES) -> R:
    """Read a TOML file as a record. Raises ConfigError, or FaultsError with every fault in it."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(path, error.strerror or str(error), "give a readable TOML file") from None
    if len(raw) > max_bytes:
        raise ConfigError(path, f"is over {max_bytes:,} bytes", "a settings file is a page or two")
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.count(b".") > MAX_DOTS:
            raise ConfigError(f"{path}:{number}", f"has more than {MAX_DOTS} dots", "write its values on several lines")
    try:
        values = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, or an integer of too many digits
        raise ConfigError(path, f"not TOML: {str(error)[:_MAX_SHOWN]}", "mend the syntax") from None
    faults, record = faults_and_record(values, record_type)
    if record is None:
        told = [ConfigError(f"{path}: {fault.where[:_MAX_SHOWN]}", fault.what, fault.remedy) for fault in faults]
        more = [ConfigError(path, f"and {len(told) - MAX_FAULTS:,} more faults")] if len(told) > MAX_FAULTS else []
        raise FaultsError(told[:MAX_FAULTS] + more)
    return record
