"""Sentences: offsets that lie in the text, in order, and lose no character."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from calibration import slowdown
from hypothesis import given
from hypothesis import strategies as st

from builder.extract.sentence_splitter import split_sentences
from builder.labels.language import language_of, page_flags
from edu_rag.records import Span

PIECES = st.sampled_from(
    [
        "Dr. ",
        "e.g. ",
        "pH 7.4. ",
        "What? ",
        "No! ",
        "E. coli ",
        "\n",
        "\r\n",
        "\u2028",
        "Fig. 3 ",
        "...",
        '"Yes." ',
        "x",
        " ",
        "\u00a0",
    ]
)


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["It is approx. 5 cm long (see Fig. 3).", "E. coli grows at 37 °C."],
        ["Dr. Smith et al. found CO2 vs. O2.", "The pH is 7.4.", "Is it so?", "Yes!"],
        ["The U.S. has many sp. of birds, e.g. the robin.", "They fly."],
        ["Light moves at 3.0 x 10⁸ m/s.", "Sound does not."],
        ["See Eq. 4 and Figs. 5 and 6.", "Then go on."],
    ],
)
def test_abbreviations_of_science_end_no_sentence(sentences: list[str]) -> None:
    assert cut(" ".join(sentences)) == sentences


def test_a_line_of_more_possible_ends_than_a_page_may_have_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.extract.sentence_splitter.MAX_ENDS", 3)
    assert cut("It is. So.\nA b. C d. E f. G h.\nOne more. Two more. Three.\nFour. Five.") == [
        "It is.",
        "So.",
        "A b. C d. E f. G h.",
        "One more.",
        "Two more.",
        "Three.",
        "Four. Five.",
    ]


def test_a_line_break_always_ends_a_sentence() -> None:
    assert cut("Heading\nFirst item\n\n  Second item e.g.\nfive") == [
        "Heading",
        "First item",
        "Second item e.g.",
        "five",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u00a0\u2028"])
def test_blank_text_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == ()


@given(st.text(max_size=300) | st.lists(PIECES, max_size=40).map("".join))
def test_spans_are_ordered_trimmed_and_hold_every_character_that_is_no_space(text: str) -> None:
    spans = split_sentences(text)
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip() != ""
        assert text[last:start].strip() == ""
        last = end
    assert text[last:].strip() == ""
    assert all(isinstance(span, Span) for span in spans)


@given(st.lists(PIECES, max_size=20).map("".join), st.lists(PIECES, max_size=20).map("".join))
def test_lines_are_cut_independently(first: str, second: str) -> None:
    shift = len(first) + 1
    expected = [*split_sentences(first), *(Span(a + shift, b + shift) for a, b in split_sentences(second))]
    assert list(split_sentences(f"{first}\n{second}")) == expected


def test_real_text_is_cut_at_a_megabyte_a_second(shared_data: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((shared_data / "web").rglob("gold/*.txt"))]
    split_sentences("Load the parameters first. Now.")
    started = time.process_time()
    n_sentences = sum(len(split_sentences(text)) for text in texts)
    megabytes = sum(len(text) for text in texts) / 1e6
    assert megabytes / (time.process_time() - started) > 1.0 / slowdown()
    assert 25_000 < n_sentences < 30_000


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The Earth moves around the Sun once in a year, and the Moon around the Earth.", "en"),
        ("Die Erde bewegt sich in einem Jahr einmal um die Sonne, der Mond um die Erde.", "de"),
        ("Die aarde draai om die son. Ons kan dit sien aan die seisoene, wat elke jaar weer kom.", "af"),
        ("", None),
        ("12 + 34 = 46 \n\0", None),
    ],
)
def test_the_language_of_a_text_is_told_and_nothing_is_made_up(text: str, language: str | None) -> None:
    assert language_of(text) == language


@given(st.text(max_size=200))
def test_any_text_has_a_language_or_none_and_twice_the_same(text: str) -> None:
    assert language_of(text) == language_of(text)


def test_short_and_foreign_pages_are_flagged() -> None:
    assert page_flags("x" * 499, "en") == ("short",)
    assert page_flags("x" * 500, "de") == ("not_english",)
    assert page_flags("x" * 10, "af") == ("short", "not_english")
    assert page_flags("x" * 500, None) == ()
