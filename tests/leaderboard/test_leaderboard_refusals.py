"""What the board refuses, and that it names every fault at once and harms nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from click.testing import CliRunner

from edu_rag.errors import ConfigError, EduRagError, FaultsError
from leaderboard.board.collect import collect
from leaderboard.commands import board as command


def build(results: Path, site: Path) -> None:
    CliRunner().invoke(command, [str(results), "--out", str(site)], catch_exceptions=False)


def spoilt(results: Path, slug: str, spoil: Callable[[dict[str, Any]], object]) -> Path:
    path = made.write_card(results, made.card_of(slug))
    values = json.loads(path.read_bytes())
    spoil(values)
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


SPOILS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("rates", lambda card: card["rates"].update(score=0.9)),
    ("rates", lambda card: card.pop("rates")),
    ("outcomes", lambda card: card["counts"].update(correct=4)),
    ("counts", lambda card: card["counts"].update(correct=-1)),
    ("unknown field", lambda card: card.update(extra=1)),
    ("missing field", lambda card: card.pop("split")),
    ("dataset", lambda card: card.update(dataset="tqa")),
    ("dataset", lambda card: card.update(dataset="../tqa@1.0.0#0a1b2c3d")),
    ("dataset", lambda card: card.update(dataset="tqa@01.0.0#0a1b2c3d")),
    ("sample", lambda card: card.update(sample="stratified-0300-seed-0")),
    ("split", lambda card: card.update(split="../../val")),
    ("sample", lambda card: card.update(sample="a/b")),
    ("answers_rule", lambda card: card.update(answers_rule="answers\u202e-v1")),
    ("answers_rule", lambda card: card.update(answers_rule=" ")),
    ("answers_rule", lambda card: card.update(answers_rule="a" * 400)),
    ("lessons", lambda card: card.update(lessons=[0])),
    ("lessons", lambda card: card.update(lessons=[3] * 9)),
    ("attribution", lambda card: card.update(attribution={"failed": 1})),
    ("attribution", lambda card: card.update(attribution={"failed": -1, "evidence_not_found": 7})),
    ("slug", lambda card: card["system"].update(slug="../x")),
    ("intervals.score", lambda card: card["intervals"].update(score=[-3, 1])),
    ("scored_at", lambda card: card.update(scored_at="yesterday")),
    ("scored_at", lambda card: card.update(scored_at="2026-11-21T09:30:00")),
]


@pytest.mark.parametrize(("named", "spoil"), SPOILS)
def test_a_scorecard_that_breaks_a_rule_is_refused_by_file_and_field(
    tmp_path: Path, named: str, spoil: Callable[[dict[str, Any]], object]
) -> None:
    path = spoilt(tmp_path / "results", "my-system", spoil)
    with pytest.raises(EduRagError) as caught:
        build(tmp_path / "results", tmp_path / "site")
    assert str(path) in str(caught.value)
    assert named in str(caught.value)
    assert not (tmp_path / "site").exists()


def test_all_bad_files_are_named_at_once(tmp_path: Path) -> None:
    made.write_card(tmp_path, made.card_of("good"))
    paths = [spoilt(tmp_path, f"bad-{number}", spoil) for number, (_, spoil) in enumerate(SPOILS)]
    for number, raw in enumerate((b"", b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff", b"[" * 100_000, b"[]", b"null")):
        path = made.write_card(tmp_path, made.card_of(f"raw-{number}"))
        path.write_bytes(raw)
        paths.append(path)
    with pytest.raises(FaultsError) as caught:
        collect(tmp_path)
    lines = str(caught.value).splitlines()
    assert all(any(line.startswith(str(path)) for line in lines) for path in paths)
    assert not [line for line in lines if "/good/" in line]


def test_predictions_that_are_not_the_scored_ones_are_refused(tmp_path: Path) -> None:
    made.write_card(tmp_path, made.card_of("one", predictions_sha256="0" * 64), b"{}\n")
    with pytest.raises(FaultsError, match="is not the file that the scorecard scored"):
        collect(tmp_path)


def test_links_out_of_the_results_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    folder = made.write_card(tmp_path / "results", made.card_of("one")).parent
    (folder / "predictions.jsonl").symlink_to(secret)
    with pytest.raises(FaultsError, match="symbolic link"):
        collect(tmp_path / "results")
    (folder / "predictions.jsonl").unlink()
    (folder / "scorecard.json").replace(tmp_path / "elsewhere.json")
    (folder / "scorecard.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(FaultsError, match="not a regular file"):
        collect(tmp_path / "results")


def test_one_version_with_two_contents_is_refused(tmp_path: Path) -> None:
    made.write_card(tmp_path, made.card_of("one"))
    made.write_card(tmp_path, made.card_of("two", dataset="tqa@1.0.0#ffffffff"))
    with pytest.raises(FaultsError, match="give changed data a new version"):
        collect(tmp_path)


def test_one_table_with_two_sizes_is_refused(tmp_path: Path) -> None:
    made.write_card(tmp_path, made.card_of("one", "ccc"))
    made.write_card(tmp_path, made.card_of("two", "cc"))
    with pytest.raises(FaultsError, match=r"has 2 questions, but .* 3"):
        collect(tmp_path)


def test_the_same_result_twice_is_refused(tmp_path: Path) -> None:
    made.write_card(tmp_path / "a", made.card_of("one"))
    made.write_card(tmp_path / "b", made.card_of("one"))
    with pytest.raises(FaultsError, match="is a second result, like"):
        collect(tmp_path)


def test_results_that_are_no_folder_or_hold_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        collect(tmp_path / "none")
    with pytest.raises(EduRagError, match="holds no scorecard"):
        collect(tmp_path)


def test_a_folder_that_is_no_site_of_ours_is_left_as_it_is(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of())
    for number, name in enumerate(("thesis.tex", "site.json", "index.html")):
        other = tmp_path / f"other-{number}"
        other.mkdir()
        (other / name).write_text("[]", encoding="utf-8")
        with pytest.raises(ConfigError, match="no site that `edu-rag board` wrote"):
            build(tmp_path / "results", other)
        assert [path.name for path in other.iterdir()] == [name]


def test_a_file_that_somebody_put_into_our_site_is_not_lost(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of())
    build(tmp_path / "results", tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("board.example.org", encoding="utf-8")
    with pytest.raises(ConfigError, match="would be lost: CNAME"):
        build(tmp_path / "results", tmp_path / "site")
    assert (tmp_path / "site" / "CNAME").is_file()


def test_site_and_results_may_not_lie_in_one_another(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of())
    for site in (tmp_path, tmp_path / "results", tmp_path / "results" / "site"):
        with pytest.raises(ConfigError, match="lie in one another"):
            build(tmp_path / "results", site)


@pytest.mark.parametrize("word", ["--dataset", "--submissions"])
def test_the_site_may_not_lie_in_what_it_is_made_from(tmp_path: Path, word: str) -> None:
    made.write_card(tmp_path / "results", made.card_of())
    (tmp_path / "given").mkdir()
    words = [str(tmp_path / "results"), word, str(tmp_path / "given"), "--out", str(tmp_path / "given" / "site")]
    found = CliRunner().invoke(command, words)
    assert "lie in one another" in str(found.exception)
    assert not any((tmp_path / "given").iterdir())


def test_a_file_or_a_link_in_the_place_of_the_site_is_refused(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of())
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("file", "link"):
        with pytest.raises(ConfigError, match="is not a folder"):
            build(tmp_path / "results", tmp_path / name)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_failed_build_leaves_the_old_site_and_no_rubbish(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of())
    build(tmp_path / "results", tmp_path / "site")
    before = (tmp_path / "site/index.html").read_bytes()
    spoilt(tmp_path / "results", "bad", lambda card: card.update(split=3))
    with pytest.raises(EduRagError):
        build(tmp_path / "results", tmp_path / "site")
    assert (tmp_path / "site/index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "site"]


def test_what_a_rebuild_no_longer_has_is_gone_from_the_site(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one"))
    path = made.write_card(tmp_path / "results", made.card_of("two"))
    build(tmp_path / "results", tmp_path / "site")
    path.unlink()
    build(tmp_path / "results", tmp_path / "site")
    assert [page.name for page in (tmp_path / "site/systems/tqa.v1.val").iterdir()] == ["one.html"]


@pytest.mark.parametrize(
    "address", ["code.example/bench", "javascript:alert(1)", "https://code.example/b?a", "ftp://x/"]
)
def test_a_repository_that_is_no_web_address_is_refused(tmp_path: Path, address: str) -> None:
    made.write_card(tmp_path / "results", made.card_of("one"))
    words = [str(tmp_path / "results"), "--out", str(tmp_path / "site"), "--repository", address]
    found = CliRunner().invoke(command, words)
    assert isinstance(found.exception, ConfigError)
    assert str(found.exception).startswith("--repository: ")
