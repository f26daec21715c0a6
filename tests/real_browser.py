"""Pages opened in Debian's Chromium, without its windows, with everything that goes wrong in them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
"""The same engine without a window's own pages costs a quarter of the time, so it goes first."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PATIENCE_MS = 180_000
"""A busy machine is slow, and no fault of the page."""


@contextmanager
def launched() -> Iterator[Any]:
    """A browser, closed at the end; the test is skipped, loudly, where there is none."""
    if CHROMIUM is None:
        pytest.skip("NOT RUN: no chromium on this machine (Debian: apt-get install chromium-headless-shell)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("NOT RUN: playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


class SharedBrowser:
    """The browser of files that open pages, one after the other: each start takes 1.5 s of processor time.

    One that has crashed is started again.
    """

    def __init__(self) -> None:
        self._stack, self._browser = ExitStack(), None

    def open(self) -> Any:
        if self._browser is not None and not self._browser.is_connected():
            self.close()
        if self._browser is None:
            self._browser = self._stack.enter_context(launched())
        return self._browser

    def close(self) -> None:
        self._browser = None
        self._stack.close()


def opened(browser: Any, path: Path | str, **options: Any) -> tuple[Any, list[str]]:
    """A page and the list into which its console messages, errors and foreign requests go; options of the context."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(PATIENCE_MS)
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    # ERR_ABORTED: the icon of a page that the test left while it loaded. What is missing or forbidden fails otherwise.
    page.on("requestfailed", lambda r: None if r.failure == "net::ERR_ABORTED" else troubles.append(r.url))
    page.on("request", lambda request: None if request.url.startswith("file:") else troubles.append(request.url))
    page.goto(path if isinstance(path, str) else path.as_uri())
    return page, troubles
