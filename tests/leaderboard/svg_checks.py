"""Words of pictures that lie over one another or leave the sheet, as a real browser draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from real_browser import opened

_OVERLAPS = """() => {
  const drawn = Array.from(document.querySelectorAll('text'));
  const texts = drawn.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const found = [];
  texts.forEach(([a, one], at) => texts.slice(at + 1).forEach(([b, other]) => {
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (across > 2 && down > 4) found.push(`${a} / ${b}`);
  }));
  return found;
}"""
_OUTSIDE = """() => {
  const sheet = document.documentElement.getBoundingClientRect();
  return Array.from(document.querySelectorAll('text')).filter((text) => {
    const box = text.getBoundingClientRect();
    const wide = box.left < sheet.left - 1 || box.right > sheet.right + 1;
    return wide || box.bottom > sheet.bottom + 1 || box.top < sheet.top - 1;
  }).map((text) => text.textContent);
}"""


def crowded(browser: Any, pictures: Sequence[Path]) -> dict[str, list[str]]:
    """The words at fault by picture, pictures without any left out."""
    page, _ = opened(browser, pictures[0])
    found: dict[str, list[str]] = {}
    for path in pictures:
        page.goto(path.as_uri())
        found[path.name] = [*page.evaluate(_OVERLAPS), *page.evaluate(_OUTSIDE)]
    return {name: words for name, words in found.items() if words}
