"""An enemy's texts in every field, on every kind of page, in a real browser: nothing runs, leads away or breaks out."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from hostile_board import LINKS
from hostile_site import GROUPS, NAUGHTY, STEP, VECTORS
from real_browser import PATIENCE_MS
from site_server import served
from whole_site import kinds

from edu_rag.look.texts import safe_link

WIDTHS = (390, 1280)
NAMES = ("q", "table", "a", "b", "kind", "model", "columns", "sort", "flag", "outcome", "system", "slice", "page")
"""What the addresses of our pages may say."""
LISTEN = """
window.violations = [];
addEventListener('securitypolicyviolation', (event) => violations.push(`${event.violatedDirective} ${event.blockedURI}`), true);
"""  # noqa: E501
LOOK = """([root, opened]) => {
  if (opened) for (const part of root.querySelectorAll('details')) part.open = true;
  const every = [...root.querySelectorAll('*')];
  const bad = [];
  for (const element of every) {
    for (const {name, value} of element.attributes) {
      if (/^on/i.test(name)) bad.push(`handler ${name} of ${element.localName}`);
      if (name === 'style' && !element.closest('svg')) bad.push(`style of ${element.localName}: ${value.slice(0, 60)}`);
      if (/^(xlink:)?(href|src|srcset|action|formaction|data|poster|background)$/i.test(name)) {
        const scheme = /^[\\s\\x00-\\x20]*([a-z][a-z0-9+.-]*):/i.exec(value)?.[1].toLowerCase();
        if (scheme && !['http', 'https', 'mailto'].includes(scheme)) bad.push(`address ${value.slice(0, 60)}`);
        if (value.startsWith('//')) bad.push(`address ${value.slice(0, 60)}`);
      }
    }
    if (/^(base|iframe|frame|object|embed|applet|math|xss|marquee|video|audio|template|foreignobject)$/.test(element.localName))
      bad.push(`element ${element.localName}`);
    if (element.localName === 'script' && element.type !== 'application/json'
        && (element.textContent || !/^(\\.\\.\\/)*assets\\/[a-z_]+\\.js$/.test(element.getAttribute('src'))))
      bad.push(`script ${element.outerHTML.slice(0, 80)}`);
    if (element.localName === 'meta' && /refresh/i.test(element.httpEquiv)) bad.push('refresh');
  }
  const outside = [...root.querySelectorAll('a[href]')].map((a) => a.getAttribute('href')).filter((to) => /^[a-z]+:/i.test(to));
  return {bad, outside, n: every.length};
}"""  # noqa: E501


@pytest.fixture(scope="module")
def site(enemy_site: Path) -> Path:
    return enemy_site


@pytest.fixture(scope="module")
def base(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


class Watched:
    """A page whose every misdeed is noted: scripts that ran, dialogs, requests elsewhere, breaches of the policy."""

    def __init__(self, browser: Any, base: str) -> None:
        self.base, self.troubles = base, list[str]()
        self.page = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}).new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.add_init_script(LISTEN)
        self.page.on("dialog", self._dialog)
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("popup", lambda popup: self.troubles.append(f"a window: {popup.url}"))
        self.page.route("**/*", self._request)

    def _dialog(self, dialog: Any) -> None:
        self.troubles.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, route: Any) -> None:
        if route.request.url.startswith(self.base):
            route.continue_()
        else:
            self.troubles.append(f"asked {route.request.url[:100]}")
            route.abort()

    def faults(self, where: str) -> list[str]:
        """What is wrong with the page at an address below the site, at both widths."""
        self.troubles.clear()
        self.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        self.page.goto(self.base + where, wait_until="networkidle")
        found = self.page.evaluate(f"() => ({LOOK})([document, true])")
        faults = [*found["bad"], *(f"link {to[:80]}" for to in found["outside"] if not is_allowed(to))]
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            wide = self.page.evaluate("document.scrollingElement.scrollWidth")
            faults += [f"{wide} px wide in a window of {width}"] if wide > width else []
        if self.page.evaluate("window.harmed") is not None:
            faults.append("a script ran")
        if self.page.url.split("#")[0].split("?")[0] != (self.base + where).split("#")[0].split("?")[0]:
            faults.append(f"led away to {self.page.url[:100]}")
        return faults + self.page.evaluate("violations") + self.troubles


def is_allowed(link: str) -> bool:
    """Whether an outside link is one that we make: a plain web or mail address, or a report to our repository."""
    return safe_link(link) == link or (len(link) < 8_000 and urlsplit(link).netloc == "code.example")


@pytest.fixture(scope="module")
def watched(browser: Any, base: str) -> Watched:
    return Watched(browser, base)


def test_the_vectors_are_many_and_would_do_harm(browser: Any) -> None:
    assert len(set(VECTORS) - set(NAUGHTY)) >= 200
    assert any(len(text) >= 10_000 for text in NAUGHTY)
    page = browser.new_context().new_page()
    page.route("**/*", lambda route: route.abort())
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (asked.append("dialog"), dialog.dismiss()))
    harm = 0
    for group in GROUPS[:30]:  # elements; what leads out of attributes does harm where somebody pastes it there
        asked.clear()
        page.set_content(f"<!doctype html><p>{' '.join(group)}", wait_until="commit")
        page.wait_for_timeout(20)
        harm += page.evaluate("window.harmed === 1") or bool(asked)
        page.evaluate("delete window.harmed")
    assert harm >= 15


def test_every_kind_of_page_is_inert_and_keeps_its_width(site: Path, watched: Watched) -> None:
    found = {
        str(path.relative_to(site)): watched.faults(path.relative_to(site).as_posix()) for path in kinds(site).values()
    }
    assert [f"{page}: {fault}" for page, faults in found.items() for fault in faults] == []


def test_every_page_of_every_system_and_lesson_is_inert(site: Path, watched: Watched) -> None:
    """Read by the browser's own parser, as it would read the page."""
    watched.page.goto("about:blank")
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(GROUPS) // STEP
    look = f"(text) => ({LOOK})([new DOMParser().parseFromString(text, 'text/html'), false])"
    found = {
        path.relative_to(site).as_posix(): watched.page.evaluate(look, path.read_text(encoding="utf-8"))
        for path in pages
    }
    assert [f"{page}: {fault}" for page, one in found.items() for fault in one["bad"]] == []
    assert {to for one in found.values() for to in one["outside"] if not is_allowed(to)} == set()
    assert all(one["n"] > 20 for one in found.values())


