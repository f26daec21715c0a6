"""The pages of datasets in a real browser: both themes, desk and phone, and nothing that a file could start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fixture_dataset as lab
import pytest
from axe_checks import page_violations
from hostile_board import HOSTILE
from real_browser import opened
from svg_checks import crowded

_DECODED = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);  // then each width has its pictures
  await Promise.all(Array.from(document.images, (image) => { image.loading = 'eager'; return image.decode(); }));
}"""
_OPEN = "for (const part of document.querySelectorAll('details')) part.open = true"
_LINKS = "Array.from(document.links, (link) => link.protocol).filter((name) => !['file:', 'https:'].includes(name))"
_HANDLERS = """Array.from(document.querySelectorAll('*')).flatMap(
  (one) => Array.from(one.attributes, (attribute) => attribute.name).filter((name) => /^on|^style$/.test(name)))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets")
    return lab.write_site(folder, lab.write_lab(folder / "dataset"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All strings at once: one a line in the files, and their sum in the fields."""
    folder = tmp_path_factory.mktemp("hostile")
    return lab.write_site(folder, lab.write_hostile_lab(folder / "dataset", "\n".join(HOSTILE)))


def pages_of(site: Path) -> list[Path]:
    return [site / "datasets.html", *sorted((site / "datasets").glob("*.html"))]


def test_the_pages_keep_the_rules_of_accessibility(browser: Any, site: Path) -> None:
    assert page_violations(browser, *pages_of(site)) == {}


def test_each_page_fits_its_window_and_shows_its_pictures(browser: Any, site: Path) -> None:
    page, troubles = opened(browser, site / "datasets.html")
    for path in pages_of(site):
        page.goto(path.as_uri())
        page.evaluate(_OPEN)
        for width in (1280, 390):  # each has pictures for itself
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(_DECODED)
            assert page.evaluate("document.documentElement.scrollWidth") == width, path.name
    assert troubles == []


def test_no_text_of_a_dataset_becomes_code_or_breaks_the_layout(browser: Any, hostile: Path) -> None:
    page, troubles = opened(browser, hostile / "datasets.html")
    for path in pages_of(hostile):
        page.goto(path.as_uri())
        page.evaluate(_OPEN)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(_DECODED)
            assert page.evaluate("document.documentElement.scrollWidth") == width, (path.name, width)
        page.mouse.move(200, 300)
        assert page.evaluate("window.harmed") is None
        assert page.evaluate(_LINKS) == []
        assert page.evaluate(_HANDLERS) == []
        assert page.evaluate("document.scripts.length") == 1
    assert troubles == []


@pytest.mark.parametrize("name", ["site", "hostile"])
def test_no_word_of_a_picture_lies_over_another_or_leaves_it(
    browser: Any, request: pytest.FixtureRequest, name: str
) -> None:
    pictures = sorted(request.getfixturevalue(name).rglob("datasets/**/*.svg"))
    assert len(pictures) == 14
    assert crowded(browser, pictures) == {}


def test_hostile_pictures_start_nothing_when_opened_alone(browser: Any, hostile: Path) -> None:
    pictures = sorted(hostile.rglob("datasets/**/*.svg"))
    page, troubles = opened(browser, pictures[0])
    for path in pictures:
        page.goto(path.as_uri())
        assert page.evaluate("window.harmed") is None
        assert page.evaluate("document.querySelectorAll('script, a, image').length") == 0
    assert troubles == []


def test_all_is_there_without_scripts_and_on_paper(browser: Any, site: Path) -> None:
    (path,) = (site / "datasets").glob("lab-2.1.0-*.html")
    page, _ = opened(browser, path, java_script_enabled=False)
    page.emulate_media(media="print")
    for name in ("holds", "load", "kinds", "labels", "fates", "licences", "takedown", "changes", "results"):
        assert page.locator(f"#{name} h2").is_visible()
    assert page.locator("#load pre").first.is_visible()
