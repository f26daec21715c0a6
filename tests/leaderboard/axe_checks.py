"""Accessibility of a page, as axe-core finds it in the browser."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from real_browser import PATIENCE_MS

NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
ALL_WINDOWS = ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"))
BOTH = ((1280, "light"), (390, "dark"))
"""The widths and colour schemes by day."""
_ALIKE = """() => {
  const looks = new Map(), seen = new Set();
  const look = (element) => {
    if (!element) return '';
    if (!looks.has(element)) {
      const style = getComputedStyle(element);
      const own = [style.color, style.backgroundColor, style.backgroundImage, style.opacity, style.textShadow];
      looks.set(element, `${look(element.parentElement)}/${own.join()}`);
    }
    return looks.get(element);
  };
  for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element);
    const {fontSize, fontWeight, position, visibility, display} = style;
    const key = [look(element), fontSize, fontWeight, position, visibility, display].join();
    const words = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    element.toggleAttribute('data-alike', words && seen.has(key));
    if (words) seen.add(key);
  }
  axe.configure({rules: [{id: 'color-contrast', selector: '*:not([data-alike])'}]});
}"""
"""Contrast is three quarters of axe's time. It is measured once among texts of the same colours, size and weight on the
same backgrounds; at night, at each text."""
_RUN = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map(
  (rule) => `${rule.id}: ${rule.nodes.length} of ${rule.nodes.slice(0, 3).map((node) => node.target).join(' , ')}`)"""


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any) -> list[str]:
    """Every rule that an open page breaks, with the first elements that break it."""
    page.evaluate(_axe())
    if not NIGHTLY:
        page.evaluate(_ALIKE)
    return list(page.evaluate(_RUN))


def page_violations(
    browser: Any, *paths: Path | str, scripts: bool = True, windows: Any = ALL_WINDOWS if NIGHTLY else None
) -> dict[str, list[str]]:
    """The violations of pages by window, those without any left out; all folded parts of a page are opened first.

    `paths`: files, or addresses of a server, which pages need that read files of the site.
    `scripts`: whether a page's own scripts run. They are kept from it by the wire, since axe itself is a script.
    `windows`: those of each page; without it, one of BOTH for each page in turn, at night all four.
    """
    found: dict[str, list[str]] = {}
    # Our policy forbids scripts from elsewhere; the browser's own tools may pass it.
    context = browser.new_context(bypass_csp=True)
    if not scripts:
        context.route("**/*.js", lambda route: route.abort())
    # One for all pages: to start one, and to compile axe in it, takes as long as to check a small page.
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    for number, path in enumerate(paths):
        address = path if isinstance(path, str) else path.as_uri()
        page.goto(address, wait_until="networkidle")
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        for width, scheme in windows or [BOTH[number % 2]]:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            if broken := violations(page):
                found[f"{address}, {width} px, {scheme}"] = broken
    context.close()
    return found
