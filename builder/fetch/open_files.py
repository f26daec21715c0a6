"""How many sockets a crawl may have open: as many as this system allows, which is few by default."""

from __future__ import annotations

import resource

_WANTED = 8_192
_OTHERS = 64
"""Files and sockets of the process that are not the crawl's."""
_A_VISIT = 4
"""The most that one visit has open at a time: two questions for a name, or connections in use and kept ones."""


def visits_at_once() -> int:
    """How many visits have sockets enough. Raises the soft limit, which is 256 or 1,024 on most systems."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    n_files = _WANTED if soft == resource.RLIM_INFINITY else soft
    return max(1, (n_files - _OTHERS) // _A_VISIT)
