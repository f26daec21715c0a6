"""Personal data becomes fixed tokens; science stays as it is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.labels.pii import mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Write to jane.doe+labs@physics.example.edu.", "Write to [EMAIL]."),
        ("<first_last@mail.co.uk>", "<[EMAIL]>"),
        ("Call 1-800-547-8367 or click", "Call [PHONE] or click"),
        ("(434) 592-3600", "[PHONE]"),
        ("phone 555-123-4567", "phone [PHONE]"),
        ("Office: 404.943.0800", "Office: [PHONE]"),
        ("+49 (0)40 890 85-433", "[PHONE]"),
        ("+44 20 7946 0018", "[PHONE]"),
        ("+491638544695", "[PHONE]"),
        ("Tel: (011) 607-9500", "Tel: [PHONE]"),
        ("Telephone: 020 7946 0018", "Telephone: [PHONE]"),
        ("server 192.168.100.12 answered", "server [IP] answered"),
        ("from 2001:db8:85a3::8a2e:370:7334.", "from [IP]."),
        ("card 4111 1111 1111 1111", "card [CARD]"),
        ("Visa: 4012888888881881", "Visa: [CARD]"),
        ("Amex 3782 822463 10005", "Amex [CARD]"),
        ("IBAN GB82 WEST 1234 5698 7654 32", "IBAN [IBAN]"),
        ("DE89370400440532013000", "[IBAN]"),
        ("SSN: 078-05-1120", "SSN: [SSN]"),
    ],
)
def test_personal_data_becomes_a_fixed_token(text: str, masked: str) -> None:
    assert mask(text) == (masked, 1)


@pytest.mark.parametrize(
    "text",
    [
        "Avogadro's number is 6.02214076 × 10²³ per mole, or 6.022e23.",
        "Light travels at 299 792 458 m/s, about 186,282 miles per second.",
        "The elementary charge is 1.602 176 634 × 10⁻¹⁹ C.",
        "π = 3.14159265358979323846, and e = 2.718281828459045",
        "pH: 7.4 6.8 5.2 10.1 2.33",
        "Uranium-235, carbon-14, 238.050788 u, ²³⁹Pu: 239.052157 u",
        "33.8688° S, 151.2093° E; 40°26′46″N 79°58′56″W",
        "From 2019-12-31 to 1969-07-20, 20:17:40 UTC; 1914–1918",
        "Section 1.2.3.4 of version 10.0.1.2, figure 3-2-1",
        "CAS 7732-18-5, ISBN 978-3-16-148410-0, doi:10.1000/182",
        "| 47 | Silver | 107 | 106.905 092 | 51.84% |",
        "2 H₂ + O₂ → 2 H₂O; Δm = 239.052157 u − (235.043924 u + 4.002602 u)",
        "cell 12 345 678 of the table, mobile phase 10 20 30 40",
        "the sequence 3141592653589793 and 4111111111111111",
        "078-05-1120 is a part number, 000-00-0000 another",
        "12:30:45:10 at ratio 123-456-7890-12",
        "user@localhost, @handle, a @ b, meet@noon",
        "populations of +250 300 400 and 331 449 281 people",
        "1 234 567 890 km; 384,400 km; 1.496e+11 m; 555 nm",
        "the address 127.0.0.1 and the mask 10.0.0.1",
        "4111 1111 1111 1112 fails the check sum",
        "GB82 WEST 1234 5698 7654 33",
    ],
)
def test_science_is_not_falsified(text: str) -> None:
    assert mask(text) == (text, 0)


def test_the_count_is_the_number_of_things_masked() -> None:
    assert mask("a@b.org, a@b.org and 800-638-9797") == ("[EMAIL], [EMAIL] and [PHONE]", 3)


def test_no_number_of_a_physics_book_is_masked(shared_data: Path) -> None:
    changed = [
        path.name
        for path in sorted((shared_data / "web/openstax-physics/gold").glob("*.txt"))
        if mask(text := path.read_text("utf-8")) != (text, 0)
    ]
    assert changed == []


ALPHABET = st.sampled_from("0123456789 .-+()@ab:/[]EMAIL\n")


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(ALPHABET, max_size=80), st.text(max_size=80)))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once, _ = mask(text)
    assert mask(once) == (once, 0)


def test_title_and_author_of_a_page_are_masked_like_its_text() -> None:
    from builder.config import ExtractConfig, FilterConfig, LabelConfig
    from builder.deriving.page_stage import PageJob, PageSettings, PageStage

    text = "Lava flows down the slope of the old volcano, and it cools to a dark and heavy rock. " * 12
    html = (
        "<html><head><title>Notes by ann@school.example</title><meta name='author' content='bob@school.example'></head>"
        f"<body><article><h1>Notes</h1><p>{text}</p></article></body></html>"
    )
    stage = PageStage(PageSettings(extract=ExtractConfig(), filter=FilterConfig(), label=LabelConfig()))
    result = stage(
        PageJob(
            url="http://one.example/",
            body=html.encode(),
            charset="utf-8",
            fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
            html_sha256="0" * 64,
        )
    )
    assert result.page is not None
    assert result.page.title == "Notes by [EMAIL]"
    assert "@" not in (result.page.author or "")
    assert result.page.flags == ("pii_masked",)
