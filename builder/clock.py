"""The time of a build: from the settings, SOURCE_DATE_EPOCH, a fixed instant, or the real clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from edu_rag.errors import ConfigError

Clock = Callable[[], datetime]
LOCAL_INSTANT = datetime(2000, 1, 1, tzinfo=UTC)
"""The time that engines without a network write, so that the same inputs give the same bytes."""


def parse_instant(text: str) -> datetime:
    """An ISO 8601 time with its offset, in UTC. Raises ValueError."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError(f"{text!r} has no offset; write it like 2026-11-21T12:00:00Z")
    try:
        return when.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is before the year 1 or after 9999 in UTC") from None


def _from_epoch(text: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(text), UTC)
    except (ValueError, OverflowError, OSError):
        raise ConfigError("SOURCE_DATE_EPOCH", f"{text[:40]!r} is not a number of seconds since 1970") from None


def build_clock(configured: str | None, *, is_offline: bool, environment: Mapping[str, str] = os.environ) -> Clock:
    """The clock of a build: build.toml's `clock`, else SOURCE_DATE_EPOCH, else fixed if offline, else real UTC time."""
    epoch = environment.get("SOURCE_DATE_EPOCH")
    if configured is not None:
        fixed = parse_instant(configured)
    elif epoch:
        fixed = _from_epoch(epoch)
    elif is_offline:
        fixed = LOCAL_INSTANT
    else:
        return lambda: datetime.now(UTC).replace(microsecond=0)
    return lambda: fixed
