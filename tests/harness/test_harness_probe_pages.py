from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.files.jsonl import MAX_LINE_BYTES, to_line
from edu_rag.records import Evidence, Question, Span, WebPage, page_id_of
from edu_rag.scorecard.card import Passage, Prediction
from harness.probing.probe_questions import (
    MAX_SPANS,
    EvidencePages,
    ProbeSource,
    half_noise,
    may_permute,
    other_pages,
    permute,
)
from harness.probing.probe_rates import position_p

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
SENTENCES = ("Cells divide by mitosis.", "Water boils.", "Ice floats on water.")


def page(i: int) -> WebPage:
    text, spans = "", []
    for sentence in SENTENCES:
        spans.append(Span(len(text), len(text) + len(sentence)))
        text += sentence + " "
    url = f"http://site{i}.example/"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=f"Page {i}",
        text=text,
        sentences=tuple(spans),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor="test",
    )


def question(
    i: int, choices: Sequence[str] = ("ice", "fire"), kind: str = "multiple_choice", **more: object
) -> Question:
    return Question(
        question_id=f"q{i:03}",
        text="What?",
        choices=dict(zip("abcdefg", choices, strict=False)),
        kind=kind,  # type: ignore[arg-type]
        split="test",
        **more,  # type: ignore[arg-type]
    )


def source(pages: Sequence[Sequence[int]], telling: dict[int, set[int]] | None = None) -> ProbeSource:
    questions = [question(i) for i in range(len(pages))]
    tells = telling or {}
    return ProbeSource(
        questions,
        {f"q{i:03}": [page(j) for j in own] for i, own in enumerate(pages)},
        {},
        {f"q{i:03}": frozenset(page(j).page_id for j in tells.get(i, ())) for i in range(len(pages))},
    )


def ids(pages: Sequence[WebPage]) -> list[str]:
    return [one.page_id for one in pages]


SOURCES = st.lists(st.lists(st.integers(0, 12), max_size=5, unique=True), min_size=1, max_size=12).flatmap(
    lambda pages: st.builds(
        source,
        st.just(pages),
        st.dictionaries(st.integers(0, len(pages) - 1), st.sets(st.integers(0, 12), max_size=3)),
    )
)


@settings(max_examples=80, deadline=None)
@given(SOURCES, st.integers(0, 5))
def test_other_pages_are_another_questions_and_tell_nothing(from_: ProbeSource, seed: int) -> None:
    given_pages = other_pages(from_, seed)
    whole = [tuple(ids(pages)) for pages in from_.pages.values() if pages]
    got = Counter(tuple(ids(pages)) for pages in given_pages.values())
    assert all(n <= whole.count(pages) for pages, n in got.items())
    for question_id, pages in given_pages.items():
        assert from_.pages[question_id]
        assert not set(ids(pages)) & set(ids(from_.pages[question_id]))
        assert not set(ids(pages)) & from_.telling[question_id]


def test_other_pages_are_a_seeded_derangement_of_all_questions_where_there_is_one() -> None:
    from_ = source([[i, 100 + i] for i in range(20)])
    first, second = other_pages(from_, 0), other_pages(from_, 1)
    assert len(first) == 20
    assert first == other_pages(from_, 0) != second
    assert sorted(map(ids, first.values())) == sorted(map(ids, from_.pages.values()))
    backwards = ProbeSource(from_.questions[::-1], dict(reversed(from_.pages.items())), {}, from_.telling)
    assert other_pages(backwards, 0) == first


def test_a_question_that_no_other_pages_suit_is_left_out() -> None:
    assert other_pages(source([[1]]), 0) == {}
    assert other_pages(source([[1], [1], [1]]), 0) == {}
    assert other_pages(source([[1], []]), 0) == {}
    # The third's page tells of both others, so that it is nobody's.
    served = other_pages(source([[1], [2], [3]], {0: {3}, 1: {3}}), 0)
    assert len(served) == 2
    assert page(3).page_id not in {page_id for pages in served.values() for page_id in ids(pages)}


