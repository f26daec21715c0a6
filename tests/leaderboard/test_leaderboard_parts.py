"""Parts of a site that did not change are kept, and a site that was built on an older one is as if built anew."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest

from leaderboard import site_parts
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.build_site import fill
from leaderboard.edition import Edition
from leaderboard.site import write_site
from leaderboard.site_parts import Earlier, SitePart, WrittenPart, key_of, write_parts

Change = Callable[[Path], object]
OTHER = "ab" * 32


def write_some(results: Path) -> None:
    for number, slug in enumerate(("one", "two", "three")):
        outcomes = made.outcomes_of((40 + 5 * number, 30, 20, 5, 5), 60, number)
        card = made.card_of(
            slug, outcomes, team=f"team {slug}", cost=made.latency_cost(0.5 + number, 60, measured=True)
        )
        made.write_card(results, card, b'{"question_id": "q", "answer": null}\n')


def rewrite(results: Path, slug: str, **changes: Any) -> None:
    """Another scorecard in the place of a system's."""
    folder = results / "tqa-1.0.0" / "val" / slug
    for path in folder.iterdir():
        path.unlink()
    made.write_card(results, made.card_of(slug, made.outcomes_of((50, 30, 10, 5, 5), 60, 7), **changes))


CHANGES: dict[str, Change] = {
    "nothing": lambda results: None,
    "a system more": lambda results: made.write_card(results, made.card_of("four", "c" * 60, team="team four")),
    "a better run": lambda results: rewrite(results, "two", team="team two"),
    "other predictions of one size, which no scorecard names": lambda results: (
        results / "tqa-1.0.0" / "val" / "one" / "predictions.jsonl"
    ).write_bytes(b'{"question_id": "p", "answer": null}\n'),
    "withdrawn": lambda results: rewrite(results, "three", withdrawn="We were wrong.", team="team three"),
    "a name that resembles another": lambda results: rewrite(results, "one", team="team tw0"),
    "a newer dataset version": lambda results: made.write_card(
        results, made.card_of("one", "ci" * 30, dataset="tqa@1.1.0#99999999", team="team one")
    ),
    "the same team on a sample": lambda results: made.write_card(
        results, made.card_of("one", "ci" * 5, sample="stratified-10-seed-0", predictions_sha256=OTHER, team="team one")
    ),
}


def build(results: Path, site: Path, **given: Any) -> WrittenPart:
    groups = collect(results)
    edition = Edition(board=present(groups), groups=groups, **given)
    return write_site(site, results, partial(fill, edition), lambda line: None)


def bytes_of(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", list(CHANGES))
def test_a_site_built_on_an_older_one_is_as_if_built_anew(tmp_path: Path, name: str) -> None:
    results = tmp_path / "results"
    write_some(results)
    first = build(results, tmp_path / "site", base_url="https://board.example/")
    CHANGES[name](results)
    again = build(results, tmp_path / "site", base_url="https://board.example/")
    build(results, tmp_path / "anew", base_url="https://board.example/")
    found, wanted = bytes_of(tmp_path / "site"), bytes_of(tmp_path / "anew")
    assert [path for path in sorted({*found, *wanted}) if found.get(path) != wanted.get(path)] == []
    assert first.n_new == len(first.parts)
    assert again.n_new == 0 if name == "nothing" else 0 < again.n_new < len(again.parts)


def test_a_newer_result_of_one_table_leaves_the_pages_of_another_alone(tmp_path: Path) -> None:
    results = tmp_path / "results"
    write_some(results)
    other = {"dataset": "other@1.0.0#99999999", "team": "team other"}
    made.write_card(results, made.card_of("old", "ci" * 30, **other))
    first = build(results, tmp_path / "site")
    made.write_card(results, made.card_of("new", "cc" * 30, scored_at="2026-06-01T00:00:00Z", **other))
    again = build(results, tmp_path / "site")
    kept = {name for name, value in again.parts.items() if first.parts.get(name) == value}
    assert {"plots/tqa.v1.val", "systems/tqa.v1.val/one", "systems/tqa.v1.val/two"} <= kept
    assert not kept & {"board", "plots/other.v1.val", "systems/other.v1.val/old"}


@pytest.mark.parametrize(
    "parts", [["board"], {"board": 1}, {"board": {"key": "k", "files": "x"}}, {"board": {"files": [1]}}]
)
def test_a_marker_whose_parts_cannot_be_read_costs_a_whole_build_and_no_traceback(tmp_path: Path, parts: Any) -> None:
    results, marker = tmp_path / "results", tmp_path / "site" / "site.json"
    write_some(results)
    first = build(results, tmp_path / "site")
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "parts": parts}))
    assert build(results, tmp_path / "site").n_new == len(first.parts)


def part(name: str, key: str, *files: tuple[str, bytes]) -> SitePart:
    return SitePart(name, key, lambda: files)


def edition_of(site: Path, written: WrittenPart) -> Earlier:
    return Earlier(site, written.parts, written.hashes)


def test_a_part_is_kept_by_its_key_and_made_anew_where_somebody_changed_its_file(tmp_path: Path) -> None:
    parts = [part("a", "1", ("a/one", b"1"), ("two", b"2")), part("b", "1", ("three", b"3"))]
    old = write_parts(parts, tmp_path / "old")
    assert (old.n_new, old.parts["a"]["files"]) == (2, ["a/one", "two"])

    def never() -> Iterable[tuple[str, bytes]]:
        raise AssertionError("this part was known")

    kept = [replaced(one, never) for one in parts]
    new = write_parts(kept, tmp_path / "new", edition_of(tmp_path / "old", old))
    assert (new.n_new, new.hashes, new.parts) == (0, old.hashes, old.parts)
    assert (tmp_path / "new/a/one").stat().st_ino == (tmp_path / "old/a/one").stat().st_ino
    (tmp_path / "new/three").unlink()
    (tmp_path / "new/three").write_bytes(b"forged")
    last = write_parts([kept[0], parts[1]], tmp_path / "last", edition_of(tmp_path / "new", new))
    assert (last.n_new, (tmp_path / "last/three").read_bytes()) == (1, b"3")


def replaced(one: SitePart, files: Callable[[], Iterable[tuple[str, bytes]]]) -> SitePart:
    return one._replace(files=files)


def test_where_files_cannot_be_linked_a_kept_part_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write_parts([part("a", "1", ("a/one", b"1"))], tmp_path / "old")

    def no_links(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    new = write_parts([part("a", "1")], tmp_path / "new", edition_of(tmp_path / "old", old))
    assert (new.n_new, (tmp_path / "new/a/one").read_bytes()) == (0, b"1")


def test_two_parts_never_share_a_name_or_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two parts are named a"):
        write_parts([part("a", "1"), part("a", "2")], tmp_path / "names")
    with pytest.raises(FileExistsError):
        write_parts([part("a", "1", ("x", b"1")), part("b", "1", ("x", b"2"))], tmp_path / "files")


def test_a_key_changes_with_what_a_part_is_made_from_and_with_our_code(monkeypatch: pytest.MonkeyPatch) -> None:
    card = made.card_of("one", "cci")
    assert key_of(card, {"b": 1, "a": 2}) == key_of(card, {"a": 2, "b": 1})
    before = key_of(card)
    assert before != key_of(replace(card, harness="edu-rag 0.2.0"))
    monkeypatch.setattr(site_parts, "code_hash", lambda: "other code")
    assert key_of(card) != before
