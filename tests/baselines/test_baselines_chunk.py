"""Chunkers: what no page may do to them, and each rule worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from baselines.chunk.pattern import BLANK_LINES_AND_HEADINGS, pattern, pieces
from baselines.chunk.per_page import per_page
from baselines.chunk.semantic import dissimilarities, limit, semantic, semantic_by, splits
from baselines.chunk.sentences import n_tokens, runs, sentences, windows
from baselines.parts import Chunk
from edu_rag.errors import ConfigError
from edu_rag.records import Span
from edu_rag.serve import SystemPage, SystemQuestion


def page_of(text: str, spans: Sequence[tuple[int, int]], page_id: str = "p1") -> SystemPage:
    return SystemPage(
        page_id=page_id, url="https://a.org/", title="", text=text, sentences=tuple(Span(*span) for span in spans)
    )


def joined(sentences: Sequence[str], gap: str = " ", page_id: str = "p1") -> SystemPage:
    spans, at = [], 0
    for sentence in sentences:
        spans.append((at, at + len(sentence)))
        at += len(sentence) + len(gap)
    return page_of(gap.join(sentences), spans, page_id)


def asked(*pages: SystemPage) -> SystemQuestion:
    return SystemQuestion(id="1", text="Why?", choices={}, kind="free_text", pages=pages)


def texts(chunk: Chunk, *pages: SystemPage) -> list[str]:
    return [passage.text for passage in chunk(asked(*pages))]


def by_letter(given_texts: Sequence[str]) -> NDArray[np.float32]:
    """A real, tiny encoder: how often a text has each of four letters, as a unit vector."""
    counts = np.array([[1e-6 + text.count(letter) for letter in "abcd"] for text in given_texts], dtype=np.float32)
    rows: NDArray[np.float32] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return rows


CHUNKERS: dict[str, Chunk] = {
    "sentences": sentences(),
    "windows": windows(tokens=12, overlap=5),
    "semantic": semantic_by(by_letter, buffer=2, tokens=12),
    "pattern": pattern(tokens=12),
    "pattern of a look-ahead": pattern(regex=r"(?=[A-Z])", tokens=3),
}
HOSTILE = st.text(alphabet=st.sampled_from("abA1#§.  \n\t\x00\u2028é漢"), max_size=80)


@st.composite
def hostile_pages(draw: st.DrawFn) -> SystemPage:
    """Any text, with any ordered spans on it: what a validated dataset may hold, and empty spans besides."""
    text = draw(HOSTILE)
    marks = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return page_of(text, list(zip(marks[::2], marks[1::2], strict=False)), draw(st.sampled_from("pq")))


@pytest.mark.parametrize("name", CHUNKERS)
@settings(max_examples=50, deadline=None)
@given(pages=st.lists(hostile_pages(), max_size=3))
def test_passages_are_distinct_spans_of_their_pages_with_words_in_them(name: str, pages: list[SystemPage]) -> None:
    passages = CHUNKERS[name](asked(*pages))
    assert all(any(p.page_id == q.page_id and q.text[p.start : p.end] == p.text for q in pages) for p in passages)
    folded = [" ".join(p.text.split()) for p in passages]
    assert all(folded)
    assert len(set(folded)) == len(folded)


@pytest.mark.parametrize("name", CHUNKERS)
@settings(max_examples=40, deadline=None)
@given(page=hostile_pages())
def test_no_sentence_is_lost_and_none_is_cut_but_by_a_delimiter(name: str, page: SystemPage) -> None:
    said = [" ".join(text.split()) for text in texts(CHUNKERS[name], page)]
    wanted = [" ".join(page.text[start:end].split()) for start, end in page.sentences]
    if name.startswith("pattern"):
        assert set("".join(wanted)) - {" "} <= set("".join(said))
    else:
        assert all(any(sentence in text for text in said) for sentence in wanted if sentence)


@settings(max_examples=150, deadline=None)
@given(lengths=st.lists(st.integers(0, 9), max_size=25), tokens=st.integers(1, 12), overlap=st.integers(0, 11))
def test_windows_hold_the_limit_never_overlap_more_and_each_adds_a_sentence(
    lengths: list[int], tokens: int, overlap: int
) -> None:
    overlap = min(overlap, tokens - 1)
    found = runs(lengths, tokens, overlap)
    assert sorted({n for first, end in found for n in range(first, end)}) == list(range(len(lengths)))
    for first, end in found:
        assert sum(lengths[first:end]) <= tokens or end - first == 1
        # No sentence more would have fitted.
        assert end == len(lengths) or sum(lengths[first : end + 1]) > tokens
    for (first, end), (after, later) in pairwise(found):
        assert first < after <= end < later
        assert sum(lengths[after:end]) <= overlap


def test_windows_worked_out_by_hand() -> None:
    # Sentences of 3, 4, 2, 3 and 9 tokens, at most 8 a window, at most 5 repeated.
    # From 0: 3 + 4 = 7, and 2 more are 9 > 8: sentences 0, 1. Back: 4 <= 5, and 4 + 3 = 7 > 5: the next starts with 1.
    # From 1: 4 + 2 = 6, 3 more are 9 > 8: 1, 2. Back: 2 <= 5, 2 + 4 = 6 > 5: starts with 2.
    # From 2: 2 + 3 = 5, and 9 more never fit: 2, 3. Back to 3 would hold nothing new, since 3 + 9 > 8: starts with 4.
    # Sentence 4 has 9 tokens and is whole, alone.
    assert runs([3, 4, 2, 3, 9], 8, 5) == [(0, 2), (1, 3), (2, 4), (4, 5)]


def test_without_overlap_a_window_starts_where_the_last_one_ended() -> None:
    page = joined(["One two three.", "Four five.", "Six seven eight nine ten.", "Eleven."])
    # Tokens with their full stops: 4, 3, 6, 2; at most 8.
    assert texts(windows(tokens=8, overlap=0), page) == [
        "One two three. Four five.",
        "Six seven eight nine ten. Eleven.",
    ]


def test_words_and_marks_are_the_tokens_that_windows_count() -> None:
    # Water | ( | H2O | ) | isn | ' | t | dry | .
    assert n_tokens("Water (H2O) isn't dry.") == 9


def test_a_window_of_no_token_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"parts\.chunk\.tokens: 0 is under 1"):
        windows(tokens=0, overlap=0)


@pytest.mark.parametrize(("tokens", "overlap"), [(100, 100), (100, 101), (100, -1)])
def test_an_overlap_that_would_make_no_progress_is_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match="overlap"):
        windows(tokens=tokens, overlap=overlap)


def test_pages_keep_their_order_and_equal_texts_come_once() -> None:
    first, second = joined(["Ice melts.", "Snow falls."]), joined(["Snow   falls.", "Rain falls."], page_id="p2")
    found = sentences()(asked(first, second))
    assert [(p.page_id, p.text) for p in found] == [("p1", "Ice melts."), ("p1", "Snow falls."), ("p2", "Rain falls.")]


def test_a_page_is_cut_once_and_two_pages_under_one_id_are_two() -> None:
    cut: list[str] = []

    def first_letter(page: SystemPage) -> str:
        cut.append(page.text)
        return page.text[:1]

    made = per_page(first_letter)
    one, other = joined(["Ice melts."]), joined(["Snow falls."])
    assert [made(one), made(other), made(joined(["Ice melts."])), made(other)] == ["I", "S", "I", "S"]
    assert cut == ["Ice melts.", "Snow falls."]


def test_what_is_kept_of_pages_is_bounded_and_the_longest_unused_goes_first() -> None:
    cut: list[str] = []
    made = per_page(lambda page: cut.append(page.text), most=134)  # a page of 6 weighs 6 + 60 + 1: two are kept
    a, b, c = (joined([letter * 6]) for letter in "abc")
    for page in (a, b, a, c, a, b):
        made(page)
    # a and b are made; a is used again; c takes the place of b, so that a is still there, and b is made anew.
    assert [text[0] for text in cut] == ["a", "b", "c", "b"]
    made(joined(["d" * 50]))  # more than all that is kept: nothing remains, and nothing breaks
    made(a)
    assert [text[0] for text in cut] == ["a", "b", "c", "b", "d", "a"]


def test_a_page_of_countless_short_sentences_weighs_what_its_passages_do() -> None:
    cut: list[str] = []
    made = per_page(lambda page: cut.append(page.text), most=700)
    short = joined(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"])  # 12 sentences: over 720
    assert len(short.text) < 40
    for page in (short, short, joined(["a" * 300])):
        made(page)
    assert cut == [short.text, short.text, "a" * 300]


def test_dissimilarity_is_one_less_the_cosine_of_neighbours() -> None:
    # (1, 0) and (0.6, 0.8): cosine 0.6; (0.6, 0.8) and (-0.8, 0.6): 0.
    assert dissimilarities(np.array([[1, 0], [0.6, 0.8], [-0.8, 0.6]])) == pytest.approx([0.4, 1.0])


def test_the_percentile_lies_between_two_dissimilarities() -> None:
    # Four numbers: the 75th percentile is at place 0.75 * 3 = 2.25, a quarter of the way from 0.3 to 0.7.
    assert limit([0.7, 0.1, 0.3, 0.2], 75) == pytest.approx(0.4)
    assert limit([], 95) == float("inf")


def test_a_split_needs_a_dissimilarity_over_the_threshold_and_buffer_sentences_before_it() -> None:
    values = [0.9, 0.1, 0.8, 0.5, 0.6]
    # Over 0.5: after sentence 1 (0.9), after 3 (0.8), after 5 (0.6); 0.5 itself is not over.
    assert splits(values, 0.5, buffer=1) == [(0, 1), (1, 3), (3, 5), (5, 6)]
    # With two sentences at least: after 1 there is but one; after 3 there are three; after 5 two; one is left over.
    assert splits(values, 0.5, buffer=2) == [(0, 3), (3, 5), (5, 6)]
    assert splits(values, 0.5, buffer=4) == [(0, 5), (5, 6)]
    assert splits([], 0.5, buffer=1) == [(0, 1)]


def test_semantic_chunks_follow_the_topics_of_a_page_and_the_token_limit() -> None:
    page = joined(["a a", "aa", "b", "b b b", "bb", "c"])
    # The only unlike neighbours are aa | b and bb | c.
    assert texts(semantic_by(by_letter, threshold=0.5), page) == ["a a aa", "b b b b bb", "c"]
    assert texts(semantic_by(by_letter, threshold=0.5, buffer=3), page) == ["a a aa b b b b bb", "c"]
    # b, b b b and bb have 1 + 3 + 1 tokens.
    assert texts(semantic_by(by_letter, threshold=0.5, tokens=4), page) == ["a a aa", "b b b b", "bb", "c"]
    # Two of five dissimilarities are 1: the 50th percentile is 0, so that any unlike pair splits.
    assert texts(semantic_by(by_letter, percentile=50), page) == ["a a aa", "b b b b bb", "c"]


def test_blank_sentences_are_no_topic_of_their_own() -> None:
    page = page_of("a    a", [(0, 1), (1, 5), (5, 6)])
    assert texts(semantic_by(by_letter, threshold=0.5), page) == ["a    a"]


def test_the_real_encoder_parts_two_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    page = joined(
        [
            "Whales are mammals that live in the sea.",
            "Whales breathe air and feed milk to their young.",
            "An electric current is a flow of charge.",
            "The current in a wire is measured in amperes.",
        ]
    )
    found = texts(semantic(percentile=60), page)
    assert [text[:5] for text in found] == ["Whale", "An el"]


@pytest.mark.parametrize(
    "wrong",
    [{"percentile": 101.0}, {"percentile": float("nan")}, {"threshold": -0.1}, {"buffer": 0}, {"tokens": 0}],
)
def test_semantic_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        semantic_by(by_letter, **wrong)


def test_a_delimiter_opens_the_piece_that_it_begins() -> None:
    # HyPA-RAG's delimiter for a law.
    text = "Title\n§ 1 Words.\nMore.\n§ 2 Deeds."
    page = page_of(text, [(0, len(text))])
    assert texts(pattern(delimiter="\n§"), page) == ["Title", "§ 1 Words.\nMore.", "§ 2 Deeds."]
    assert pattern(delimiter="\n§")(asked(page))[1].span == ("p1", 6, 22)
    assert texts(pattern(regex=r"(?=§ \d)"), page) == ["Title", "§ 1 Words.\nMore.", "§ 2 Deeds."]


def test_without_a_delimiter_pages_split_at_blank_lines_and_headings() -> None:
    text = "Matter\nMatter has mass.\n\nIt has volume,\ntoo.\nStates of matter\nSolids\nIce is solid.\n# Liquids\nRain."
    spans = pieces(text, re.compile(BLANK_LINES_AND_HEADINGS))
    assert [text[start:end] for start, end in spans] == [
        "Matter\nMatter has mass.",
        "It has volume,\ntoo.",
        "States of matter\nSolids\nIce is solid.",
        "# Liquids\nRain.",
    ]


def test_a_piece_over_the_limit_is_cut_between_its_sentences() -> None:
    page = joined(["One two.", "Three four.", "Five six."], gap=" ")
    # Three tokens each, full stops included.
    assert texts(pattern(delimiter="\n", tokens=6), page) == ["One two. Three four.", "Five six."]
    assert texts(pattern(delimiter="\n", tokens=1), page) == ["One two.", "Three four.", "Five six."]


def test_a_delimiter_inside_a_sentence_splits_it() -> None:
    page = page_of("One two§three four.", [(0, 19)])
    assert texts(pattern(delimiter="§", tokens=2), page) == ["One two", "§three four."]


@pytest.mark.parametrize(
    "wrong", [{"regex": "("}, {"regex": ""}, {"delimiter": ""}, {"delimiter": "a", "regex": "b"}, {"tokens": 0}]
)
def test_a_wrong_pattern_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        pattern(**wrong)


def test_headings_are_found_in_a_time_that_grows_with_the_page_alone() -> None:
    text = "A" + " \t" * 20_000 + "\n" + "Aa" * 20_000 + "\n\n" * 20_000
    assert pieces(text, re.compile(BLANK_LINES_AND_HEADINGS))[0][0] == 0
