"""`edu-rag new`: folders that can be filled in, checked and run as they are."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from edu_rag.bundled import submissions_folder
from edu_rag.errors import FaultsError
from edu_rag.files.dataset import Dataset
from harness.check_submission import check_submission
from harness.submission.folder import open_submission
from harness.submission.scaffold import Wishes, scaffold, taken_slugs
from harness.submission.slugs import TEMPLATES

ROOT = Path(__file__).resolve().parents[2]


def program(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "edu_rag", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_a_new_folder_says_what_was_wished_for_and_keeps_the_words_on_each_line(tmp_path: Path) -> None:
    wishes = Wishes(name='A "quoted" \\ name', team="Ünser Lab", accounts=("me", "you-2"))
    folder = scaffold("my-system", tmp_path, wishes)
    text = (folder / "submission.toml").read_text()
    said = tomllib.loads(text)
    assert (said["name"], said["team"], said["accounts"]) == ('A "quoted" \\ name', "Ünser Lab", ["me", "you-2"])
    assert all("#" in line for line in text.splitlines() if line.startswith(("name", "accounts", "models")))
    assert sorted(path.name for path in folder.iterdir()) == ["submission.toml", "system.py"]
    assert open_submission(folder).settings.command == ("python", "system.py")
    left = [fault.where.rpartition(": ")[2] for fault in check_submission(folder, None).faults]
    assert left == ["contact", "description"]
    assert os.listdir(tmp_path) == ["my-system"]  # noqa: PTH208 - no half-made folder beside it


def test_a_folder_for_predictions_has_no_command_and_no_code(tmp_path: Path) -> None:
    folder = scaffold("my-answers", tmp_path / "new" / "place", Wishes(predictions_only=True))
    assert [path.name for path in folder.iterdir()] == ["submission.toml"]
    assert open_submission(folder).settings.command == ()


@pytest.mark.parametrize(
    ("slug", "said"),
    [
        ("My System", "call it my-system"),
        ("template", "is a reserved name"),
        ("blind-a", "there is a submission"),
        ("b1ind-a", "could be taken for blind-a"),
        ("../outside", "is not 3-40"),
        ("", "is not 3-40"),
        ("-" * 41, "is not 3-40"),
    ],
)
def test_a_slug_that_cannot_be_is_refused_with_a_way_out(tmp_path: Path, slug: str, said: str) -> None:
    with pytest.raises(FaultsError, match=said):
        scaffold(slug, tmp_path / "in", Wishes())
    assert not (tmp_path / "in").exists()
    assert not (tmp_path / "outside").exists()


def test_everything_wrong_with_the_wishes_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FaultsError) as error:
        scaffold("Bad", tmp_path, Wishes(name="x" * 81, team="y" * 81, accounts=("@me", "")))
    assert [fault.where for fault in error.value.faults] == ["'Bad'", "--name", "--team", "--account", "--account"]


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    folder = scaffold("my-system", tmp_path, Wishes())
    (folder / "system.py").write_text("mine\n")
    (tmp_path / "a-link").symlink_to(tmp_path)
    (tmp_path / "a-folder").mkdir()
    for slug in ("my-system", "a-link", "a-folder"):
        with pytest.raises(FaultsError):
            scaffold(slug, tmp_path, Wishes())
    assert (folder / "system.py").read_text() == "mine\n"
    assert "my-system" in taken_slugs(tmp_path)


def test_nothing_is_made_within_another_submission(tmp_path: Path) -> None:
    folder = scaffold("my-system", tmp_path, Wishes())
    with pytest.raises(FaultsError, match="would be inside the submission my-system: go to the top of the clone"):
        scaffold("another", folder / "submissions", Wishes())
    assert not (folder / "submissions").exists()


def test_the_next_steps_are_commands_that_work_as_typed(tmp_path: Path, tiny: Dataset) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "dataset").symlink_to(tiny.folder)
    made = program("new", "my-system", "--team", "us", "--account", "me", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stdout == "submissions/my-system\n"
    commands = [line.partition(". ")[2] for line in made.stderr.splitlines() if " check " in line or " score " in line]
    assert len(commands) == 2
    check = shlex.split(commands[0])[-2:]
    assert check == ["check", "submissions/my-system"]
    done = program(*check, cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 3  # name, contact and description are the template's
    shown = [line for line in made.stderr.splitlines() if " run " in line or " score " in line]
    assert all(line.endswith("submissions/my-system --dataset demo/dataset") for line in shown)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_a_system_with_its_files_and_passes_the_check(tmp_path: Path, template: str) -> None:
    folder = scaffold("my-system", tmp_path, Wishes(name="Mine", team="Us", template=template))
    source = submissions_folder() / "template" / template
    files = {path.name for path in source.iterdir() if path.is_file()} - {"settings.toml"}
    assert {path.name for path in folder.iterdir()} == files | {"submission.toml"}
    assert "system.py" in files
    found = check_submission(folder, None)
    assert [fault.where.rpartition(": ")[2] for fault in found.faults] == ["contact", "description"]
    assert found.cautions == []
    pinned = [line for path in source.glob("requirements.in") for line in path.read_text().splitlines()]
    tested = (ROOT / ".ci" / f"frameworks-{template}.txt").read_text().splitlines() if pinned else []
    assert set(pinned) <= set(tested)  # what a newcomer installs is what the tests run on


def test_every_folder_of_the_template_is_a_template() -> None:
    folders = {path.name for path in (submissions_folder() / "template").iterdir() if path.is_dir()}
    assert folders - {"__pycache__", "predictions"} == set(TEMPLATES)


def test_a_template_and_predictions_only_exclude_each_other(tmp_path: Path) -> None:
    done = program("new", "my-system", "--template", "parts", "--predictions-only", cwd=tmp_path)
    assert done.returncode == 2
    assert "give one of them" in done.stderr
    assert not (tmp_path / "submissions").exists()


def test_a_bad_name_is_one_line_and_exit_1(tmp_path: Path) -> None:
    done = program("new", "My System", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "'My System': is not 3-40 of a-z, 0-9 and '-': call it my-system\n"
