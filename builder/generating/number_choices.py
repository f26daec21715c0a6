"""Wrong numbers for a right one, made by rule: the same unit and form, and surely another value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from builder.generating.lone_numbers import is_bare, is_year

LAST_YEAR = 2025
MOST_DIGITS = 15
_DIGITS = re.compile(r"\d[\d.,]*(?: \d{3})*")
_PLAIN = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+)(?:\.\d+)?", re.ASCII)
"""A number as it is written in English; "1.2.3" and "3,5" are not."""
_COUNTS_SEVERAL = re.compile(r" [a-z]")
"""A unit in words, in the plural: one of it would look wrong."""
_FACTORS = tuple(map(Decimal, ("0.1", "0.25", "0.5", "0.75", "1.5", "2", "3", "4", "10")))
"""A number near to the right one could be right, too, where that one is rounded."""
_YEARS = (-60, -45, -30, -20, -10, 10, 20, 30, 45, 60)
LEAST_APART = Decimal("1.2")


def wrong_numbers(right: str) -> list[str]:
    """Wrong numbers with the right one's unit, in the order of their values; none near to it or to one before."""
    found = _DIGITS.match(right)
    if found is None:
        return []
    digits = found[0].rstrip(".,")
    rest = right[len(digits) :]
    if len(digits) > MOST_DIGITS or not _PLAIN.fullmatch(digits):
        return []
    if is_bare(right) and is_year(right):
        return [str(int(right) + by) for by in _YEARS if int(right) + by <= LAST_YEAR]
    values = _values(digits, is_share=_is_share(rest))
    return [f"{_spelled(value, digits)}{rest}" for value in values if value != 1 or not _COUNTS_SEVERAL.match(rest)]


def _is_share(rest: str) -> bool:
    return rest.startswith(("%", " percent"))


def _values(digits: str, *, is_share: bool) -> Iterator[Decimal]:
    """Each is apart from the right one and from the others, and has two telling digits or as many as the right one."""
    right = Decimal(re.sub(r"[, ]", "", digits))
    known = [right]
    for factor in _FACTORS:
        value = _rounded(right * factor, right)
        if value > 0 and not (is_share and right < 100 <= value) and all(_apart(value, other) for other in known):
            known.append(value)
            yield value


def _rounded(value: Decimal, right: Decimal) -> Decimal:
    """With as many decimal places as the right one; a whole number with as many telling digits."""
    exponent = int(right.as_tuple().exponent)
    if exponent < 0:
        return value.quantize(Decimal(1).scaleb(exponent), rounding=ROUND_HALF_UP)
    n_telling = max(2, len(right.normalize().as_tuple().digits))
    place = max(value.adjusted() - n_telling + 1, exponent)
    return value.quantize(Decimal(1).scaleb(place), rounding=ROUND_HALF_UP)


def _apart(one: Decimal, other: Decimal) -> bool:
    return max(one, other) >= min(one, other) * LEAST_APART and one != other


def _spelled(value: Decimal, like: str) -> str:
    """The value with the grouping of its digits that the right one has."""
    mark = next((mark for mark in (",", " ") if mark in like), "")
    return f"{value:,f}".replace(",", mark)
