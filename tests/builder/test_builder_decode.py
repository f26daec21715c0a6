"""Character sets: what a page is in, as browsers tell; no page makes decoding fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.extract.decode import charset_of, decode

WORDS = "Größe, naïve café — “quotes” and so on, in a text that is long enough to tell. "


@pytest.mark.parametrize(
    ("body", "header", "charset"),
    [
        (WORDS.encode("utf-8"), None, "utf-8"),
        (WORDS.encode("cp1252"), "iso-8859-1", "cp1252"),
        (WORDS.encode("cp1252"), "ISO-8859-1", "cp1252"),
        (b'<meta charset="windows-1252">' + WORDS.encode("cp1252"), None, "cp1252"),
        (b"<meta http-equiv=content-type content='text/html; charset=latin1'>x", None, "cp1252"),
        (b'<?xml version="1.0" encoding="ISO-8859-15"?>' + "€".encode("iso-8859-15"), None, "iso8859-15"),
        (b'<meta charset="utf-16">plain', None, "utf-8"),
        (b"\xef\xbb\xbf" + WORDS.encode(), "iso-8859-1", "utf-8"),
        (b"\xff\xfe" + "x".encode("utf-16-le"), None, "utf-16-le"),
        (b'<meta charset="utf-8">' + "привет ".encode("cp1251") * 30, "windows-1251", "cp1251"),
        ("漢字かな交じり文です。".encode("shift_jis") * 5, "Shift_JIS", "shift_jis"),
    ],
)
def test_mark_header_meta_and_utf8_are_believed_in_this_order(body: bytes, header: str | None, charset: str) -> None:
    assert charset_of(body, header) == charset


def test_a_declared_utf8_that_the_bytes_contradict_is_not_believed() -> None:
    body = ("<meta charset=utf-8><p>" + "Die Größe der Bäume, über die wir müßten. " * 20).encode("cp1252")
    assert "Größe der Bäume" in decode(body, "utf-8")


def test_one_damaged_character_does_not_change_the_charset() -> None:
    body = WORDS.encode() * 20 + b"\xff"
    assert charset_of(body, "utf-8") == "utf-8"
    assert decode(body, "utf-8").endswith("\ufffd")


@pytest.mark.parametrize(
    "name", ["rot13", "zip", "idna", "punycode", "unicode_escape", "utf-7", "no-such", "", "base64", "\0"]
)
def test_a_codec_that_is_no_charset_of_the_web_cannot_be_had_by_asking(name: str) -> None:
    assert decode(b"plain text", name) == "plain text"


@given(st.binary(max_size=400), st.none() | st.sampled_from(["utf-8", "utf-16", "cp1252", "gb2312", "hz", "utf-32"]))
def test_any_bytes_are_decoded(body: bytes, header: str | None) -> None:
    decode(body, header).encode("utf-8", "surrogatepass")
