"""Times of `edu-rag try` from a click to the first answer on the screen, and its picture for docs/try.md.

Usage: .venv-frameworks/try/bin/python bench/try_page.py ADDRESS [--question ID] [--clicks N] [--out docs/screenshots]

Opens a page that `edu-rag try` serves in Debian's chromium. The first click of a process and the later ones are
measured apart. Prints seconds of wall time: let nothing else run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
DESK = (1280, 900)
ANSWER = "#reply-0 dl.facts"
LIMIT_MS = 180_000


def clicked(page: Any) -> float:
    """Seconds from the click of a page that was just opened to the first system's answer."""
    started = time.perf_counter()
    page.locator("#ask").click()
    page.locator(ANSWER).wait_for()
    return time.perf_counter() - started


def opened(browser: Any, address: str, question: str, size: tuple[int, int]) -> Any:
    """The page in a window of this size, with its form filled in."""
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.set_default_timeout(LIMIT_MS)
    page.goto(address)
    page.wait_for_function(f"document.querySelector('#question-id input')?.value.startsWith('{question}: ')")
    return page


def main() -> None:
    """Measure, then take the picture."""
    from playwright.sync_api import sync_playwright
    from real_browser import CHROMIUM, FLAGS
    from screenshots import small

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--question", default="MINI_0004")
    parser.add_argument("--clicks", type=int, default=10)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    address = f"{chosen.address}?question={chosen.question}&pages=own"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        times = [clicked(opened(browser, address, chosen.question, DESK)) for _ in range(1 + chosen.clicks)]
        first, *later = times
        print(f"first click {first:.2f} s; {len(later)} later ones: median {statistics.median(later):.2f} s", end="")
        print(f", slowest {max(later):.2f} s")
        if chosen.out:
            page = opened(browser, address, chosen.question, DESK)
            clicked(page)
            for place in range(page.locator("[id^=reply-]").count()):
                page.locator(f"#reply-{place} button").wait_for()
            page.get_by_text("Link to this question").wait_for()
            page.set_viewport_size({"width": DESK[0], "height": 1400})
            png = small(page.screenshot())
            (chosen.out / "try.png").write_bytes(png)
            print(f"try.png: {len(png):,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
