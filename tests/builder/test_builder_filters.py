"""Which pages are dropped and why: errors, walls, short pages, other languages; and the articles that must pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.config import FilterConfig
from builder.deriving.page_filters import why_dropped
from edu_rag.records import HIT_OUTCOMES

ALL = FilterConfig()
PARAGRAPH = (
    "Glaciers carve valleys as they move downhill. The ice picks up rocks, and the rocks scrape the bedrock below. "
    "Over thousands of years a narrow valley becomes wide and deep, with steep walls and a flat floor. "
)
ARTICLE = PARAGRAPH * 8


def drop(title: str, text: str, language: str | None = "en", config: FilterConfig = ALL) -> str | None:
    return why_dropped(title, text, language, config)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("404 Not Found", "The requested URL was not found on this server."),
        ("Page not found | Example School", "Sorry, the page you are looking for does not exist. Back to home page."),
        ("Oops!", "Oops! That page can’t be found.\nIt looks like nothing was found at this location. Try a search?"),
        ("Example", "We can't find the page you're looking for. It may have been moved or deleted."),
        ("Just a moment...", "Checking your browser before accessing example.org. Ray ID: 7d1"),
        ("Access Denied", "You don't have permission to access this resource. Reference #18.2f"),
        ("Attention Required! | Cloudflare", "Please enable cookies. Sorry, you have been blocked."),
        ("example.org", "Please enable JavaScript to continue using this application."),
        ("Science Hub", "You need to enable JavaScript to run this app."),
        ("503 Service Unavailable", "The server is temporarily unavailable. Please try again later."),
        ("Error 500", "Internal Server Error\nSomething went wrong."),
        ("Robot Check", "Enter the characters you see below. Sorry, we just need to make sure you're not a robot."),
        ("Site maintenance", "The site is temporarily unavailable while we update it."),
        ("Lesson 4", "This content is no longer available."),
    ],
)
def test_pages_that_only_report_an_error_are_error_pages(title: str, text: str) -> None:
    assert drop(title, text) == "error_page"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("HTTP 404: what the error means", "A 404 error means that the page was not found. " + ARTICLE),
        ("Error analysis in physics", "Every measurement has an error. " + ARTICLE),
        ("500 million years of fishes", ARTICLE),
        ("404 BC: the fall of Athens", ARTICLE),
        ("JavaScript for beginners", "To follow along, please enable JavaScript in your browser. " + ARTICLE),
        ("How to log in safely", "Never log in on a public computer. Sign in with a strong password. " + ARTICLE),
        ("Cookies: chemistry of baking", "Cookies brown because of the Maillard reaction. " + ARTICLE),
        ("What is a browser cookie?", "A cookie is a small file. Accept all cookies? " + ARTICLE),
        ("Missing link found", ARTICLE),
        ("Fossils", ARTICLE + "\nWe use cookies. Accept all.\nLog in\nSign up\nForgot your password?"),
    ],
)
def test_an_article_about_errors_logins_or_cookies_is_kept(title: str, text: str) -> None:
    assert drop(title, text) is None


def test_mostly_login_prompts_are_a_login_wall() -> None:
    text = (
        "Sign in to continue reading this article.\nAlready a subscriber? Log in.\nCreate a free account\n"
        "Continue with Google\nContinue with Facebook\nForgot your password?\nNot a member? Sign up today.\n"
        "How glaciers shape the land: ice moves slowly."
    )
    assert drop("How glaciers shape the land", text) == "login_wall"


def test_mostly_consent_prompts_are_a_consent_wall() -> None:
    text = (
        "Before you continue to Example\nWe use cookies and data to deliver and maintain our services.\n"
        "We and our 842 partners process your personal data, for example by using cookies, to store and access "
        "information on your device.\nIf you choose to accept all, we will also use cookies to show personalised ads.\n"
        "Accept all\nReject all\nManage preferences\nPrivacy policy"
    )
    assert drop("Before you continue", text) == "consent_wall"


def test_the_first_rule_that_fires_names_the_reason() -> None:
    assert drop("404 Not Found", "Page not found", "de") == "error_page"
    assert drop("Seite", "Zu kurz.", "de") == "short"
    assert drop("Seite", ARTICLE, "de") == "language"


def test_short_is_measured_in_bytes_of_utf8() -> None:
    config = replace(ALL, min_bytes=100)
    assert drop("t", "é" * 50, config=config) is None
    assert drop("t", "e" * 99, config=config) == "short"


def test_every_rule_can_be_turned_off() -> None:
    off = FilterConfig(min_bytes=0, languages=(), error_pages=False, walls=False)
    assert drop("404 Not Found", "Page not found. Log in. Sign up. Accept all cookies.", "xx", off) is None


def test_a_page_of_unknown_language_is_kept() -> None:
    assert drop("t", ARTICLE, None) is None


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.text(max_size=3_000), st.sampled_from(["en", "de", None]))
def test_any_text_gets_a_known_outcome_or_none(title: str, text: str, language: str | None) -> None:
    assert drop(title, text, language) in (None, *HIT_OUTCOMES)
