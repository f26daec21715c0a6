"""The site in a real browser: Debian's Chromium driven by playwright."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from axe_checks import NIGHTLY
from click.testing import CliRunner
from hostile_board import write_hostile
from real_browser import opened

from leaderboard.commands import board as command

PAGES = ("index.html", "board.html", "systems/tqa.v1.val/llama2.html")


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    made.write_board(folder / "results")
    write_hostile(folder / "hostile-results")
    for results, site in (("results", "site"), ("hostile-results", "hostile")):
        CliRunner().invoke(command, [str(folder / results), "--out", str(folder / site)], catch_exceptions=False)
    return folder


def test_without_javascript_all_rows_and_bars_stand_and_no_dead_control_is_shown(browser: Any, sites: Path) -> None:
    for width in (1280, 390):
        page, troubles = opened(
            browser, sites / "site/board.html", java_script_enabled=False, viewport={"width": width, "height": 900}
        )
        assert page.locator("table.board tbody tr:visible").count() == 23
        assert page.locator("svg.outcomes:visible").count() == 23
        assert page.locator("table.board td[data-column=accuracy]:visible").count() == 23
        assert page.locator("input:visible, button:visible, select:visible").count() == 0
        assert troubles == []
        page.context.close()


def test_no_page_is_wider_than_the_window(browser: Any, sites: Path) -> None:
    pages = [sites / "site" / name for name in PAGES] + [sites / "hostile/index.html", sites / "hostile/board.html"]
    page, troubles = opened(browser, pages[0])
    for path in pages:
        page.goto(path.as_uri())
        for width, scheme in ((320, "light"), (390, "light"), (390, "dark"), (1280, "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width, scheme)
    assert troubles == []
    page.context.close()


def test_the_usual_columns_are_seen_without_scrolling_sideways(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/board.html")
    fits = "[...document.querySelectorAll('.scroll')].every(box => box.scrollWidth <= box.clientWidth)"
    for width in (800, 1024, 1200, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(fits), width
    page.context.close()


def test_on_a_phone_a_row_is_a_card_and_nothing_of_it_is_cut(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/board.html", viewport={"width": 390, "height": 800})
    first = page.locator("table.board tbody tr").first.bounding_box()
    assert first["y"] < 500  # what stands before the first system is not tall
    cut = page.locator("table.board tbody tr > *:visible").evaluate_all(
        "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent)"
    )
    assert cut == []
    heights = page.locator("table.board tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert sorted(heights)[len(heights) // 2] <= 150
    words = page.locator("td[data-column=accuracy]").first.evaluate(
        "cell => getComputedStyle(cell, '::before').content"
    )
    assert "accuracy" in words


def test_rows_are_low_on_a_desk(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/board.html", viewport={"width": 1280, "height": 800})
    heights = page.locator("table.board tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert sorted(heights)[len(heights) // 2] <= 66  # two lines of a name, one of badges


def test_hostile_metadata_runs_nothing_and_stretches_nothing(browser: Any, sites: Path) -> None:
    page, troubles = opened(browser, sites / "hostile/board.html", viewport={"width": 390, "height": 800})
    pages = sorted((sites / "hostile").rglob("*.html"))
    systems = [path for path in pages if "systems" in path.parts]
    # By day the pages of a third of the systems; the board has the names of all.
    left_out = set() if NIGHTLY else set(systems) - set(random.Random("systems").sample(systems, 7))
    for path in (path for path in pages if path not in left_out):
        page.goto(path.as_uri())
        assert page.evaluate("window.harmed === undefined")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert troubles == []
    index, _ = opened(browser, sites / "hostile/board.html", viewport={"width": 1280, "height": 800})
    heights = index.locator("table.board tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert max(heights) <= 240  # a name, a team and every badge at once


def test_no_name_can_push_a_badge_out_of_sight(browser: Any, sites: Path) -> None:
    for width in (390, 1280):
        page, _ = opened(browser, sites / "hostile/board.html", viewport={"width": width, "height": 800})
        inside = page.locator("table.board tbody th .badge").evaluate_all("""badges => badges.map(badge => {
          const [b, c] = [badge.getBoundingClientRect(), badge.closest('th').getBoundingClientRect()];
          return b.height > 0 && b.left >= c.left && b.right <= c.right && b.top >= c.top && b.bottom <= c.bottom;
        })""")
        assert len(inside) >= 3 * 19
        assert all(inside)


CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (color) => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data).slice(0, 3).map(c => c / 255);
  };
  const light = (color) => {
    const [r, g, b] = rgb(color).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (color !== 'rgba(0, 0, 0, 0)') return color;
    }
    return 'white';
  };
  const bad = [];
  let looked = 0;
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || e.closest('svg')) continue;
    looked += 1;
    if (ratio(getComputedStyle(e).color, ground(e)) < 4.5) bad.push(`${e.tagName} ${e.textContent.slice(0, 40)}`);
  }
  const paper = getComputedStyle(document.body).backgroundColor;
  for (const e of document.querySelectorAll('svg.outcomes rect, .legend rect')) {
    looked += 1;
    if (ratio(getComputedStyle(e).fill, paper) < 3) bad.push(e.getAttribute('class'));
  }
  return [looked, [...new Set(bad)]];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_of_4_5_and_outcome_colours_of_3(browser: Any, sites: Path, scheme: str) -> None:
    page, _ = opened(browser, sites / "site" / PAGES[0], color_scheme=scheme)
    for name in PAGES:
        page.goto((sites / "site" / name).as_uri())
        looked, bad = page.evaluate(CONTRAST)
        assert looked > 50
        assert bad == []


def test_on_paper_controls_are_gone_and_no_table_is_cut(browser: Any, sites: Path) -> None:
    millimetres = 297 - 2 * 12  # A4 landscape, less the margins
    page, _ = opened(
        browser, sites / "site/board.html", viewport={"width": int(millimetres * 96 / 25.4), "height": 700}
    )
    page.emulate_media(media="print")
    assert page.locator(".tools:visible, .skip:visible, td[data-column=links]:visible").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.getBoundingClientRect().right <= innerWidth)"
    )
