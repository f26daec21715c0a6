"""The Retry-After header, which engines and web sites answer with when they are asked too much."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_WAIT_S = 31 * 86_400.0


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, from either of its forms (RFC 9110, 10.2.3); None for others."""
    text = (value or "").strip()
    if not text or len(text) > 100:
        return None
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return min(float(text), MAX_WAIT_S)
    try:
        when = parsedate_to_datetime(text)
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
        return min(max((when - now).total_seconds(), 0.0), MAX_WAIT_S)
    except (ValueError, TypeError, OverflowError):
        return None
