"""The maintainers' pages say what the command line takes: their commands parse, and their settings are settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from builder.config import read_config
from edu_rag.__main__ import root

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "maintainers.md",
    "dataset.md",
    "scale.md",
    "build.md",
    "crawl-store.md",
    "engines.md",
    "pages.md",
    "evidence.md",
)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for line in "".join(blocks(page, "sh")).splitlines():
            words = shlex.split(line, comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words[:1] == ["edu-rag"]:
                yield page, words[1:]


def parsed(words: list[str]) -> str:
    """The name of the command that these words reach, its options and arguments read."""
    context, command = click.Context(root, info_name="edu-rag"), click.Command("")
    group: click.Command = root
    while isinstance(group, click.Group):
        name, found, words = group.resolve_command(context, words)
        assert name is not None
        assert found is not None
        group = command = found
        if not isinstance(found, click.Group):
            found.make_context(name, list(words), parent=context)
        context = click.Context(found, info_name=name, parent=context)
    return str(command.name)


@pytest.mark.parametrize(("page", "words"), list(commands()))
def test_every_command_of_the_pages_is_one_that_the_command_line_takes(page: str, words: list[str]) -> None:
    assert parsed(words)


def test_a_command_that_is_none_would_be_seen() -> None:
    with pytest.raises(click.UsageError):
        parsed(["dataset", "push", "tqa", "my-org/tqa", "--no-such-option"])
    assert len(list(commands())) > 15


@pytest.mark.parametrize("page", PAGES)
def test_every_settings_block_of_the_pages_is_read_without_a_fault(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert read_config(path, {}).name


def test_the_maintainers_day_uses_splits_that_its_questions_have() -> None:
    from builder.question_sets.question_files import _split_of_name

    day = "".join(blocks("maintainers.md", "sh"))
    splits = {_split_of_name(Path(name)) for name in re.findall(r"--questions (\S+)", day)}
    named = set(re.findall(r"--(?:hidden|split) (\S+)", day))
    assert named
    assert named <= splits
