"""The site in a real browser: Debian's Chromium driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from click.testing import CliRunner
from hostile_board import write_hostile

from leaderboard.commands import board as command

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PAGES = ("index.html", "systems/tqa.v1.val/llama2.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("NOT RUN: no chromium on this machine (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("NOT RUN: playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    made.write_board(folder / "results")
    write_hostile(folder / "hostile-results")
    for results, site in (("results", "site"), ("hostile-results", "hostile")):
        CliRunner().invoke(command, [str(folder / results), "--out", str(folder / site)], catch_exceptions=False)
    return folder


def opened(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    """A page and the list into which its console messages, errors and foreign requests go."""
    page = browser.new_context(**options).new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    # ERR_ABORTED: the icon of a page that the test left while it loaded. What is missing or forbidden fails otherwise.
    page.on("requestfailed", lambda r: None if r.failure == "net::ERR_ABORTED" else troubles.append(r.url))
    page.on("request", lambda request: None if request.url.startswith("file:") else troubles.append(request.url))
    page.goto(path.as_uri())
    return page, troubles


def column_of(page: Any, name: str) -> list[str]:
    cells = page.locator(f"[id='tqa.v1.val'] td[data-column={name}]")
    return [str(cell) for cell in cells.evaluate_all("cells => cells.map(cell => cell.dataset.value)")]


def test_sorting_by_click_and_by_keyboard_turns_the_rows_and_says_so(browser: Any, sites: Path) -> None:
    page, troubles = opened(browser, sites / "site/index.html")
    head = page.locator("[id='tqa.v1.val'] th", has_text="Strict score")
    before = column_of(page, "strict_score")
    head.get_by_role("button").click()
    down = [float(value) for value in column_of(page, "strict_score")]
    assert down == sorted(map(float, before), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert [float(value) for value in column_of(page, "strict_score")] == down[::-1]
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.locator("[id='tqa.v1.val'] [aria-sort]").count() == 1
    page.locator("[id='tqa.v1.val'] th", has_text="Rank").get_by_role("button").click()
    assert column_of(page, "strict_score") == before
    assert troubles == []


def test_values_that_are_missing_stay_last_in_both_directions(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/index.html")
    button = page.locator("[id='tqa.v1.val'] th", has_text="Median latency").get_by_role("button")
    for _ in range(2):
        button.click()
        assert column_of(page, "median_latency_s")[-1] == ""


def test_filtering_hides_the_others_and_says_how_many_are_left(browser: Any, sites: Path) -> None:
    page, troubles = opened(browser, sites / "site/index.html")
    section = page.locator("[id='tqa.v1.val']")
    section.get_by_label("Filter").fill("rag AUTHORS")
    assert section.locator("tbody tr:visible th a:first-child").all_inner_texts() == [
        "GPT-4o + RAG", "GPT-4o", "Llama 3 8B + RAG", "Llama 3 8B", "Llama 2 7B + RAG", "Llama 2 7B",
    ]  # fmt: skip
    assert section.get_by_role("status").inner_text() == "6 of 14"
    section.get_by_label("Filter").fill("")
    assert section.locator("tbody tr:visible").count() == 14
    assert troubles == []


def test_without_javascript_all_rows_and_bars_stand_and_no_dead_control_is_shown(browser: Any, sites: Path) -> None:
    page, troubles = opened(browser, sites / "site/index.html", java_script_enabled=False)
    assert page.locator("table.board tbody tr:visible").count() == 23
    assert page.locator("svg.interval:visible").count() == 23
    assert page.locator("input:visible, button:visible").count() == 0
    assert troubles == []


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "light"), (390, "dark"), (1280, "dark")])
def test_no_page_is_wider_than_the_window(browser: Any, sites: Path, width: int, scheme: str) -> None:
    pages = [sites / "site" / name for name in PAGES] + [sites / "hostile/index.html"]
    for path in pages:
        window = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
        page, troubles = opened(browser, path, **window)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert troubles == []
        page.context.close()


def test_on_a_desk_the_whole_table_is_seen_without_scrolling(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/index.html", viewport={"width": 1200, "height": 900})
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(box => box.scrollWidth <= box.clientWidth)")


def test_on_a_phone_the_system_stays_in_view_while_the_table_scrolls(browser: Any, sites: Path) -> None:
    page, _ = opened(browser, sites / "site/index.html", viewport={"width": 390, "height": 800})
    page.locator(".scroll").first.evaluate("box => { box.scrollLeft = 400 }")
    left = page.locator("table.board tbody th").first.bounding_box()["x"]
    assert 0 <= left <= 20


def test_hostile_metadata_runs_nothing_and_stretches_nothing(browser: Any, sites: Path) -> None:
    page, troubles = opened(browser, sites / "hostile/index.html", viewport={"width": 390, "height": 800})
    for path in sorted((sites / "hostile").rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("window.harmed === undefined")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert troubles == []
    index, _ = opened(browser, sites / "hostile/index.html", viewport={"width": 1280, "height": 800})
    heights = index.locator("table.board tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert max(heights) <= 240  # a name, a team and every badge at once


def test_no_name_can_push_a_badge_out_of_sight(browser: Any, sites: Path) -> None:
    for width in (390, 1280):
        page, _ = opened(browser, sites / "hostile/index.html", viewport={"width": width, "height": 800})
        inside = page.locator("table.board th.system .badge").evaluate_all("""badges => badges.map(badge => {
          const [b, c] = [badge.getBoundingClientRect(), badge.closest('th').getBoundingClientRect()];
          return b.height > 0 && b.left >= c.left && b.right <= c.right && b.top >= c.top && b.bottom <= c.bottom;
        })""")
        assert len(inside) >= 5 * 19
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
    for name in PAGES:
        page, _ = opened(browser, sites / "site" / name, color_scheme=scheme)
        looked, bad = page.evaluate(CONTRAST)
        assert looked > 50
        assert bad == []


def test_on_paper_controls_are_gone_and_no_table_is_cut(browser: Any, sites: Path) -> None:
    millimetres = 297 - 2 * 12  # A4 landscape, less the margins
    page, _ = opened(
        browser, sites / "site/index.html", viewport={"width": int(millimetres * 96 / 25.4), "height": 700}
    )
    page.emulate_media(media="print")
    assert page.locator(".tools:visible, .skip:visible, td.files:visible").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.getBoundingClientRect().right <= innerWidth)"
    )