@settings(max_examples=80, deadline=None)
@given(SOURCES, st.integers(0, 5))
def test_half_noise_replaces_half_in_place_by_pages_that_tell_nothing(from_: ProbeSource, seed: int) -> None:
    for question_id, mixed in half_noise(from_, seed).items():
        own, telling = ids(from_.pages[question_id]), from_.telling[question_id]
        noise = [new for new, old in zip(ids(mixed), own, strict=True) if new != old]
        assert len(noise) == len(own) // 2 > 0
        assert len(set(noise)) == len(noise)
        assert not set(noise) & (set(own) | telling)
        # Evidence goes only where too few other pages are there to go.
        n_lost = len(telling & set(own)) - len(telling & set(ids(mixed)))
        assert n_lost == max(0, len(own) // 2 - len(set(own) - telling))


def test_which_half_is_noise_is_drawn_for_each_question_and_the_same_in_every_sample() -> None:
    from_ = source([[10 * i + j for j in range(6)] for i in range(8)])
    mixed = half_noise(from_, 0)
    assert mixed == half_noise(from_, 0) != half_noise(from_, 1)
    places = {
        tuple(new == old for new, old in zip(ids(mixed[i]), ids(from_.pages[i]), strict=True)) for i in from_.pages
    }
    assert len(places) > 3
    smaller = ProbeSource(from_.questions[:4], from_.pages, from_.evidence, from_.telling)
    assert half_noise(smaller, 0) == mixed
    assert half_noise(source([[1], [2, 3]]), 0).keys() == {"q001"}
    assert half_noise(source([[1, 2, 3, 4], [1, 2, 3]]), 0).keys() == {"q001"}


def evidence(i: int, j: int, start: int, end: int) -> Evidence:
    return Evidence(question_id=f"q{i:03}", page_id=page(j).page_id, start=start, end=end, method="test-v1")


def supported() -> ProbeSource:
    held = {"q000": [evidence(0, 1, 26, 30), evidence(0, 1, 45, 50), evidence(0, 2, 0, 24), evidence(0, 9, 0, 24)]}
    return replace_evidence(source([[1, 2, 3], [1]]), held)


def replace_evidence(from_: ProbeSource, held: dict[str, list[Evidence]]) -> ProbeSource:
    return from_._replace(evidence=held)


def test_evidence_only_gives_the_evidence_sentences_of_the_questions_own_pages() -> None:
    given_pages = EvidencePages(supported()).pages
    assert list(given_pages) == ["q000"]
    first, second = given_pages["q000"]
    assert first.page_id == page(1).page_id
    assert first.text == "Water boils.\nIce floats on water."
    assert first.sentence_texts() == ["Water boils.", "Ice floats on water."]
    assert second.text == SENTENCES[0]
    assert (first.title, first.url) == (page(1).title, page(1).url)


@pytest.mark.parametrize(
    ("passage", "back"),
    [
        ((0, 12), [(25, 37)]),
        ((6, 11), [(31, 36)]),
        ((13, 33), [(38, 58)]),
        ((17, 23), [(42, 48)]),
        ((0, 33), [(25, 37), (38, 58)]),
        ((11, 14), [(36, 37), (38, 39)]),
        ((12, 13), []),
        ((33, 40), []),
        ((30, 999), [(55, 58)]),
    ],
)
def test_passages_of_evidence_pages_map_back_to_the_datasets_offsets(
    passage: tuple[int, int], back: list[tuple[int, int]]
) -> None:
    pages = EvidencePages(supported())
    page_id = page(1).page_id
    said = Prediction(question_id="q000", answer="a", passages=(Passage(page_id, *passage),))
    found = pages.back(said)
    assert found == replace(said, passages=tuple(Passage(page_id, *span) for span in back))
    for _, start, end in found.passages:
        assert page(1).text[start:end] in pages.pages["q000"][0].text


def test_a_page_that_is_cited_times_over_makes_no_line_too_long_to_read() -> None:
    many = tuple(Passage(page(1).page_id, 0, 10**6 + i) for i in range(20_000))
    found = EvidencePages(supported()).back(Prediction(question_id="q000", answer="a", passages=many))
    assert len(found.passages) == MAX_SPANS
    assert len(to_line(found)) < MAX_LINE_BYTES


def test_a_passage_of_a_page_that_was_not_given_is_dropped() -> None:
    said = Prediction(question_id="q000", answer="a", passages=(Passage(page(3).page_id, 0, 5), Passage("p", 0, 5)))
    assert EvidencePages(supported()).back(said).passages == ()
    assert EvidencePages(supported()).back(replace(said, question_id="q001")).passages == ()


def test_evidence_outside_every_sentence_is_given_as_it_is() -> None:
    from_ = replace_evidence(source([[1]]), {"q000": [evidence(0, 1, 24, 25), evidence(0, 1, 24, 25)]})
    (given_page,) = EvidencePages(from_).pages["q000"]
    assert given_page.text == " "
    assert given_page.sentences == (Span(0, 1),)


FIT = [
    ("ice", "fire"),
    ("directly above the epicentre", "directly below it"),
    ("both oceans", "one ocean"),
    ("some of them grow", "all of it"),
    ("vitamin a", "vitamin b"),
    ("Tt", "tT"),
]
UNFIT = [
    ("ice", "all of the above"),
    ("ice", "None of these."),
    ("ice", "both"),
    ("ice", "A and B"),
    ("ice", "both (a) and (c)"),
    ("ice", "either a or c"),
    ("ice", "two of the above"),
    ("ice", "none of the other choices"),
    ("ice", "Ice"),
    ("ice", "b"),
    ("B", "A"),
    ("ice", " "),
]


@pytest.mark.parametrize("choices", FIT[:5])
def test_choices_that_stand_alone_may_change_places(choices: tuple[str, ...]) -> None:
    assert may_permute(question(0, choices))
    assert may_permute(question(0, choices, "matching", flags=("truncated",)))


@pytest.mark.parametrize("choices", UNFIT)
def test_choices_that_speak_of_others_or_read_alike_stay(choices: tuple[str, ...]) -> None:
    assert not may_permute(question(0, choices))


def test_flags_and_kinds_keep_choices_in_place() -> None:
    assert not may_permute(question(0, flags=("meta_choice",)))
    assert not may_permute(question(0, flags=("truncated", "duplicate_choices")))
    assert not may_permute(question(0, kind="true_false"))
    assert not may_permute(question(0, (), "free_text"))


def test_a_permutation_goes_back_to_the_choices_that_were() -> None:
    asked = question(5, ("ice", "fire", "air", "earth"))
    one = permute(asked, 3)
    assert one == permute(asked, 3)
    assert tuple(one.question.choices) == ("a", "b", "c", "d")
    assert {one.question.choices[new]: asked.choices[old] for new, old in one.original.items()} == {
        text: text for text in asked.choices.values()
    }
    for label in asked.choices:
        assert one.original[one.given(label)] == label
    assert replace(one.question, choices=asked.choices) == asked
    assert one.changed
    assert any(not permute(question(i), 0).changed for i in range(20))


def test_permutations_are_drawn_evenly() -> None:
    from scipy import stats

    orders = Counter(tuple(permute(question(i, ("x1", "x2", "x3")), 0).question.choices.values()) for i in range(1_200))
    assert len(orders) == 6
    assert stats.chisquare(list(orders.values())).pvalue > 0.001


def test_position_p_is_that_of_a_chi_square_test_where_counts_are_large() -> None:
    from scipy import stats

    for counts in ([120, 90, 95, 95], [100, 100, 100, 100], [130, 90, 90, 90], [300, 10, 10, 80]):
        expected = stats.chisquare(counts).pvalue
        found = position_p({"4": counts})
        assert found is not None
        assert found == pytest.approx(expected, abs=0.02)
        assert found >= 1 / 10_001


def test_position_p_adds_up_over_the_numbers_of_choices() -> None:
    from scipy import stats

    positions = {"4": [120, 90, 95, 95], "2": [60, 40], "3": [0, 0, 0]}
    statistic = sum(stats.chisquare(counts).statistic for counts in ([120, 90, 95, 95], [60, 40]))
    assert position_p(positions) == pytest.approx(stats.chi2.sf(statistic, 3 + 1), abs=0.02)
    assert position_p({"2": [60, 40], "4": [120, 90, 95, 95]}) == position_p(positions)
    assert position_p({}) is None
    assert position_p({"4": [0, 0, 0, 0]}) is None


def test_position_p_of_a_few_answers_is_exact_not_asymptotic() -> None:
    # Three answers, all in the first of two places: 2 of the 8 draws are as uneven.
    assert position_p({"2": [3, 0]}) == pytest.approx(0.25, abs=0.02)
    assert position_p({"2": [1, 0]}) == 1.0
