"""The plots in a real browser: two widths, both themes, nothing over another, nothing that a name could start."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fixture_board as made
import fixture_plots
import pytest
from axe_checks import page_violations
from PIL import Image
from real_browser import opened
from some_pages import build_some
from svg_checks import crowded

from leaderboard.pages import assets, plot_pages

KINDS = (plot_pages, assets)
NAMES = ("scores", "outcomes", "time", "dollars", "tokens", "coverage", "slices", "ladder")
PAGE = "plots/tqa.v1.val.html"
_DECODED = "Promise.all(Array.from(document.images, (image) => { image.loading = 'eager'; return image.decode(); }))"


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plots")
    for card in fixture_plots.cards(22):
        made.write_card(folder / "results", card)
    fixture_plots.write_hostile_plots(folder / "hostile-results")
    build_some(folder / "results", folder / "site", KINDS)
    build_some(folder / "hostile-results", folder / "hostile", KINDS)
    return folder


@pytest.mark.parametrize(("width", "suffix"), [(1280, ".svg"), (390, "-narrow.svg")])
def test_each_picture_is_there_has_words_and_the_width_of_its_reader(
    browser: Any, sites: Path, width: int, suffix: str
) -> None:
    page, troubles = opened(browser, sites / "site" / PAGE, viewport={"width": width, "height": 800})
    page.evaluate(_DECODED)
    sources = page.evaluate("Array.from(document.images, (image) => image.currentSrc.split('/').pop())")
    assert sources == [f"{name}{suffix}" for name in NAMES]
    assert all(len(alt) > 60 for alt in page.evaluate("Array.from(document.images, (image) => image.alt)"))
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert troubles == []


@pytest.mark.parametrize(("scheme", "paper"), [("light", (251, 250, 247)), ("dark", (16, 22, 29))])
def test_a_picture_has_the_paper_of_its_page_in_both_themes(
    browser: Any, sites: Path, scheme: str, paper: tuple[int, int, int]
) -> None:
    page, _ = opened(browser, sites / "site" / PAGE, viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page.evaluate(_DECODED)
    picture = Image.open(io.BytesIO(page.locator("#time img").screenshot())).convert("RGB")
    assert picture.getpixel((1, 1)) == paper
    assert picture.getpixel((picture.width - 2, picture.height - 2)) == paper


def test_no_word_of_a_picture_lies_over_another_or_leaves_it(browser: Any, sites: Path) -> None:
    pictures = sorted((sites / "site/plots").rglob("*.svg"))
    assert len(pictures) == 16
    assert crowded(browser, pictures) == {}


def test_no_declared_text_becomes_code_or_breaks_the_layout(browser: Any, sites: Path) -> None:
    for name in ("plots.html", PAGE):
        for width in (1280, 390):
            page, troubles = opened(browser, sites / "hostile" / name, viewport={"width": width, "height": 800})
            page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
            page.evaluate(_DECODED)
            assert page.evaluate("window.harmed") is None
            assert page.evaluate("document.documentElement.scrollWidth") == width, name
            assert troubles == []


# By day, test_leaderboard_axe.py checks a page of plots of another board.
@pytest.mark.nightly
def test_the_pages_keep_the_rules_of_accessibility(browser: Any, sites: Path) -> None:
    assert page_violations(browser, *(sites / "site" / name for name in ("plots.html", PAGE))) == {}


def test_the_numbers_are_sorted_by_a_column_and_stand_without_scripts(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site" / PAGE, java_script_enabled=False)
    page.locator("#time summary").click()
    assert page.locator("#time tbody tr:visible").count() > 10
    page, troubles = opened(browser, sites / "site" / PAGE)
    page.locator("#time summary").click()
    page.locator("#time th", has_text="Median seconds").get_by_role("button").click()
    column = page.locator("#time tbody tr td:nth-child(4)")
    values = [float(value) for value in column.evaluate_all("cells => cells.map((cell) => cell.dataset.value)")]
    assert values in (sorted(values), sorted(values, reverse=True))
    assert troubles == []
