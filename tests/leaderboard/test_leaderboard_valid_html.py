"""Every page, picture and style sheet of a site passes the Nu Html Checker (vnu), with no error and no warning."""

from __future__ import annotations

from pathlib import Path

from nu_checker import CHECKED, checkable, complaints
from whole_site import kinds

NEEDED = {"index.html", "embed/*", "systems/*/*", "plots/*", "compare.html", "retrieval.html", "questions/*/index"}
BAD = "<!doctype html><html lang=en><title>x</title><p id=a>x<p id=a>y</table><img src=x>"


def test_every_kind_of_file_is_valid_whatever_teams_and_pages_say_and_faults_are_found(
    whole_site: Path, enemy_site: Path, tmp_path: Path
) -> None:
    """In one run of the checker, which takes two seconds to start: it complains of the file with faults alone."""
    assert set(kinds(whole_site)) >= NEEDED
    files = [*checkable(whole_site), *checkable(enemy_site)]
    assert {path.suffix for path in files} == set(CHECKED)
    bad = tmp_path / "bad.html"
    bad.write_text(BAD, encoding="utf-8")
    found = complaints([*files, bad])
    assert [line for line in found if "/bad.html:" not in line] == []
    assert len(found) >= 3
