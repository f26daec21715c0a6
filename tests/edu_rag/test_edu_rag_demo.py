"""A command of the demo that runs at the same time as others."""

from __future__ import annotations

import pytest

from edu_rag.cli.demo import at_the_same_time
from edu_rag.errors import ConfigError
from edu_rag.progress import say


def test_a_command_that_ran_at_the_same_time_is_shown_with_its_lines_after_the_others(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with at_the_same_time("power", "--difference", "0.03"):
        say("another command")
    lines = capfd.readouterr().err.splitlines()
    assert lines[:3] == ["another command", "", "$ edu-rag power --difference 0.03"]
    assert any("questions" in line for line in lines[3:])


def test_a_command_that_fails_at_the_same_time_is_shown_and_ends_the_demo(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="edu-rag check: ended with 1"), at_the_same_time("check", "none"):
        pass
    assert "none: no such file or folder" in capfd.readouterr().err


def test_a_command_ends_with_the_others_if_one_of_these_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), at_the_same_time("power", "--difference", "0.03"):
        raise KeyboardInterrupt
    assert capfd.readouterr().err == ""
