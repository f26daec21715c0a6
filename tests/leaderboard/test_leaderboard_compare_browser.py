"""The compare page in a real browser: words and numbers of `edu-rag compare`, and the address says the pair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import fixture_board as made
import pytest
from real_browser import opened
from site_server import served
from some_pages import build_some
from test_leaderboard_compare import LETTERS, SLUGS, TABLE, letters, scorecard, write_results

from edu_rag.comparing.pair_sentences import filled
from harness.comparing.compare import Choice, Comparison, compare
from leaderboard.pages import assets, compare_systems_page

CHOOSE = "Choose two systems of one table."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results/ of two tables, and the site of them, plain/."""
    folder = tmp_path_factory.mktemp("compare")
    results = write_results(folder / "results")
    for slug in ("other-0", "other-1"):
        made.write_card(results, made.card_of(slug, letters(1), split="test"))
    build_some(results, folder / "plain", (compare_systems_page, assets))
    return folder


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


def address(site: str, a: str, b: str, more: str = "") -> str:
    return f"{site}/compare.html?table={TABLE}&a={a}&b={b}{more}"


def look(browser: Any, base: str, where: str, **options: Any) -> tuple[Any, list[str]]:
    """A page of the server whose comparison is there; what went wrong, requests to the server aside."""
    page, troubles = opened(browser, base + where, **options)
    page.wait_for_selector("#flips #questions")
    return page, [trouble for trouble in troubles if not trouble.startswith(base)]


def compared(folder: Path, a: str, b: str) -> Comparison:
    results = folder / "results"
    return compare(scorecard(results, a), scorecard(results, b), Choice(None, None, None))


