"""A regular expression that is compiled when it is first used: sixty of them cost each command 30 ms at its start."""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    """Compiles its expression when an attribute is first used, and then has this attribute itself."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what copy and pickle ask for, before there is a pattern
            raise AttributeError(name)
        # The compiled one is kept by `re` as well, but its cache may be emptied by others.
        if "_compiled" not in self.__dict__:
            self._compiled = re.compile(self.pattern, self._flags)
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """An expression with the methods and attributes of a compiled one, for calls of these: `re.search` refuses it.

    Raises re.error when it is first used.
    """
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))
