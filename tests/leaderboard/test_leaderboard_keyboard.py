"""The whole site by keyboard: every control is reached by Tab and shows it, and does what a click does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from real_browser import opened
from site_server import served
from whole_site import kinds

MANY = 400 if os.environ.get("EDU_RAG_NIGHTLY") else 25
"""Steps after which a page is left: nobody walks on by Tab alone."""
REACH = 400
"""Steps in which an element must be reached; a filter that is not yet applied leaves more controls before it."""
CONTROLS = """() => {
  const every = document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]');
  const seen = (e) => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0;
  window.controls = [...every].filter(seen);
  return controls.map((e) => `${e.localName} ${(e.textContent || e.name).trim().slice(0, 40)}`);
}"""
FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  const marked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none';
  return [controls.indexOf(e), marked, e.localName];
}"""


@pytest.fixture(scope="module")
def base(whole_site: Path) -> Iterator[str]:
    with served(whole_site) as address:
        yield address


def ready(browser: Any, address: str) -> Any:
    page, _ = opened(browser, address, viewport={"width": 1280, "height": 900})
    page.wait_for_load_state("networkidle")
    return page


def said(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def wait_for(page: Any, *names: str) -> None:
    """Wait until the address says these: a script writes it after the key was pressed."""
    page.wait_for_url(lambda url: set(names) <= set(parse_qs(urlsplit(url).query)))


def tabbed_to(page: Any, selector: str) -> None:
    """Press Tab until the first such element has the focus."""
    for _ in range(REACH):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def test_every_control_of_every_kind_of_page_is_reached_by_tab_and_shows_its_focus(
    browser: Any, whole_site: Path, base: str
) -> None:
    faults: dict[str, list[str]] = {}
    page, _ = opened(browser, "about:blank", viewport={"width": 1280, "height": 900})
    for kind, path in kinds(whole_site).items():
        page.goto(base + path.relative_to(whole_site).as_posix(), wait_until="networkidle")
        if kind == "compare.html":
            page.wait_for_selector("#verdict h2")  # its script makes the links when it has read the pair
        names = page.evaluate(CONTROLS)
        assert names, kind
        reached, unmarked = set(), []
        for _ in range(min(MANY, len(names) + 3)):
            page.keyboard.press("Tab")
            number, marked, element = page.evaluate(FOCUSED)
            reached.add(number)
            unmarked += [] if marked or element == "body" else [f"no mark: {element}"]
        missed = [f"missed: {name}" for at, name in enumerate(names[: MANY - 3]) if at not in reached]
        if missed or unmarked:
            faults[kind] = [*missed[:5], *unmarked[:5]]
    page.context.close()
    assert faults == {}


def test_the_first_tab_skips_to_the_content(browser: Any, base: str) -> None:
    page = ready(browser, f"{base}board.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.context.close()


def test_the_board_is_filtered_sorted_and_its_columns_chosen_without_a_mouse(browser: Any, base: str) -> None:
    page = ready(browser, f"{base}board.html")
    tabbed_to(page, "input[type=search], input[name=q]")
    page.keyboard.type("llama")
    wait_for(page, "q")
    tabbed_to(page, "select[name=kind]")
    page.keyboard.press("r")  # one letter: a pause between two would begin another word
    wait_for(page, "q", "kind")
    tabbed_to(page, ".chooser summary")
    page.keyboard.press("Enter")
    tabbed_to(page, ".chooser input[value=strict_score]")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    tabbed_to(page, "th[data-column=score] button")
    page.keyboard.press("Enter")
    wait_for(page, "q", "kind", "columns", "sort")
    assert page.locator("th[data-column=score]").first.get_attribute("aria-sort") in ("ascending", "descending")
    tabbed_to(page, "table.board tbody th a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/systems/**")
    page.context.close()


def test_two_systems_are_chosen_and_compared_without_a_mouse(browser: Any, base: str) -> None:
    page = ready(browser, f"{base}compare.html?table=quiz.v1.val&a=alpha&b=beta")
    page.wait_for_selector("#verdict h2")
    before = page.locator("#verdict h2").inner_text()
    tabbed_to(page, "#choose-b")
    page.keyboard.type("g")
    page.wait_for_function("(before) => document.querySelector('#verdict h2').innerText !== before", arg=before)
    assert said(page)["b"] == ["gamma"]
    page.context.close()


def test_a_question_is_found_and_opened_without_a_mouse(browser: Any, base: str) -> None:
    page = ready(browser, f"{base}questions/quiz-v1-val/index.html")
    tabbed_to(page, "input[type=search], input[name=q]")
    page.keyboard.type("volcano")
    page.wait_for_url("**q=volcano*")
    page.locator(".count", has_text="6 questions of").wait_for()
    tabbed_to(page, ".found a")
    page.keyboard.press("Enter")
    page.locator("article:target").wait_for()
    tabbed_to(page, "details.pages summary")
    page.keyboard.press("Enter")
    page.locator("details.pages[open] blockquote").first.wait_for()
    page.context.close()
