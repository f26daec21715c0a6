"""Every page, picture and style sheet of the site passes the Nu Html Checker (vnu), with no error and no warning."""

from __future__ import annotations

from pathlib import Path

from nu_checker import CHECKED, checkable, complaints
from whole_site import kinds


def test_every_file_of_a_site_with_all_kinds_of_pages_is_valid_and_faults_are_found(
    whole_site: Path, tmp_path: Path
) -> None:
    assert {
        "index.html",
        "embed/*",
        "systems/*/*",
        "plots/*",
        "compare.html",
        "retrieval.html",
        "questions/*/index",
    } <= set(kinds(whole_site))
    files = checkable(whole_site)
    assert {path.suffix for path in files} == set(CHECKED)
    # In the same run of the checker, a file with faults: it is the only one with complaints.
    bad = tmp_path / whole_site.name / "bad.html"
    bad.parent.mkdir()
    bad.write_text("<!doctype html><html lang=en><title>x</title><p id=a>x<p id=a>y</table><img src=x>")
    found = complaints([*files, bad], whole_site)
    assert [line for line in found if not line.startswith("bad.html:")] == []
    assert len(found) >= 3
