"""Hostile metadata is inert in every file of the site."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from hostile_board import HOSTILE, WIDE, write_hostile

from edu_rag.look.texts import safe_link
from leaderboard.commands import board as command

OURS = frozenset(
    {
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "a",
        "header",
        "h1",
        "h2",
        "p",
        "strong",
        "nav",
        "ul",
        "li",
        "main",
        "details",
        "summary",
        "section",
        "span",
        "code",
        "div",
        "svg",
        "rect",
        "line",
        "label",
        "input",
        "table",
        "caption",
        "thead",
        "tr",
        "th",
        "small",
        "tbody",
        "td",
        "time",
        "bdi",
        "dl",
        "dt",
        "dd",
        "pre",
        "footer",
        "figure",
        "figcaption",
        "path",
        "circle",
        "text",
        "br",
        "ol",
        "em",
        "select",
        "option",
        "fieldset",
        "legend",
        "button",
        "noscript",
    }
)
ALLOWED = {"https://good.example/paper", "mailto:a@good.example"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write_hostile(folder / "results")
    result = CliRunner().invoke(
        command, [str(folder / "results"), "--out", str(folder / "site")], catch_exceptions=False
    )
    assert result.exit_code == 0
    return folder / "site"


def soups(site: Path) -> list[BeautifulSoup]:
    return [BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in sorted(site.rglob("*.html"))]


def test_every_page_has_scripts_of_our_own_alone_and_no_handler(site: Path) -> None:
    pages = soups(site)
    assert len(pages) > len(HOSTILE) + 1
    for page in pages:
        scripts = [(script.get("src", ""), script.text) for script in page.select("script")]
        assert scripts
        assert all(re.fullmatch(r"(\.\./)*assets/[a-z_]+\.js", source) and not text for source, text in scripts)
        assert not page.select("img, iframe, [style]")
        assert not [tag for tag in page.find_all(True) if any(name.startswith("on") for name in tag.attrs)]


def test_declared_text_never_opens_an_element(site: Path) -> None:
    names = {tag.name for page in soups(site) for tag in page.find_all(True)}
    assert names <= OURS


def test_only_plain_web_and_mail_addresses_become_links(site: Path) -> None:
    for page in soups(site):
        outside = {a["href"] for a in page.select("a[href]") if ":" in a["href"]}
        assert outside <= ALLOWED
        for a in page.select("a[href^='https:']"):
            assert {"nofollow", "noopener", "noreferrer"} <= set(a["rel"])
    assert safe_link("https://good.example/paper") in ALLOWED
    assert safe_link("a@good.example") in ALLOWED


def test_no_page_holds_a_character_that_turns_its_own_text_round(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not set(page.read_text(encoding="utf-8")) & set(
            "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\0\x1b"
        )


def test_right_to_left_names_are_isolated_from_what_stands_beside_them(site: Path) -> None:
    for page in soups(site):
        for text in page.body.find_all(string=lambda text: "مرحبا" in text):
            holders = [*text.parents]
            assert any(holder.name == "bdi" or holder.get("dir") == "auto" for holder in holders), text


def test_long_names_are_clipped_on_the_board(site: Path) -> None:
    index = site / "board.html"
    assert WIDE * 100 not in index.read_text(encoding="utf-8")
    assert index.stat().st_size < 200_000


def test_no_cell_of_the_csv_starts_a_formula_or_a_line(site: Path) -> None:
    raw = (site / "board.csv").read_bytes()
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8"), newline="")))
    assert len(rows) == len(HOSTILE) + 1
    numbers = {
        "score",
        "score_low",
        "score_high",
        "strict_score",
        "clean_score",
        "clean_score_low",
        "clean_score_high",
        "declared_score",
    }
    for row in rows[1:]:
        for column, value in zip(rows[0], row, strict=True):
            if column in numbers:
                float(value or 0)
            else:
                assert not value.lstrip().startswith(("=", "+", "-", "@")), (column, value[:40])
                assert not set(value) & set("\r\n\t\0")


def test_a_blank_name_is_shown_as_the_slug(site: Path) -> None:
    index = BeautifulSoup((site / "board.html").read_text(encoding="utf-8"), "html.parser")
    assert "hostile-18" in {a.text for a in index.select("table.board tbody th a")}
