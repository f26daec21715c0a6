"""Whether the marker of a pin, such as `python_version < "3.14"`, has the form and the names that pip knows.

Written here because the core install has no package that reads markers.
"""

from __future__ import annotations

import re

_NAMES = [
    "os_name",
    "sys_platform",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_version",
    "python_full_version",
    "implementation_name",
    "implementation_version",
    "extra",
]
"""The variables of markers (PEP 508)."""
_TEXT = r"""(?:"[^"]*"|'[^']*')"""
_NAME = rf"\b(?:{'|'.join(_NAMES)})\b"
_SIGN = r"(?: *(?:===|==|~=|!=|<=|>=|<|>) *| *\b(?:not +)?in\b *)"
_COMPARED = re.compile(rf"(?:{_NAME}{_SIGN}{_TEXT}|{_TEXT}{_SIGN}{_NAME})")
_WORD = re.compile(rf"{_TEXT}|([A-Za-z_][A-Za-z0-9_.]*)")
_JOINED = re.compile(r" *# *(?:and|or) *# *| *\( *# *\) *")
"""Two comparisons that are joined, or one in brackets; `#`, which no marker may hold, stands for a comparison."""
_OPERATORS = ["and", "or", "not", "in"]


def marker_fault(marker: str) -> str:
    """What is wrong with a marker, in words, or ''."""
    unknown = [word for word in _WORD.findall(marker) if word and word not in _NAMES + _OPERATORS]
    if unknown:
        return f"its marker has the name {unknown[0][:80]!a}, which markers do not have"
    left, before = _COMPARED.sub("#", marker), ""
    while left != before:
        left, before = _JOINED.sub("#", left), left
    return "" if left.strip() == "#" else "its marker is not a comparison, or several with `and` and `or`"
