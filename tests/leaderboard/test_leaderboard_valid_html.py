"""Every page, picture and style sheet of the site passes the Nu Html Checker (vnu), with no error and no warning."""

from __future__ import annotations

from pathlib import Path

from nu_checker import CHECKED, checkable, complaints
from whole_site import build_whole, kinds


def test_every_file_of_a_site_with_all_kinds_of_pages_is_valid(tmp_path: Path) -> None:
    site = build_whole(tmp_path)
    assert {
        "index.html",
        "embed/*",
        "systems/*/*",
        "plots/*",
        "compare.html",
        "retrieval.html",
        "questions/*/index",
    } <= set(kinds(site))
    files = checkable(site)
    assert {path.suffix for path in files} == set(CHECKED)
    assert complaints(files, site) == []


def test_what_the_checker_should_find_it_finds(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<!doctype html><html lang=en><title>x</title><p id=a>x<p id=a>y</table><img src=x>")
    assert len(complaints([bad], tmp_path)) >= 3
