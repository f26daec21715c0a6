"""A board.toml next to the results pins what the site may be made of."""

from __future__ import annotations

from pathlib import Path

import fixture_board as made
import pytest
from click.testing import CliRunner

from edu_rag.errors import ConfigError, FaultsError
from leaderboard.commands import board as command

TOML = """baselines_team = "t"
[[datasets]]
name = "tqa"
version = "1.0.0"
content_sha256 = "{sha256}"
manifest_sha256 = "{sha256}"
split = "val"
samples = ["whole"]
"""


def build(place: Path, *more: str) -> None:
    words = [str(place / "results"), "--out", str(place / "site"), *more]
    CliRunner().invoke(command, words, catch_exceptions=False)


def pin(place: Path, hash8: str) -> None:
    (place / "board.toml").write_text(TOML.format(sha256=hash8 + "0" * 56), encoding="utf-8")


def test_a_scorecard_on_other_content_than_the_pinned_is_refused_with_its_file(tmp_path: Path) -> None:
    path = made.write_card(tmp_path / "results", made.card_of("one", dataset="tqa@1.0.0#0a1b2c3d"))
    pin(tmp_path, "ffffffff")
    with pytest.raises(FaultsError) as caught:
        build(tmp_path)
    told = f"{path}: is scored on tqa@1.0.0#0a1b2c3d, and the board's dataset is tqa@1.0.0#ffffffff"
    assert str(caught.value).startswith(told)
    assert not (tmp_path / "site").exists()


def test_scorecards_on_the_pinned_dataset_and_on_versions_that_the_board_has_no_more_are_shown(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", dataset="tqa@1.0.0#0a1b2c3d"))
    made.write_card(tmp_path / "results", made.card_of("two", dataset="tqa@0.9.0#12345678"))
    pin(tmp_path, "0a1b2c3d")
    build(tmp_path)
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_board_file_that_cannot_be_read_pins_nothing_and_is_refused(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one"))
    (tmp_path / "board.toml").write_text("x = [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"board\.toml"):
        build(tmp_path)
