"""Screenshots of every kind of page of a built site, for docs/site.md.

Usage: .venv/bin/python bench/screenshots.py SITE --questions-of DEMO/site [--out docs/screenshots] [--only WORD …]

Pictures that show questions are taken of a second site, the demo's, whose questions are ours: TQA's are not in this
repository. Serves each site on loopback, opens its pages in Debian's chromium (pip install playwright) and writes one
PNG each, of a palette of 256 colours: docs/ stays small. The pages are found in the site itself: the table with most
systems, the first two of them that look at pages, a lesson, the largest page of a dataset.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/leaderboard")]

COLOURS = 256
DESK, PHONE = (1280, 900), (390, 844)
MOST_HEIGHT = 1400
LIMIT_MS = 120_000
MAX_TOTAL = 2_000_000
WORD = "water"
"""The explorer's search word."""


class Shot(NamedTuple):
    """One picture: its file's name, the address below the site, the window, what is waited for and what is opened."""

    name: str
    where: str
    size: tuple[int, int] = DESK
    scheme: str = "light"
    tall: bool = False
    wait: str = "main"
    open: str = ""


def _largest_table(site: Path) -> Mapping[str, Any]:
    tables = json.loads((site / "board.json").read_text(encoding="utf-8"))["tables"]
    return dict(max(tables, key=lambda table: (len(table["rows"]), table["n"])))


def _first(site: Path, pattern: str) -> str | None:
    """The largest page that fits a pattern, as an address below the site."""
    found = sorted(site.glob(pattern), key=lambda path: path.stat().st_size)
    return found[-1].relative_to(site).as_posix() if found else None


def shots_of(site: Path) -> Iterator[Shot]:
    """The shots of a site; kinds of pages that it lacks are skipped."""
    table = _largest_table(site)
    rows = [row for row in table["rows"] if not row.get("blind")]
    best, second = (rows or table["rows"])[0], (rows or table["rows"])[1]
    pair = f"compare.html?table={table['id']}&a={best['slug']}&b={second['slug']}"
    yield Shot("board", "index.html", tall=True)
    yield Shot("board-dark", "index.html", scheme="dark")
    yield Shot("board-phone", "index.html", PHONE)
    yield Shot("columns", "board.html", open=".chooser")
    yield Shot("system", best["page"], tall=True)
    yield Shot("system-phone-dark", best["page"], PHONE, "dark")
    yield Shot("compare", pair, tall=True, wait="#flips #questions, #verdict h2")
    yield Shot("compare-phone", pair, PHONE, wait="#verdict h2")
    if plots := _first(site, f"plots/{table['id']}.html"):
        yield Shot("plots", plots, tall=True)
        yield Shot("plots-dark", plots, scheme="dark")
    if dataset := _first(site, "datasets/*.html"):
        yield Shot("dataset", dataset, tall=True)
    if (site / "history.html").is_file():
        yield Shot("history", "history.html")


def shots_of_questions(site: Path) -> Iterator[Shot]:
    """The shots of the explorer and of a page of questions."""
    explorer = _first(site, "questions/*/index.html")
    if explorer is None:
        raise SystemExit(f"{site}: shows no questions; build it with --dataset, as `edu-rag demo` does")
    asked = f"{explorer}?q={WORD}"
    yield Shot("questions", asked, wait=".found a")
    yield Shot("questions-phone", asked, PHONE, wait=".found a")
    lesson = next(path for path in sorted((site / explorer).parent.glob("*.html")) if path.stem != "index")
    yield Shot("lesson", lesson.relative_to(site).as_posix())


def small(png: bytes) -> bytes:
    """The picture with a palette, and without what a viewer does not need."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    # MAXCOVERAGE: small marks keep their colour; a median cut turns all outcomes but two into one.
    palette = picture.quantize(colors=COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    palette.save(out, "PNG", optimize=True)
    return out.getvalue()


def take(browser: Any, base: str, shot: Shot) -> bytes:
    """One picture of one page; a tall one goes on below the window, to MOST_HEIGHT."""
    width, height = shot.size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=shot.scheme)
    page = context.new_page()
    page.set_default_timeout(LIMIT_MS)
    page.goto(base + shot.where, wait_until="networkidle")
    page.locator(shot.wait).first.wait_for()
    if shot.open:
        page.locator(f"{shot.open} summary").first.click()
    whole = page.evaluate("document.scrollingElement.scrollHeight")
    if shot.tall:
        page.set_viewport_size({"width": width, "height": min(whole, MOST_HEIGHT)})
    png = page.screenshot()
    context.close()
    return small(png)


def main() -> None:
    """Take all pictures, say their sizes, and refuse more than docs/ should hold."""
    from playwright.sync_api import sync_playwright
    from real_browser import FLAGS
    from site_server import served

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--questions-of", type=Path, required=True, metavar="SITE", help="with questions of ours")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/screenshots")
    parser.add_argument("--only", nargs="+", default=[], help="pictures whose names hold one of these words")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, served(chosen.site) as whole, served(chosen.questions_of) as ours:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        shots = [(whole, shot) for shot in shots_of(chosen.site)]
        shots += [(ours, shot) for shot in shots_of_questions(chosen.questions_of)]
        for base, shot in shots:
            if not chosen.only or any(word in shot.name for word in chosen.only):
                png = take(browser, base, shot)
                (chosen.out / f"{shot.name}.png").write_bytes(png)
                print(f"{shot.name}.png: {len(png):,} bytes, {shot.where}", flush=True)
        browser.close()
    total = sum(path.stat().st_size for path in chosen.out.glob("*.png"))
    print(f"{total:,} bytes in all")
    if total > MAX_TOTAL:
        raise SystemExit(f"more than {MAX_TOTAL:,} bytes: take fewer, or of fewer colours")


if __name__ == "__main__":
    main()
