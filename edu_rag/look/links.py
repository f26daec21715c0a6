"""Which declared links may become links: http, https and mailto in plain characters; all else is shown as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
