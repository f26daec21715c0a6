"""The messages of msgspec about a value of the wrong type in our words: what it is, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Mistyped(NamedTuple):
    """What is wrong with a value, and the remedy, which may be empty."""

    what: str
    remedy: str


_NAMES: Mapping[str, str] = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table of names and values",
    "null": "empty",
    "date": "a date",
    "datetime": "a time",
    "time": "a time",
    "bytes": "bytes",
}
_REMEDIES: Mapping[str, str] = {
    "str": "write a text in quotes",
    "int": "write a whole number",
    "float": "write a number",
    "bool": "write true or false",
    "array": 'write a list in brackets, such as ["one", "two"]',
    "object": "give each value its name",
    "null": "leave it out",
}
_UNQUOTED = ("int", "float", "bool")
_PLAIN: Mapping[str, Mistyped] = {
    "Expected `int`": Mistyped("is not a whole number", _REMEDIES["int"]),
    "Expected `str`": Mistyped("is not a text", _REMEDIES["str"]),
    "Integer value out of range": Mistyped("is out of range", "write one nearer to 0"),
    "Number out of range": Mistyped("is out of range", "write one nearer to 0"),
    "Invalid RFC3339 encoded datetime": Mistyped("is not a time", "2026-11-21T09:30:00Z is one"),
    "Invalid RFC3339 encoded date": Mistyped("is not a date", "2026-11-21 is one"),
    "Invalid RFC3339 encoded time": Mistyped("is not a time of a day", "09:30:00 is one"),
    "Invalid ISO8601 duration": Mistyped("is not a duration", "PT90S is one"),
    "Invalid epoch timestamp": Mistyped("is not a time", "2026-11-21T09:30:00Z is one"),
    "Timestamp is out of range": Mistyped("is a time out of range", "2026-11-21T09:30:00Z is one"),
    "Duration is out of range": Mistyped("is a duration out of range", "PT90S is one"),
    "Invalid UUID": Mistyped("is not a UUID", ""),
    "Invalid decimal string": Mistyped("is not a number", _REMEDIES["float"]),
    "Invalid base64 encoded string": Mistyped("is not base64", ""),
}
_TYPE = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`")
_LENGTH = re.compile(r"Expected `(?P<kind>str|bytes|array|object)` of length (?P<sign><=|>=) (?P<n>\d+)")
_ITEMS = re.compile(
    r"Expected `array` of (?:(?P<at>at least|at most) )?length (?P<n>\d+)(?: to (?P<most>\d+))?(?:, got (?P<got>\d+))?"
)
_BOUND = re.compile(r"Expected `(?:int|float)` (?P<sign><=|>=|<|>) (?P<n>\S+)")
_MULTIPLE = re.compile(r"Expected `(?:int|float)` that's a multiple of (?P<n>\S+)")
_PATTERN = re.compile(r"Expected `str` matching regex (?P<pattern>.+)", re.DOTALL)
_ZONE = re.compile(r"Expected `[^`]+` with (?P<which>a|no) timezone component")
_FIELD = re.compile(r"Object (?P<fault>missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL)
_VALUE = re.compile(r"Invalid (?:enum )?value (?P<value>.+)", re.DOTALL)
_PLACE = re.compile(r" +- at (?P<key>`key` in )?`\$(?P<path>[^`]*)`\Z")
_STEP = re.compile(r"\[(?P<number>\d+)\]|(?P<any>\[\.\.\.\])|\.(?P<names>[^\[]+)")
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "<=": ("is above", "give at most"),
    ">=": ("is below", "give at least"),
    "<": ("is not below", "give less than"),
    ">": ("is not above", "give more than"),
}


def type_name(value: object) -> str:
    """What a plain value of JSON or TOML is, in our words."""
    names = {"str": "str", "int": "int", "float": "float", "bool": "bool", "list": "array", "dict": "object"}
    name = type(value).__name__
    return _NAMES["null"] if value is None else _NAMES.get(names.get(name, name), name)


def mistyped(message: str) -> Mistyped:
    """A message of msgspec in our words; one that has none comes back as it is, without its path to the value."""
    place = _PLACE.search(message)
    bare = message[: place.start()] if place else message
    inside = _inside(place["path"], is_key=place["key"] is not None) if place else ""
    for pattern, worded in _WORDED:
        if (found := pattern.fullmatch(bare)) is not None:
            what, remedy = worded(found)
            break
    else:
        what, remedy = _PLAIN.get(bare, Mistyped(bare, ""))
    if place and place["key"]:
        remedy = ""  # the remedies are for values
    if what.startswith("unknown value") and inside:
        what = f"has the {what}"
    return Mistyped(f"{inside} {what}" if inside else what, remedy)


def _inside(path: str, *, is_key: bool) -> str:
    """The words for a value inside of another one, from the innermost out; empty for the value itself."""
    words = ["a key"] if is_key else []
    for step in reversed(list(_STEP.finditer(path))):
        if step["number"] is not None:
            words.append(f"item {int(step['number']) + 1}")
        elif step["any"]:
            words.append("a value")
        else:
            words.append(step["names"])
    if words and words[-1] == "a value":
        words[-1] = "a value in it"
    return " of ".join(words)


def _of_type(found: re.Match[str]) -> Mistyped:
    wanted = [name for name in found["wanted"].split(" | ") if name != "null"] or ["null"]
    names = " or ".join(_NAMES.get(name, name) for name in wanted)
    remedy = _REMEDIES.get(wanted[0], "")
    if found["got"] == "str" and wanted[0] in _UNQUOTED:
        remedy += " without quotes"
    return Mistyped(f"is {_NAMES.get(found['got'], found['got'])}, not {names}", remedy)


def _counted(n: int, kind: str) -> str:
    unit = {"str": "character", "bytes": "byte"}.get(kind, "item")
    return f"{n:,} {unit}" if n == 1 else f"{n:,} {unit}s"


def _of_length(found: re.Match[str]) -> Mistyped:
    n, kind = int(found["n"]), found["kind"]
    if found["sign"] == "<=":
        return (
            Mistyped(f"has more than {_counted(n, kind)}", "shorten it") if n else Mistyped("is not empty", "empty it")
        )
    return Mistyped("is empty" if n == 1 else f"has fewer than {_counted(n, kind)}", "fill it in")


def _of_items(found: re.Match[str]) -> Mistyped:
    n = int(found["n"])
    wanted = (
        f"{found['at']} {n:,}" if found["at"] else f"{n:,} to {int(found['most']):,}" if found["most"] else f"{n:,}"
    )
    has = f"has {_counted(int(found['got']), 'array')}, not {wanted}" if found["got"] else f"has not {wanted} items"
    return Mistyped(has, f"give {wanted}")


def _of_bound(found: re.Match[str]) -> Mistyped:
    what, remedy = _BOUNDS[found["sign"]]
    return Mistyped(f"{what} {found['n']}", f"{remedy} {found['n']}")


def _of_multiple(found: re.Match[str]) -> Mistyped:
    return Mistyped(f"is not a multiple of {found['n']}", "give one")


def _of_pattern(found: re.Match[str]) -> Mistyped:
    return Mistyped(f"does not match the pattern {found['pattern']}", "write it as the pattern has it")


def _of_zone(found: re.Match[str]) -> Mistyped:
    if found["which"] == "a":
        return Mistyped("has no time zone", "2026-11-21T09:30:00Z has one")
    return Mistyped("has a time zone", "leave the zone out")


def _of_field(found: re.Match[str]) -> Mistyped:
    if found["fault"] == "missing required":
        return Mistyped(f"has no field {found['name']!r}", "add it")
    return Mistyped(f"has the unknown field {found['name']!r}", "remove it")


def _of_value(found: re.Match[str]) -> Mistyped:
    return Mistyped(f"unknown value {found['value']}", "")


_WORDED: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Mistyped]]] = (
    (_TYPE, _of_type),
    (_LENGTH, _of_length),
    (_ITEMS, _of_items),
    (_BOUND, _of_bound),
    (_MULTIPLE, _of_multiple),
    (_PATTERN, _of_pattern),
    (_ZONE, _of_zone),
    (_FIELD, _of_field),
    (_VALUE, _of_value),
)
"""Each form of a message, and what words it."""
