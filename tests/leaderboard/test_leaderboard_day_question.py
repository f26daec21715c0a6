"""The question of the day: the same for one day and dataset, shown only where a licence allows it, with its source."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import fixture_quiz as quiz
import pytest
from bs4 import BeautifulSoup, Tag
from some_pages import build_some

from leaderboard.exams import open_exams
from leaderboard.pages import front_pages, question_pages
from leaderboard.questions.quotes import credit_of

CC = "https://creativecommons.org/licenses/by-sa/4.0/"


def site_of(folder: Path, licence: str | None) -> tuple[Path, dict[str, object]]:
    dataset = quiz.write_exam(folder / "dataset", licence=licence)
    quiz.write_results(folder / "results", dataset)
    return folder / "results", {"exams": open_exams([dataset.folder])}


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    return site_of(tmp_path_factory.mktemp("open"), CC)


def shown_on(site: Path) -> Tag | None:
    page = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")
    return page.select_one("section.day")


def test_it_has_the_sentence_its_source_and_who_was_right(
    tmp_path: Path, open_site: tuple[Path, dict[str, object]]
) -> None:
    results, given = open_site
    site = build_some(results, tmp_path / "site", (front_pages, question_pages), day=date(2026, 1, 2), **given)
    day = shown_on(site)
    assert day is not None
    assert day.select_one("time")["datetime"] == "2026-01-02"
    assert day.blockquote.text.strip() == quiz.SENTENCE
    assert day.select_one("li.right bdi").text == "mitosis"
    source = day.select_one("blockquote + p")
    assert "by A. Author, CC BY-SA 4.0" in " ".join(source.text.split())
    assert [link["href"] for link in source.select("a")][-1] == CC
    address, _, anchor = day.select("a")[-1]["href"].partition("#")
    lesson = BeautifulSoup((site / address).read_text(encoding="utf-8"), "html.parser")
    asked = lesson.find(id=anchor)
    assert asked.h2.text.strip() == day.select_one(".asked").text
    assert "A. Author" in asked.text
    outcomes = [part.text.rstrip(":") for part in day.select("p strong")]
    assert outcomes[:2] == ["Right", "Wrong"]


def test_the_day_picks_it_and_nothing_else_does(tmp_path: Path, open_site: tuple[Path, dict[str, object]]) -> None:
    results, given = open_site
    found = []
    for number in range(8):
        day = date(2026, 1, 1 + number // 2)
        site = build_some(results, tmp_path / str(number), (front_pages,), day=day, **given)
        shown = shown_on(site)
        assert shown is not None
        found.append(str(shown))
    assert found[::2] == found[1::2]
    assert len(set(found)) > 1


@pytest.mark.parametrize("licence", [None, "All rights reserved", "https://creativecommons.org/licenses/by-nd/4.0/"])
def test_without_a_licence_that_allows_it_no_text_is_shown(tmp_path: Path, licence: str | None) -> None:
    results, given = site_of(tmp_path, licence)
    assert shown_on(build_some(results, tmp_path / "site", (front_pages,), **given)) is None


@pytest.mark.parametrize(
    ("licence", "words", "is_open"),
    [
        ("https://creativecommons.org/licenses/by-nc-sa/4.0/", "CC BY-NC-SA 4.0", True),
        ("http://creativecommons.org/licenses/by/3.0/us/", "CC BY 3.0", True),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0 1.0", True),
        ("CC BY 4.0", "CC BY 4.0", True),
        ("cc by-nc sa 4.0", "CC BY-NC-SA 4.0", True),
        ("CC BY-ND 4.0", "CC BY-ND 4.0", False),
        ("https://creativecommons.org/licenses/by-nc-nd/4.0/", "CC BY-NC-ND 4.0", False),
        (
            "https://creativecommons.org.example/licenses/by/4.0/",
            "https://creativecommons.org.example/licenses/by/4.0/",
            False,
        ),
        ("not CC BY 4.0", "not CC BY 4.0", False),
        ("", "", False),
        (None, "", False),
    ],
)
def test_a_licence_is_open_only_by_name_or_address(licence: str | None, words: str, is_open: bool) -> None:
    found = credit_of("An author", licence)
    assert (found.licence, found.is_open) == (words, is_open)
