"""Personal data in page texts, replaced by fixed tokens: the same text always gives the same bytes.

Precision comes first: a benchmark of science must not lose a constant, a coordinate or a table because it looks like
a telephone number. Every rule asks for a form that only the personal thing has, or for a check sum.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

_EMAIL = re.compile(
    r"(?<![\w.+-])[A-Za-z0-9_+][\w.+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}[A-Za-z]{2,24}"
    r"(?![\w@-])"
)
_CARD = re.compile(r"(?<![\w.,/-])(?:[3-6]\d{3}(?:[ -]\d{4}){3}|3[47]\d\d[ -]\d{6}[ -]\d{5})(?![\w/-]|\.\d)")
_NAMED_CARD = re.compile(
    r"(?i:\b(?:visa|master ?card|amex|american express|discover|(?:credit|debit) card)\b\D{0,30}?)(?<!\d)"
    r"([3-6]\d{12,15})(?!\d)"
)
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_SSN = re.compile(
    r"(?i:\b(?:ssn|social security (?:number|no\.?|#))\W{0,3}(?:is\W)?)\s*((?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4})"
    r"(?![\w-])"
)
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
# Possessive: nothing shorter can match, and a page of "a:aaaa…" would be cut in thousands of ways.
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{1,4}+(?:::?[0-9A-Fa-f]{1,4}+){1,7}+(?![\w:])")
_PHONE_WORD = r"(?:tel|telephone|phone|fax|call(?: us)?|hotline|toll[- ]free|whatsapp)"
_PHONE = re.compile(
    r"(?<![\w.,+/=*^)-])(?:"
    r"\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]\d{2,4}){1,4}"
    r"|\+\d{1,3}[ -]\d{7,12}|\+\d{9,14}"
    r"|(?:1[-. ])?\([2-9]\d\d\)[ .-]{0,2}\d{3}[-. ]\d{4}"
    r"|(?:1-)?[2-9]\d\d-\d{3}-\d{4}"
    r"|(?:1\.)?[2-9]\d\d\.[2-9]\d\d\.\d{4}"
    r"|1-8(?:00|33|44|55|66|77|88)-[0-9A-Z-]{7,11}"
    r")(?![\w/=^]|[.,-]\d| ?(?:[×°%]|(?:m|km|s|kg|g|K|J|N|V|W|A|Pa|Hz|mol|years?)\b))"
)
# Not `ph`, `cell`, `mobile`: pH values, cells of a battery and mobile phases come with numbers too.
_NAMED_PHONE = re.compile(
    rf"(?i:\b{_PHONE_WORD}\b(?: (?:no|number))?[.:]*(?: (?:at|on|us|is))?:? ?)"
    r"((?:\+|\(|0|[1-9]\d\d)[\d()–-]*(?:[ .][\d()–-]+){0,6}\d)(?![\w/%°]|[.,]\d| ?[×^])"
)


def _is_any(text: str) -> bool:
    return bool(text)


def _luhn(digits: str) -> bool:
    doubled = (int(char) * (2 if index % 2 else 1) for index, char in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _is_card(text: str) -> bool:
    digits = _digits(text)
    return len(set(digits)) > 1 and _luhn(digits)


def _is_iban(text: str) -> bool:
    """ISO 13616: the country and check digits moved to the end, letters as numbers, modulo 97 is 1."""
    packed = text.replace(" ", "")
    if not 15 <= len(packed) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in packed[4:] + packed[:4])) % 97 == 1


def _is_address(text: str) -> bool:
    """Whether four numbers are an IPv4 address and no version or section number: two of them have three digits."""
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return not address.is_loopback and sum(int(part) > 99 for part in text.split(".")) >= 2


def _is_ipv6(text: str) -> bool:
    """Whether it is an IPv6 address of four groups or more, and not a time or a ratio."""
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return len([part for part in text.split(":") if part]) >= 4 and any(len(part) > 2 for part in text.split(":"))


def _is_phone(text: str) -> bool:
    """Whether the digits are as many as a number has (E.164: at most 15); with a country's code at least 10."""
    return (10 if text.startswith("+") else 7) <= sum(char.isalnum() for char in text) <= 15


def _masker(token: str, accepts: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    def masked(match: re.Match[str]) -> str:
        group = 1 if match.re.groups else 0
        if not accepts(match[group]):
            return match[0]
        start = match.start(group) - match.start()
        return match[0][:start] + token + match[0][start + len(match[group]) :]

    return masked


_SEVEN_DIGITS = r"\d(?:(?:[() .–-]*\d){6}|-8\d\d-)"
_LONG_NUMBER = re.compile(_SEVEN_DIGITS)
_WITHOUT_NUMBERS = frozenset({_EMAIL, _IBAN, _IPV6})
"""The other rules need a number of seven digits or more (two of the four parts of an IPv4 address have three)."""
_RULES: tuple[tuple[re.Pattern[str], re.Pattern[str], str, Callable[[str], bool]], ...] = tuple(
    (re.compile(hint), pattern, token, accepts)
    for hint, pattern, token, accepts in (
        (r"@", _EMAIL, "[EMAIL]", _is_any),
        (r"[A-Z][A-Z]\d\d ?[A-Z0-9]{4}", _IBAN, "[IBAN]", _is_iban),
        (r"\d\d{3}[ -]\d{4,6}[ -]\d{4}", _CARD, "[CARD]", _is_card),
        (r"\d\d{12}", _NAMED_CARD, "[CARD]", _is_card),
        (r"\d\d\d-\d\d-\d{4}", _SSN, "[SSN]", _is_any),
        (r"\d\.\d{1,3}\.\d{1,3}\.\d", _IPV4, "[IP]", _is_address),
        (r":[0-9A-Fa-f]{0,4}:", _IPV6, "[IP]", _is_ipv6),
        (_SEVEN_DIGITS, _NAMED_PHONE, "[PHONE]", _is_phone),
        (_SEVEN_DIGITS, _PHONE, "[PHONE]", _is_phone),
    )
)
"""(required text, rule, its token, its check): `re` finds a pattern's start fast if it begins without a repeat."""


def mask(text: str) -> tuple[str, int]:
    """The text with personal data replaced by `[EMAIL]`, `[IBAN]`, `[CARD]`, `[SSN]`, `[IP]`, `[PHONE]`; and how many.

    Masking a masked text changes nothing.
    """
    n_masked = 0
    has_numbers = _LONG_NUMBER.search(text) is not None
    for hint, pattern, token, accepts in _RULES:
        if not (has_numbers or pattern in _WITHOUT_NUMBERS) or hint.search(text) is None:
            continue
        before = text.count(token)
        text = pattern.sub(_masker(token, accepts), text)
        n_masked += text.count(token) - before
    return text, n_masked
