"""Numbers and dates that are the same though written differently, as far as a rule can be exact."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from harness.reading.folding import fold_writing

_SMALL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
)
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_MONTH_WORDS = "january february march april may june july august september october november december"
_TENS = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(), 2)}
_VALUES = {word: value for value, word in enumerate(_SMALL_WORDS.split())} | _TENS
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_MONTH = {name: number for number, name in enumerate(_MONTH_WORDS.split(), 1)}
_MONTH |= {name[:3]: number for name, number in _MONTH.items()} | {"sept": 9}
MAX_CHARACTERS = 60
"""Longer texts are not bare number and no bare date."""

_CURRENCIES = {"$": "usd", "us$": "usd", "€": "eur", "£": "gbp"}
_NUMBER = re.compile(
    r"(?P<sign>[-+])?(?P<currency>us\$|[$€£])?(?P<whole>0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,29})(?P<decimals>\.\d{1,30})?"
    r"(?: (?P<scale>hundred|thousand|million|billion|trillion))?(?P<percent> ?%| percent| per cent)?",
    re.ASCII,
)
_NAME = rf"(?P<month>{'|'.join(sorted(_MONTH, key=len, reverse=True))})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})",
        rf"{_NAME} {_DAY}(?:,? (?P<year>\d{{4}}))?",
        rf"(?:the )?{_DAY} (?:of )?{_NAME}(?:,? (?P<year>\d{{4}}))?",
        rf"{_NAME},? (?P<year>\d{{4}})",
    )
)
_LEAP_YEAR = 2000


class Quantity(NamedTuple):
    """A whole text read as a number with its unit (currency, percent or none), or as a date's known parts."""

    kind: str
    parts: tuple[object, ...]


def _of_words(text: str) -> int | None:
    """`twenty-one`, `three hundred and five`, `two million` as a whole number below 10^15; None for anything else."""
    total, current, last_scale = 0, 0, 10**15
    words = [word for word in text.replace("-", " ").split() if word != "and"]
    room = 1000  # what the next word of a group must stay below: no `two three`, no `twenty eleven`
    for word in words:
        value = _VALUES.get(word)
        if value is not None:
            if value >= room or (value == 0 and len(words) > 1):
                return None
            current, room = current + value, 10 if word in _TENS else 0
        elif word == "hundred" and 0 < current < 10:
            current, room = current * 100, 100
        elif word in _SCALES and word != "hundred" and current and _SCALES[word] < last_scale:
            last_scale = _SCALES[word]
            total, current, room = total + current * last_scale, 0, 1000
        else:
            return None
    return total + current if words else None


def _number(text: str) -> Quantity | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        in_words = _of_words(text)
        return None if in_words is None else Quantity("number", (Fraction(in_words), ""))
    unit = _CURRENCIES.get(match["currency"], "%" if match["percent"] else "")
    if match["currency"] and match["percent"]:
        return None
    decimals = match["decimals"] or ""
    if decimals.endswith("0") and not (unit or match["scale"]):
        return None  # 3.10 may be a version, which is not 3.1
    value = Fraction(match["whole"].replace(",", "") + decimals) * _SCALES.get(match["scale"], 1)
    return Quantity("number", (-value if match["sign"] == "-" else value, unit))


def _date(text: str) -> Quantity | None:
    for pattern in _DATES:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        found = match.groupdict()
        year, day = found.get("year"), found.get("day")
        month = _MONTH.get(found["month"]) or int(found["month"])
        try:
            date(int(year or _LEAP_YEAR), month, int(day or 1))
        except ValueError:
            return None
        return Quantity("date", (int(year) if year else None, month, int(day) if day else None))
    return None


def quantity_of(text: str) -> Quantity | None:
    """The number or date that the whole text is; None if it is neither, or where reading it would be a guess.

    `1,250,000` = `1.25 million`; `seven` = `7`; `5 %` = `5 percent`; but `$3.50` is not `3.5`: it has another unit.
    `2021-03-05` = `March 5th, 2021` = `5 Mar 2021`. `3/5/2021`, `007`, and `3.10` without a unit are not read.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    written = fold_writing(text).strip("\"'*_ ").rstrip(".!; ")
    return _date(written) or _number(written)
