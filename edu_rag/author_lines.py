"""Where an author's function returns: error messages name the line to change."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any

_OURS = Path(__file__).resolve().parent
MAX_LINES = 4
"""Lines with a `return` that are named."""


def _code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code of a function, of a method, or of an object's `__call__`; None for those that are not Python."""
    plain = inspect.unwrap(function)
    plain = getattr(plain, "func", plain)  # functools.partial
    if not isinstance(plain, FunctionType | MethodType):
        plain = getattr(type(plain), "__call__", plain)  # noqa: B004 - its code is wanted, not whether there is one
    found = getattr(plain, "__code__", None)
    return found if isinstance(found, CodeType) else None


def _return_lines(code: CodeType) -> list[int]:
    found = (
        one.positions.lineno for one in dis.get_instructions(code) if one.opname.startswith("RETURN_") and one.positions
    )
    # A generator begins with an instruction of that name, on the line of its `def`.
    return sorted({line for line in found if line is not None} - {code.co_firstlineno})


def returns_of(function: Callable[..., Any]) -> str:
    """Where a function returns, such as `system.py:9` or `system.py:9, 14`.

    Empty if it is not written in Python, or is one of ours: an adapter's line is not the author's to change.
    """
    code = _code_of(function)
    if code is None or Path(code.co_filename).is_relative_to(_OURS):
        return ""
    lines = _return_lines(code) or [code.co_firstlineno]
    more = ", …" if lines[MAX_LINES:] else ""
    return f"{Path(code.co_filename).name}:{', '.join(map(str, lines[:MAX_LINES]))}{more}"


def calling_line() -> str:
    """The line that called the function that calls this one, such as `system.py:12`."""
    frame = sys._getframe(2)
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
