"""From the bytes of a page to its text: which character set it is in, as browsers and then detection tell."""

from __future__ import annotations

import codecs
import re

SCAN_BYTES = 2_048
DETECT_BYTES = 100_000
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,100}encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
# The web's habit (WHATWG Encoding): a page that says Latin-1 or ASCII is in Windows-1252, one that says GB2312 in GBK.
_WEB_NAMES = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "iso8859-9": "cp1254"}
# Python codecs that are not character sets of the web (rot13, zip, idna …): a page must not be able to request them.
_NOT_TEXT = frozenset({"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "utf-7", "mbcs", "oem"})


def _codec(name: str | None) -> str | None:
    """Python's name of a character set, or None if it is unknown or none of the web's."""
    try:
        info = codecs.lookup(name or "")
        is_text = getattr(info, "_is_text_encoding", True)
    except (LookupError, ValueError):
        return None
    known = info.name.replace("_", "-") if info.name == "utf_7" else info.name
    if not is_text or known in _NOT_TEXT:
        return None
    return _WEB_NAMES.get(known, known)


def _declared(body: bytes) -> str | None:
    head = body[:SCAN_BYTES]
    found = _META.search(head) or _XML.search(head)
    name = _codec(found[1].decode("ascii")) if found else None
    # A page whose meta could be read as ASCII is not in UTF-16, even if it says so (WHATWG HTML, section 13.2.3.2).
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _detected(body: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(body[:DETECT_BYTES]).best()
    return _codec(best.encoding) or "cp1252" if best is not None else "cp1252"


def charset_of(body: bytes, header_charset: str | None) -> str:
    """The character set of a page: byte order mark, HTTP header, meta, valid UTF-8, then detection.

    A charset that the bytes contradict (declared UTF-8, but not decodable at all) is not believed.
    """
    return _charset_and_text(body, header_charset)[0]


def _charset_and_text(body: bytes, header_charset: str | None) -> tuple[str, str | None]:
    """The character set of a page, and its text if that had to be decoded to see that it is the right one."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name, None
    for said in (_codec(header_charset), _declared(body), "utf-8"):
        if said is not None and (text := _decoded(body, said)) is not None:
            return said, text
    return _detected(body), None


def _decoded(body: bytes, name: str) -> str | None:
    """The bytes as text in this character set; None if more than a rare one is damaged."""
    try:
        return body.decode(name)
    except UnicodeDecodeError:
        text = body.decode(name, "replace")
        return text if text.count("\ufffd") <= len(body) // 1_000 else None
    except (LookupError, ValueError):
        return None


def decode(body: bytes, header_charset: str | None) -> str:
    """The page's text; bytes that are not characters become U+FFFD. Never raises."""
    name, text = _charset_and_text(body, header_charset)
    return (body.decode(name, "replace") if text is None else text).removeprefix("\ufeff")
