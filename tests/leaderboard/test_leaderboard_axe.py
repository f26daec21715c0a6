"""No page of the site breaks a rule of axe-core: both themes, desk and phone, with and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from axe_checks import BOTH, NIGHTLY, page_violations, violations
from hostile_board import write_hostile
from real_browser import opened
from site_server import served
from some_pages import build_some
from whole_site import kinds

MORE = ("compare.html?table=quiz.v1.val&a=alpha&b=beta", "questions/quiz-v1-val/index.html?q=volcano")
"""Pages after somebody chose something."""
PAGES = ("board.html", "embed/tqa.v1.val.html", "systems/tqa.v1.val/self-rag-7b.html")


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("axe")
    made.write_board(folder / "results")
    write_hostile(folder / "hostile-results")
    for results, site in (("results", "site"), ("hostile-results", "hostile")):
        build_some(folder / results, folder / site)
    return folder


def test_no_kind_of_page_breaks_a_rule_in_any_window(browser: Any, whole_site: Path) -> None:
    pages = [path.relative_to(whole_site).as_posix() for path in kinds(whole_site).values()]
    assert len(pages) >= 9
    with served(whole_site) as base:
        assert page_violations(browser, *(base + page for page in (*pages, *MORE))) == {}


def test_no_page_breaks_a_rule_of_axe_without_its_scripts(browser: Any, sites: Path) -> None:
    assert page_violations(browser, *(sites / "site" / name for name in PAGES), scripts=False) == {}


def test_hostile_names_break_no_rule_either(browser: Any, sites: Path) -> None:
    assert page_violations(browser, sites / "hostile/board.html", windows=BOTH) == {}


def test_every_column_at_once_breaks_no_rule(browser: Any, sites: Path) -> None:
    address = (sites / "site/board.html").as_uri() + "?columns=team,score,axis,outcomes,accuracy,hallucination,missing,"
    address += "accuracy_given_attempted,strict_score,n,cost,median_latency_s,scored_at,links&sort=cost.ascending&q=rag"
    for width in (1280, 390) if NIGHTLY else (1280,):  # on a phone the same cells stand in cards
        page, _ = opened(browser, address, viewport={"width": width, "height": 900}, bypass_csp=True)
        assert violations(page) == []


def test_what_axe_should_find_it_finds(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/board.html", bypass_csp=True)
    page.evaluate(
        "document.querySelector('.tools select').closest('label').replaceWith(document.createElement('select'))"
    )
    assert [line.split(":")[0] for line in violations(page)] == ["select-name"]


def test_one_cell_among_many_of_too_low_a_contrast_is_found(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/board.html", bypass_csp=True)
    page.evaluate("[...document.querySelectorAll('table.board tbody td')].at(-1).style.color = 'rgb(200, 200, 200)'")
    page.evaluate("[...document.querySelectorAll('table.board tbody td')].at(-1).textContent = 'pale'")
    assert [line.split(":")[0] for line in violations(page)] == ["color-contrast"]
