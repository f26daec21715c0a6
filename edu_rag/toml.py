"""TOML that people write: unknown keys are errors, and all faults of a file are reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from edu_rag.errors import ConfigError, FaultsError
from edu_rag.typed import faults_and_record

R = TypeVar("R")
MAX_BYTES = 1_000_000


def read_toml(path: Path, record_type: type[R]) -> R:
    """Read a TOML file as a record. Raises ConfigError, or FaultsError with every fault in it."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(path, error.strerror or str(error), "give a readable TOML file") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(path, f"is over {MAX_BYTES:,} bytes", "a settings file is a page or two")
    try:
        values = tomllib.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(path, f"not TOML: {error}", "mend the syntax") from None
    faults, record = faults_and_record(values, record_type)
    if record is None:
        raise FaultsError([ConfigError(f"{path}: {fault.where}", fault.what, fault.remedy) for fault in faults])
    return record