BROUGHT = (0, 9, 20, 30, 35, 37, 40, 50, len(GROUPS) - 1)
"""Groups of vectors that addresses bring: at night all to each page, by day a third to each."""


@pytest.mark.parametrize(("at", "page"), [(0, "board.html"), (1, "compare.html"), (2, "questions")])
def test_an_address_cannot_bring_a_script_in(site: Path, watched: Watched, at: int, page: str) -> None:
    where = next(path for kind, path in kinds(site).items() if kind == page or kind == f"{page}/*/index")
    inside = where.relative_to(site).as_posix()
    for number in BROUGHT if os.environ.get("EDU_RAG_NIGHTLY") else BROUGHT[at::3]:
        text = quote("\n".join(GROUPS[number])[:1_500])
        names = (
            "q",
            "table",
            "a",
            "b",
            "kind",
            "model",
            "columns",
            "sort",
            "flag",
            "outcome",
            "system",
            "slice",
            "page",
        )
        query = "&".join(f"{name}={text}" for name in names)
        assert watched.faults(f"{inside}?{query}#{text}") == [], (page, number)


def test_two_hostile_systems_are_compared_and_nothing_runs(site: Path, watched: Watched) -> None:
    for a, b in ((0, 4), (36, 40), (60, 76)):
        query = f"compare.html?table=hostile.v1.val&a=hostile-{a:03d}&b=hostile-{b:03d}"
        assert watched.faults(query) == []
        assert watched.page.locator("main h2").count() > 1


def test_what_is_searched_for_in_hostile_questions_is_shown_as_text(site: Path, watched: Watched) -> None:
    where = kinds(site)["questions/*/index"].relative_to(site).as_posix()
    for words in ("script", "harmed", "onerror"):
        assert watched.faults(f"{where}?q={words}") == []


def test_no_cell_of_a_csv_starts_a_formula(site: Path) -> None:
    tables = sorted(site.rglob("*.csv"))
    assert tables
    for path in tables:
        rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline="")))
        assert len(rows) > 1
        for cell in (cell for row in rows for cell in row):
            is_number = re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell)
            assert is_number or not cell.lstrip().startswith(("=", "+", "-", "@")), (path.name, cell[:40])
            assert not set(cell) & set("\r\n\t\0"), (path.name, cell[:40])


def test_pictures_and_feeds_are_well_formed_and_hold_no_script(site: Path) -> None:
    files = [path for suffix in ("svg", "xml") for path in sorted(site.rglob(f"*.{suffix}"))]
    assert any(path.suffix == ".svg" for path in files)
    for path in files:
        text = path.read_text(encoding="utf-8")
        for element in ET.fromstring(text).iter():
            name = str(element.tag).rpartition("}")[2].casefold()
            assert name not in ("script", "foreignobject", "iframe", "handler", "set", "animate"), path
            for key, value in element.attrib.items():
                assert not key.rpartition("}")[2].casefold().startswith("on"), path
                if key.rpartition("}")[2].casefold() == "href":
                    assert value.startswith(("#", "https://board.example/", "https://code.example/")) or safe_link(
                        value
                    ), path
        assert "<!ENTITY" not in text
        assert "<?xml-stylesheet" not in text


def test_files_of_data_are_strict_json(site: Path) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    for path in site.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def test_good_links_stay_links(site: Path) -> None:
    assert any(safe_link(link) for link in LINKS)
    page = (site / "systems/hostile.v1.val/hostile-000.html").read_text(encoding="utf-8")
    assert 'href="https://good.example/paper"' in page
