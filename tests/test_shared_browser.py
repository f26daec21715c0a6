"""The browser that all files with pages share: a crash costs one file, not all that follow."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_browser_that_has_crashed_is_started_again(browsers: Any, browser: Any) -> None:
    from playwright.sync_api import Error

    assert browsers.open() is browser
    with pytest.raises(Error):
        browser.new_browser_cdp_session().send("Browser.crash")
    again = browsers.open()
    assert again is not browser
    again.new_page().close()
