from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.check_submission import check_submission
from harness.submission.settings_faults import TEMPLATE

TEMPLATE_LINES = ("name", "team", "contact", "description")
SUBMISSIONS = Path(__file__).resolve().parents[2] / "submissions"


def commanded(folder: Path, command: str) -> list[str]:
    (folder / "submission.toml").write_text(f'name = "x"\nteam = "y"\ncommand = {command}\n')
    return [str(fault).partition("command: ")[2] for fault in check_submission(folder, None).faults]


def test_the_known_template_values_are_those_of_the_template() -> None:
    values = tomllib.loads((SUBMISSIONS / "template" / "submission.toml").read_text())
    assert {name: values[name] for name in TEMPLATE} == TEMPLATE


def test_a_copy_of_the_template_must_be_filled_in_but_the_template_itself_is_right(tmp_path: Path) -> None:
    for slug, left in (("template", []), ("my-system", ["name", "team", "contact", "description"])):
        shutil.copytree(SUBMISSIONS / "template", tmp_path / slug)
        faults = [str(fault) for fault in check_submission(tmp_path / slug, None).faults]
        toml = tmp_path / slug / "submission.toml"
        assert faults == [
            f"{toml}:{4 + TEMPLATE_LINES.index(name)}: {name}: still the template's: write your own" for name in left
        ]


def test_every_submission_of_the_repository_passes() -> None:
    folders = sorted(path.parent for path in SUBMISSIONS.glob("*/submission.toml"))
    assert len(folders) > 1
    sample = folders if os.environ.get("EDU_RAG_NIGHTLY") else folders[::6]
    assert {str(fault) for folder in sample for fault in check_submission(folder, None).faults} == set()


@pytest.mark.parametrize("word", ["python", "python3", "sh", "./start"])
def test_a_program_that_can_be_found_is_right(write_system: Callable[..., Path], word: str) -> None:
    folder = write_system("")
    (folder / "start").touch(0o755)
    assert commanded(folder, f'["{word}", "system.py", "--mode=x.py", "-v"]') == []


@pytest.mark.parametrize(
    ("command", "faults"),
    [
        (
            '["pyhton", "system.py"]',
            ["'pyhton' is not a program in the folder or on PATH: fix the name, or install it"],
        ),
        ('["./absent"]', ["'./absent' is not a program in the folder or on PATH: fix the name, or install it"]),
        ('["./plain"]', ["'./plain' is not executable: chmod +x ./plain"]),
        ('["plain"]', ["'plain' is in the folder, but not on PATH: write './plain'"]),
        ('["python", "sytem.py"]', ["'sytem.py' is not in the folder: put the script there, or fix its name"]),
        ('["sh", "../other/run.sh"]', ["'../other/run.sh' is not in the folder"]),
        ('["nod", "x.js"]', ["'nod' is not a program", "'x.js' is not in the folder"]),
    ],
)
def test_a_word_of_the_command_that_names_nothing_is_a_fault(
    write_system: Callable[..., Path], command: str, faults: list[str]
) -> None:
    folder = write_system("")
    (folder / "plain").touch(0o644)
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "run.sh").touch()
    found = commanded(folder, command)
    assert [said[: len(expected)] for said, expected in zip(found, faults, strict=True)] == faults


def test_a_path_of_this_machine_is_a_fault_since_the_folder_lies_elsewhere_in_the_sandbox(
    write_system: Callable[..., Path],
) -> None:
    folder = write_system("")
    (folder / "start").touch(0o755)
    script, program = folder / "system.py", folder / "start"
    assert commanded(folder, f'["python", "{script}"]') == [f"'{script}' is a path of this machine: write 'system.py'"]
    assert commanded(folder, f'["{program}"]') == [f"'{program}' is a path of this machine: write './start'"]
    assert commanded(folder, f'["{shutil.which("sh")}", "system.py"]') == []


@pytest.mark.parametrize(("first", "is_right"), [("#!/bin/sh\r\n", False), ("#!/bin/sh\n", True), ("MZ\r\n", True)])
def test_a_script_with_the_line_ends_of_windows_is_a_fault_since_it_does_not_start(
    write_system: Callable[..., Path], first: str, is_right: bool
) -> None:
    folder = write_system("")
    (folder / "start").write_bytes(first.encode() + b"cat\n")
    (folder / "start").chmod(0o755)
    fault = "'./start' has the line ends of Windows, so that it does not start: save it with those of Unix"
    assert commanded(folder, '["./start"]') == ([] if is_right else [fault])


def test_a_program_that_another_machine_has_is_no_fault_of_a_pull_request(write_system: Callable[..., Path]) -> None:
    folder = write_system("")
    toml = 'name = "x"\nteam = "y"\ncommand = ["{}", "absent.py"]\n'
    for word, n in (("julia-1.12", 1), ("./absent", 2)):
        (folder / "submission.toml").write_text(toml.format(word))
        assert len(check_submission(folder, None).faults) == 2
        assert len(check_submission(folder, None, here=False).faults) == n
