"""The messages of msgspec about a value of the wrong type in our words: what it is, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    "int": "write a whole number without quotes",
    "float": "write a number without quotes",
    "bool": "write true or false without quotes",
    "array": 'write a list in brackets, such as ["one", "two"]',
    "object": "give each value its name",
}
_TYPE = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`")
_LENGTH = re.compile(r"Expected `(?P<kind>str|array|object)` of length (?P<sign><=|>=) (?P<n>\d+)")
_BOUND = re.compile(r"Expected `(?:int|float)` (?P<sign><=|>=|<|>) (?P<n>\S+)")
_PLACE = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`\Z")
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
    bare = _PLACE.sub("", message)
    inside = _inside(place["path"]) if place else ""
    if (found := _TYPE.fullmatch(bare)) is not None:
        wanted = [name for name in found["wanted"].split(" | ") if name != "null"]
        names = " or ".join(_NAMES.get(name, name) for name in wanted)
        got = _NAMES.get(found["got"], found["got"])
        return Mistyped(f"{inside}is {got}, not {names}", _REMEDIES.get(wanted[0], ""))
    if (found := _LENGTH.fullmatch(bare)) is not None:
        return _of_length(inside, found["kind"], found["sign"], int(found["n"]))
    if (found := _BOUND.fullmatch(bare)) is not None:
        what, remedy = _BOUNDS[found["sign"]]
        return Mistyped(f"{inside}{what} {found['n']}", f"{remedy} {found['n']}")
    if bare.startswith("Invalid enum value"):
        return Mistyped(
            f"{inside}{'has the ' if inside else ''}unknown value{bare.removeprefix('Invalid enum value')}", ""
        )
    return Mistyped(inside + bare, "")


def _inside(path: str) -> str:
    """The beginning of a sentence about a value inside of another one; empty for the value itself."""
    if path.startswith("."):
        return f"{path[1:]} "
    number = re.match(r"\[(\d+)\]", path)
    if number is not None:
        return f"item {int(number[1]) + 1} "
    return "a value in it " if path else ""


def _of_length(inside: str, kind: str, sign: str, n: int) -> Mistyped:
    unit = "characters" if kind == "str" else "items"
    if sign == "<=":
        return Mistyped(f"{inside}has more than {n:,} {unit}", "shorten it")
    return Mistyped(f"{inside}is empty" if n == 1 else f"{inside}has fewer than {n:,} {unit}", "fill it in")
