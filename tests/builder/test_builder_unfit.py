"""Pages that are not for minors are found and dropped; pages of science, medicine and history are not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.config import BuildConfig, FilterConfig, to_config
from builder.deriving.page_filters import why_dropped
from builder.deriving.page_stage import PageJob, PageResult, PageSettings, PageStage
from builder.labels import unfit
from builder.labels.unfit import is_unfit, points, terms, words_of
from edu_rag.errors import FaultsError, MissingExtraError

HERE = Path(__file__).parent
PAD = "Glaciers carve valleys as they move downhill and scrape the rock below. " * 10


def made_pages(name: str) -> list[str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [f"{page['title']}\n{page['text']}" for page in map(json.loads, lines)]


UNFIT, FIT = made_pages("unfit_pages.jsonl"), made_pages("fit_pages.jsonl")


@pytest.mark.parametrize("half", [0, 1])
def test_nine_of_ten_unfit_pages_are_found_in_each_half(half: int) -> None:
    texts = UNFIT[half::2]
    assert len(texts) == 30
    assert sum(map(is_unfit, texts)) >= 0.9 * len(texts)


@pytest.mark.parametrize("text", FIT)
def test_science_medicine_history_and_names_pass(text: str) -> None:
    assert not is_unfit(text)


def test_one_word_or_one_term_alone_never_makes_a_page_unfit() -> None:
    for term, trade in (found for listed in terms().by_first.values() for found in listed):
        alone = " ".join((*term, *sorted(trade)[:1]))
        if len(set(points(words_of(alone)))) < unfit.MIN_DISTINCT:
            assert not is_unfit(f"{alone}. " * 5), alone


def test_an_ambiguous_word_counts_only_near_a_word_of_its_trade() -> None:
    assert not list(points(words_of("Cocaine acts on the brain, and heroin does so too.")))
    assert list(points(words_of("Buy cocaine here."))) == [("cocaine",)]
    far = "Buy " + "one " * unfit.NEAR + "cocaine"
    assert not list(points(words_of(far)))


def test_words_of_teaching_take_points_away() -> None:
    page = "porn whore horny blowjob " * 2
    assert is_unfit(page)
    assert not is_unfit(page + "Students study history and disease. " * 4)


def test_a_few_words_in_a_long_page_do_not_count() -> None:
    words = "porn whore horny blowjob "
    assert is_unfit(words + PAD)
    assert not is_unfit(words + PAD * 10)


def test_plurals_and_listed_spellings_count_and_formulas_do_not() -> None:
    assert [" ".join(term) for term in points(words_of("blowjobs, f*ck! and_sh!t"))] == ["blowjobs", "f*ck", "sh!t"]
    assert not list(points(words_of("a$$ = $$b$$, AT&T, x*y, XX and XXX")))


@settings(max_examples=100)
@given(st.text(max_size=300))
def test_any_text_is_answered(text: str) -> None:
    assert isinstance(is_unfit(text), bool)
    assert all(words_of(text))


def test_only_so_many_characters_are_read() -> None:
    assert sum(map(len, words_of("a" * (unfit.MAX_CHARS + 5)))) == unfit.MAX_CHARS


@pytest.mark.parametrize("unit", ["a!", "!", "a!!!! ", "sex hot ", "$@", "porn", "big "])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    # With time that grows by the square, this would take minutes.
    is_unfit(unit * (300_000 // len(unit)))


def test_the_settings_keep_or_drop_and_the_default_drops() -> None:
    assert FilterConfig().unfit == "drop"
    page = UNFIT[0] + "\n" + UNFIT[4]
    assert why_dropped("", page, "en", FilterConfig()) == "unfit"
    assert why_dropped("", page, "en", FilterConfig(unfit="keep")) is None
    assert why_dropped("", page, "de", FilterConfig()) == "language"  # the words are English
    with pytest.raises(FaultsError, match=r"filter\.unfit"):
        to_config({"filter": {"unfit": "mask"}}, "test")


def staged(rule: str) -> PageResult:
    config = BuildConfig(filter=FilterConfig(unfit="keep" if rule == "keep" else "drop"))
    stage = PageStage(PageSettings(extract=config.extract, filter=config.filter, label=config.label))
    body = "".join(f"<p>{text}</p>" for text in UNFIT[:6])
    html = f"<html><head><title>x</title></head><body><article>{body}</article></body></html>"
    job = PageJob(
        url="http://x.example/",
        body=html.encode(),
        charset=None,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        html_sha256="0" * 64,
    )
    return replace(stage(job), signature=b"")


def test_a_dropped_page_has_its_fate_and_a_kept_one_its_flag() -> None:
    assert staged("drop").outcome == "unfit"
    kept = staged("keep")
    assert kept.outcome == "kept"
    assert kept.page is not None
    assert "unfit" in kept.page.flags


def test_without_the_word_list_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    terms.cache_clear()
    monkeypatch.setattr(unfit, "PACKAGE", "no-such-package-here")
    with pytest.raises(MissingExtraError, match="no-such-package-here"):
        terms()
    monkeypatch.undo()
    terms.cache_clear()
    assert terms().by_first
