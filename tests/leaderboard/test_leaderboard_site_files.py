"""A site is written whole: a build over an older site gives the same bytes as one into an empty folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import fixture_board as made
import pytest

from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.build_site import fill
from leaderboard.edition import Edition
from leaderboard.site import write_files, write_site


def build(results: Path, site: Path) -> dict[str, str]:
    groups = collect(results)
    edition = Edition(board=present(groups), groups=groups, base_url="https://board.example/")
    return write_site(site, results, partial(fill, edition), lambda line: None)


def bytes_of(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_a_site_built_over_an_older_one_is_as_if_it_were_new(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for number, slug in enumerate(("one", "two", "three")):
        outcomes = made.outcomes_of((40 + 5 * number, 30, 20, 5, 5), 60, number)
        made.write_card(results, made.card_of(slug, outcomes, team=f"team {slug}"))
    first = build(results, tmp_path / "site")
    assert build(results, tmp_path / "site") == first
    made.write_card(results, made.card_of("four", "c" * 60, team="team four"))
    again = build(results, tmp_path / "site")
    assert again == build(results, tmp_path / "new")
    assert bytes_of(tmp_path / "site") == bytes_of(tmp_path / "new")
    assert {name for name in again if first.get(name) != again[name]} > {"index.html", "compare.html"}


def test_two_kinds_of_pages_never_write_one_file(tmp_path: Path) -> None:
    assert sorted(write_files([("b", b"2"), ("a/c", b"1")], tmp_path)) == ["a/c", "b"]
    with pytest.raises(FileExistsError):
        write_files([("x", b"1"), ("x", b"2")], tmp_path)
