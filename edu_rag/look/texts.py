"""Declared texts, numbers and links for display: clipped, and harmless to a page, a terminal or a table cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

# An unclosed isolate (U+2066..2068) swallows the end of its <bdi>, and reverses the text after it.
# Nor may a page or a feed hold Unicode's noncharacters: the last two of each plane, and 32 more.
_NO_CHARACTERS = "\ufdd0-\ufdef" + "".join(f"{chr(top - 1)}{chr(top)}" for top in range(0xFFFF, 0x110000, 0x10000))
_NOT_IN_HTML = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069{_NO_CHARACTERS}]")
JOINERS = "\u200c\u200d"
"""Not printable by themselves, but Persian words and many emoji need them."""


def plain(value: object) -> object:
    """Replace characters that a page cannot hold: control characters and their like, bidi overrides.

    Markup made by us and values other than texts pass through.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _NOT_IN_HTML.sub("\ufffd", value)


def one_line(text: str) -> str:
    """A text for a terminal or a CSV cell: characters that cannot be printed become blanks."""
    return "".join(char if char.isprintable() or char in JOINERS else " " for char in text)


def clip(text: str, length: int) -> str:
    """At most this many characters, with an ellipsis in place of the rest."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def quoted(text: str, length: int) -> str:
    """A text in quotes on one line, all of it ASCII; of a longer one the beginning, an ellipsis inside the quotes."""
    shown = ascii(text)
    return shown if len(shown) <= length else f"{shown[: length - 2]}…{shown[0]}"


def signed(value: float) -> str:
    """A score with three decimals and a true minus sign; a value that rounds to zero carries no sign."""
    text = f"{value:.3f}"
    return text.replace("-", "−") if float(text) else "0.000"


def delta(value: float, decimals: int = 3) -> str:
    """A difference with its sign, a true minus; what rounds to zero carries none."""
    text = f"{value:+,.{decimals}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text[1:]


def percent(value: float | None) -> str:
    """A rate as a percentage with one decimal; a dash if there is none."""
    return "–" if value is None else f"{value * 100:.1f}"


def seconds(value: float | None) -> str:
    """A duration in seconds, three digits where they mean something."""
    if value is None:
        return "–"
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def date(value: datetime | None) -> str:
    """The day in UTC."""
    return "–" if value is None else f"{value:%Y-%m-%d}"


# Plain ASCII without quotes, brackets, backslashes or blanks: what a browser would have to repair is not a link.
_WEB = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[A-Za-z0-9._~:/?#@!$&()*+,;=%-]*)?\Z", re.IGNORECASE)
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+\Z")
MAX_LINK = 500


def safe_link(text: str) -> str | None:
    """The address to link to, or None if the text must stay text. A bare mail address becomes mailto:."""
    text = text.strip(" ")
    if len(text) > MAX_LINK:
        return None
    if _WEB.match(text):
        return text
    address = text[len("mailto:") :] if text[:7].lower() == "mailto:" else text
    return f"mailto:{address}" if _MAIL.match(address) else None


def first_link(links: Sequence[str]) -> str | None:
    """The first declared link that leads to a web page."""
    for link in links:
        address = safe_link(link)
        if address is not None and not address.startswith("mailto:"):
            return address
    return None