def query(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_the_words_are_those_of_edu_rag_compare(browser: Any, base: str, folder: Path) -> None:
    page, troubles = look(browser, base, address("plain", SLUGS[0], SLUGS[1]))
    for a, b in (
        ("system-0", "system-1"),
        ("system-5", "system-0"),
        ("system-0", "twin-of-0"),
        ("system-2", "system-3"),
    ):
        page.locator("#choose-a").select_option(a)
        page.locator("#choose-b").select_option(b)
        page.locator("#verdict h2", has_text=f"{a} against {b}").wait_for()
        told = filled(compared(folder, a, b), a, b)
        assert page.locator("#verdict .lead").inner_text() == f"{told.lead} {told.because}"
        words = page.locator("#test > p").all_inner_texts()
        assert words[:-1] == list(told.remarks[:-1])
        same, _, _ = told.remarks[-1].partition(" (edu-rag compare")
        assert words[-1].startswith(f"{same}. After Holm's correction over all 21 pairs")
        notes = page.locator("#verdict .warn").all_inner_texts()
        assert notes == ["Note: only 30 lessons: the interval of a difference is too narrow."]
    assert troubles == []


def test_the_address_says_the_pair_and_back_leads_to_the_one_before(browser: Any, base: str) -> None:
    page, troubles = look(browser, base, address("plain", "system-3", "system-0"))
    assert (page.locator("#choose-a").input_value(), page.locator("#choose-b").input_value()) == (
        "system-3",
        "system-0",
    )
    page.locator("#choose-a").select_option("system-4")
    assert query(page) == {"table": TABLE, "a": "system-4", "b": "system-0"}
    page.locator("#swap").press("Enter")
    page.locator("#verdict h2", has_text="system-0 against system-4").wait_for()
    assert query(page) == {"table": TABLE, "a": "system-0", "b": "system-4"}
    page.go_back()
    page.locator("#verdict h2", has_text="system-4 against system-0").wait_for()
    page.locator("#show").select_option("both")
    assert query(page)["show"] == "both"
    page.reload()
    page.wait_for_selector("#show")
    assert page.locator("#show").input_value() == "both"
    assert page.title() == "system-4 against system-0 – EDU-RAG board"
    assert troubles == []


SYSTEM_0, OTHER_0 = "“system-0”", "“other-0”"


REASONS: tuple[tuple[str, str, tuple[str, str, str]], ...] = (
    ("?table=../../x&a=system-0&b=system-1", "There is no table “../../x” here.", (TABLE, "system-0", "")),
    (
        f"?table={TABLE}&a=system-1&b=%3Cimg src=x onerror=window.harmed=1%3E",
        "There is no system “<img src=x onerror=window.harmed=1>” here.",
        (TABLE, "system-1", ""),
    ),
    ("?a=__proto__&b=system-1", "There is no system “__proto__” here.", (TABLE, "", "system-1")),
    (f"?table={TABLE}&a=system-1&b=system-1", "A and B are the same system.", (TABLE, "system-1", "")),
    (
        f"?table={TABLE}&a=system-0&b=other-0",
        f"{OTHER_0} answered other questions (tqa v1 · test) than those of this table (tqa v1 · val).",
        (TABLE, "system-0", ""),
    ),
    (
        "?a=system-0&b=other-0",
        f"These two never answered the same questions: {SYSTEM_0} those of tqa v1 · val, {OTHER_0} those of "
        "tqa v1 · test.",
        (TABLE, "system-0", ""),
    ),
    (f"?table={TABLE}&a=&b=%00%E2%80%AE{'w' * 5000}", "There is no system “” here.", (TABLE, "", "")),
    (
        f"?table={TABLE}&a=system-2&b=%00%E2%80%AE{'w' * 5000}",
        f"There is no system “\ufffd\ufffd{'w' * 57}…” here.",
        (TABLE, "system-2", ""),
    ),
)
"""Addresses that cannot be shown, why, and what stays chosen."""


def test_an_address_that_cannot_be_shown_has_one_reason(browser: Any, base: str) -> None:
    page, troubles = opened(browser, "about:blank")
    for asked, told, left in REASONS:
        page.goto(f"{base}plain/compare.html{asked}")
        page.locator("#trouble:visible").wait_for()
        assert page.locator("#trouble").inner_text() == f"{told} {CHOOSE}", asked
        assert page.locator("[role=alert]:visible").count() == 1
        assert page.locator("#verdict, #comparison").all_inner_texts() == ["", ""]
        assert tuple(page.locator(f"#choose-{name}").input_value() for name in ("table", "a", "b")) == left
        page.locator("#choose-table").select_option("tqa.v1.test")
        page.locator("#choose-table").select_option(TABLE)
        page.locator("#choose-a").select_option("system-3")
        page.locator("#choose-b").select_option("system-0")
        page.locator("#verdict h2", has_text="system-3 against system-0").wait_for()
        assert page.locator("#trouble:visible").count() == 0
        assert page.evaluate("window.harmed === undefined")
    assert [trouble for trouble in troubles if not trouble.startswith(base)] == []
    page.context.close()


def test_what_an_address_leaves_open_is_the_best_that_fits(browser: Any, base: str) -> None:
    page, _ = opened(browser, "about:blank")
    for asked, table, a, b in (
        ("", TABLE, "system-5", "system-4"),
        ("?a=system-5", TABLE, "system-5", "system-4"),
        ("?b=system-5", TABLE, "system-4", "system-5"),
        ("?table=tqa.v1.test", "tqa.v1.test", "other-0", "other-1"),
        ("?b=other-0&a=other-1", "tqa.v1.test", "other-1", "other-0"),
    ):
        page.goto(f"{base}plain/compare.html{asked}")
        page.wait_for_selector("#flips #questions")
        chosen = [page.locator(f"#choose-{name}").input_value() for name in ("table", "a", "b")]
        assert (asked, *chosen) == (asked, table, a, b)
    page.context.close()


def test_a_pair_is_chosen_by_keyboard_alone(browser: Any, base: str) -> None:
    page, troubles = look(browser, base, address("plain", "system-5", "system-0"))
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "choose-a":
            break
    page.keyboard.type("system-2")
    page.locator("#verdict h2", has_text="system-2 against system-0").wait_for()
    assert page.evaluate("document.activeElement.id") == "choose-a"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#verdict h2", has_text="system-0 against system-2").wait_for()
    assert page.evaluate("document.activeElement.id") == "swap"
    regions = page.locator("#comparison .scroll").evaluate_all("boxes => boxes.map((box) => box.tabIndex)")
    assert regions == [0] * 5  # scores, tests, two of outcomes, groups; what scrolls can be reached
    assert troubles == []


def test_numbers_that_cannot_be_read_leave_one_message(browser: Any, base: str) -> None:
    context = browser.new_context()
    context.route("**/pairs/*/system-1.json", lambda route: route.fulfill(status=404))
    page = context.new_page()
    page.goto(base + address("plain", "system-0", "system-1"))
    page.locator("#trouble:visible").wait_for()
    assert "could not be read (pairs/tqa.v1.val/system-1.json: 404)" in page.locator("#trouble").inner_text()
    assert page.locator("#comparison").inner_text() == ""
    page.locator("#choose-b").select_option("system-2")
    page.locator("#verdict h2", has_text="system-0 against system-2").wait_for()
    assert page.locator("#trouble:visible").count() == 0
    context.close()


def test_without_questions_the_places_of_the_flips_are_named(browser: Any, base: str) -> None:
    page, troubles = look(browser, base, address("plain", "system-1", "system-4", "&show=only_first"))
    a, b = LETTERS["system-1"], LETTERS["system-4"]
    told = " ".join(page.locator(".places dd").all_inner_texts()).split()
    assert sorted(told) == sorted(f"#{at + 1}" for at in range(210) if a[at] == "c" != b[at])
    assert page.locator("table.by-slice").count() == 0
    command = "edu-rag compare system-1 system-4 --dataset DIR --html FILE"
    assert "without the questions" in page.locator("#flips").inner_text()
    assert command in page.locator("#flips code").all_inner_texts()
    assert troubles == []


def test_from_the_disk_the_page_says_what_it_needs_and_keeps_its_tables(browser: Any, folder: Path) -> None:
    page, troubles = opened(browser, folder / "plain/compare.html")
    assert "edu-rag serve" in page.locator("#trouble").inner_text()
    assert page.locator("select:visible").count() == 0
    assert page.locator("table.pairs td a").count() == 22
    assert troubles == []


def test_without_javascript_the_matrix_stands_and_no_dead_control_is_shown(browser: Any, folder: Path) -> None:
    page, troubles = opened(browser, folder / "plain/compare.html", java_script_enabled=False)
    assert page.locator("select:visible, button:visible, input:visible").count() == 0
    assert page.locator("table.pairs td a:visible").count() == 22
    told = page.locator("noscript").inner_text()
    assert "the best 10 of each table" in told
    assert "edu-rag compare A/scorecard.json B/scorecard.json" in told
    assert page.locator("table.neighbours").count() == 2
    assert troubles == []
